package scheduler

import (
	"time"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/preemption"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// Explanation says how an ask or allocation stands, and of one that is pending what stands in
// its way, with figures. It is a value: it may be read as long as one likes.
type Explanation struct {
	At        time.Time
	Partition string
	Key       objects.AllocationKey
	State     KeyState

	// What follows is empty for a key that is unknown or foreign, but for Node and Asked.

	App          objects.AppID
	User         security.User
	Queue        objects.QueuePath
	Priority     int32
	Placeholder  bool
	RequiredNode objects.NodeID // empty: any
	Requested    resources.Amounts
	Since        time.Time      // pending: when it was asked; allocated: when it got its node; preempting: when it was told to end
	Node         objects.NodeID // that it has, or waits for

	// What follows is for one that is pending.

	Verdict     Verdict
	Listening   bool       // the RM hears what is decided; while it does not, nothing is placed and nothing is preempted
	MayPreempt  bool       // it has a right to preempt, or will when a delay ends (see preemption.EntitledReasons)
	Permanent   bool       // nothing that ends can help: the ask, the nodes or the configuration must change
	Shortages   []Shortage // the resources that Verdict is about, by name; none when it is about no quantity
	Running     int        // applications that run, if Verdict is about their number
	MaxRunning  uint64     // how many may
	Terminating int        // allocations on Node that were told to end and have not, if it waits for Node
	Resources   []Availability
	Nodes       NodeCounts
}

// KeyState is what a key stands for.
type KeyState uint8

// The states of a key.
const (
	KeyUnknown    KeyState = iota // no ask and no allocation
	KeyPending                    // an ask that has no node
	KeyAllocated                  // an allocation
	KeyPreempting                 // an allocation that was told to end, and has not
	KeyForeign                    // an allocation of another scheduler
)

// String is a stable code.
func (s KeyState) String() string {
	return [...]string{"unknown", "pending", "allocated", "preempting", "foreign"}[s]
}

// Shortage is a resource of which there is less than an ask wants.
type Shortage struct {
	Resource  string
	Requested resources.Quantity
	Free, Max resources.Quantity // of what the verdict is about: what is left, and what there is in all
}

// Headroom is how much of a resource something leaves for an ask.
type Headroom struct {
	Free, Max resources.Quantity // what is left, below zero when more is used than there is; and what there is in all
	BoundBy   string             // what bounds it, in words; empty: nothing does, and the figures mean nothing
}

// Availability is what there is of a resource that an ask wants.
type Availability struct {
	Resource      string
	Requested     resources.Quantity
	Queue         Headroom           // of the queue on its path that leaves the least, without root
	Limit         Headroom           // of the limit of its user or its group that leaves the least
	Cluster       Headroom           // of all nodes
	MaxFreeOnNode resources.Quantity // on one of the nodes that accept it, beside what is held for nominees
	LargestNode   resources.Quantity // what the largest of these has in all
}

// NodeCounts counts each node once, by the first reason for which it does not take an ask.
type NodeCounts struct {
	Total         int
	NotRequired   int // the ask requires another one
	Unschedulable int
	TooSmall      int // it has less in all
	TooFull       int // it has less free
	Fitting       int // it has none of these reasons
}

// Explain says how the ask or allocation of a key stands. It changes nothing. It costs one look
// at each queue on its path and at each node: no index knows the largest node, or the one with
// the most free of one resource.
func (c *Core) Explain(key objects.AllocationKey, now time.Time) *Explanation {
	e := &Explanation{At: now, Partition: c.part.Name(), Key: key}
	x, known := c.part.Allocation(key)
	if !known {
		if f, ok := c.part.ForeignAllocation(key); ok {
			e.State, e.Node, e.Requested = KeyForeign, f.Node, f.Amounts
		}
		return e
	}
	ask, a := x.Ask(), x.Application()
	e.App, e.User, e.Queue, e.Priority = a.ID(), a.User(), a.Queue().Path(), ask.Priority
	e.Placeholder, e.RequiredNode, e.Requested = ask.Placeholder, ask.RequiredNode, ask.Amounts
	if !x.Pending() {
		e.State, e.Since, e.Node = KeyAllocated, x.BoundAt(), x.Node().ID()
		if at, _ := c.part.PreemptingSince(x); !at.IsZero() {
			e.State, e.Since = KeyPreempting, at
		}
		return e
	}
	e.State, e.Since = KeyPending, x.Created()
	c.part.RefreshShares()
	e.Verdict = c.verdict(x)
	e.Permanent = e.Verdict.Reason.Permanent()
	reasons, due := preemption.EntitledReasons(c.part, x, now)
	e.Listening, e.MayPreempt = c.Listening(), len(reasons) > 0 || !due.IsZero()
	if n := c.part.Nomination(x); n != nil {
		e.Node, e.Terminating = n.ID(), len(n.Preempting())
	}
	c.explainNodes(e, x)
	c.explainQuotas(e, x)
	c.explainShortage(e, x)
	return e
}

// explainNodes looks at each node once.
func (c *Core) explainNodes(e *Explanation, x *objects.Allocation) {
	s, v := x.Shape(), x.Shape().Vector()
	for k, requested := range v {
		if requested > 0 {
			e.Resources = append(e.Resources, Availability{Resource: c.part.ResourceName(resources.Index(k)), Requested: requested})
		}
	}
	for n := range c.part.EachNode {
		e.Nodes.Total++
		switch {
		case s.RequiredNode() != "" && s.RequiredNode() != n.ID():
			e.Nodes.NotRequired++
			continue
		case !n.Accepts(s):
			e.Nodes.Unschedulable++
			continue
		case !n.Total().Covers(v):
			e.Nodes.TooSmall++
		case !n.Fits(s):
			e.Nodes.TooFull++
		default:
			e.Nodes.Fitting++
		}
		i := 0
		for k, requested := range v {
			if requested > 0 {
				r, k := &e.Resources[i], resources.Index(k)
				r.MaxFreeOnNode, r.LargestNode = max(r.MaxFreeOnNode, n.Free(k)), max(r.LargestNode, n.Total().At(k))
				i++
			}
		}
	}
	sortResources(e.Resources)
}

// explainQuotas finds the max and the limit that leave the least of each resource.
func (c *Core) explainQuotas(e *Explanation, x *objects.Allocation) {
	a := x.Application()
	capacity, used := c.part.Amounts(c.part.Capacity()), c.part.Amounts(c.part.Root().Allocated())
	for i := range e.Resources {
		r := &e.Resources[i]
		r.Cluster = Headroom{resources.SubSaturated(capacity.Get(r.Resource), used.Get(r.Resource)), capacity.Get(r.Resource), "cluster"}
		for q := a.Queue(); q.Parent() != nil; q = q.Parent() {
			if limit, set := q.Max().Get(r.Resource); set {
				r.Queue.tighten(r.Requested, Headroom{resources.SubSaturated(limit, c.part.Amounts(q.Allocated()).Get(r.Resource)), limit, string(q.Path())})
			}
		}
		for q, l := range c.part.LimitsOf(a) {
			if limit, set := l.Max.Get(r.Resource); set {
				r.Limit.tighten(r.Requested, Headroom{resources.SubSaturated(limit, l.Allocated.Get(r.Resource)), limit, holderIn(l.UserOrGroup, q)})
			}
		}
	}
}

// tighten makes r the other one if that can never give what is asked and r could, or else if it
// leaves less.
func (r *Headroom) tighten(requested resources.Quantity, other Headroom) {
	never, otherNever := r.BoundBy != "" && requested > r.Max, requested > other.Max
	switch {
	case r.BoundBy == "", otherNever && !never, otherNever == never && other.Free < r.Free:
		*r = other
	}
}

// explainShortage gives the verdict its figures.
func (c *Core) explainShortage(e *Explanation, x *objects.Allocation) {
	a, s := x.Application(), x.Shape()
	switch e.Verdict.Reason {
	case QueueMaxApplications, LimitMaxApplications:
		q, h, _ := c.part.BlockingMaxApplications(a)
		e.Running, e.MaxRunning = q.Running(), q.MaxApplications()
		for at, l := range c.part.LimitsOf(a) {
			if at == q && l.UserOrGroup == h {
				e.Running, e.MaxRunning = l.Running, l.MaxApplications
			}
		}
	case AskExceedsMax:
		e.addQueueShortages(c.part, c.part.QueueMaxTooSmall(a.Queue(), s), true)
	case NoQueueHeadroom:
		e.addQueueShortages(c.part, c.part.BlockingQueue(a.Queue(), s), false)
	case AskExceedsLimit:
		q, h, _ := c.part.LimitTooSmall(a, s)
		e.addLimitShortages(c.part, a, q, h, true)
	case NoLimitHeadroom:
		q, h, _ := c.part.BlockingLimit(a, s)
		e.addLimitShortages(c.part, a, q, h, false)
	case NoClusterHeadroom:
		e.addShortages(func(r *Availability) (free, most resources.Quantity, set bool) {
			return r.Cluster.Free, r.Cluster.Max, true
		}, false)
	case NoSuchResource:
		e.addShortages(func(r *Availability) (free, most resources.Quantity, set bool) {
			return 0, r.Cluster.Max, r.Cluster.Max == 0
		}, true)
	case AskExceedsNodes, NoNodeFits:
		e.addShortages(func(r *Availability) (free, most resources.Quantity, set bool) {
			return r.MaxFreeOnNode, r.LargestNode, true
		},
			e.Verdict.Reason == AskExceedsNodes)
	}
}

func (e *Explanation) addQueueShortages(p *objects.Partition, q *objects.Queue, never bool) {
	used := p.Amounts(q.Allocated())
	e.addShortages(func(r *Availability) (free, most resources.Quantity, set bool) {
		most, set = q.Max().Get(r.Resource)
		return resources.SubSaturated(most, used.Get(r.Resource)), most, set
	}, never)
}

func (e *Explanation) addLimitShortages(p *objects.Partition, a *objects.Application, q *objects.Queue, h objects.UserOrGroup, never bool) {
	for at, l := range p.LimitsOf(a) {
		if at == q && l.UserOrGroup == h {
			e.addShortages(func(r *Availability) (free, most resources.Quantity, set bool) {
				most, set = l.Max.Get(r.Resource)
				return resources.SubSaturated(most, l.Allocated.Get(r.Resource)), most, set
			}, never)
		}
	}
}

// addShortages notes the resources of which more is asked than is left, or than there is in all.
func (e *Explanation) addShortages(availability func(r *Availability) (free, limit resources.Quantity, set bool), never bool) {
	for i := range e.Resources {
		r := &e.Resources[i]
		free, limit, set := availability(r)
		enough := free
		if never {
			enough = limit
		}
		if set && r.Requested > max(enough, 0) {
			e.Shortages = append(e.Shortages, Shortage{r.Resource, r.Requested, free, limit})
		}
	}
}
