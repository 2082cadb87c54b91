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
	Asked        resources.Amounts
	Since        time.Time      // pending: when it was asked; allocated: when it got its node; preempting: when it was told to end
	Node         objects.NodeID // that it has, or waits for

	// What follows is for one that is pending.

	Verdict   Verdict
	Listening bool       // the RM hears what is decided; while it does not, nothing is placed and nothing is preempted
	Preempts  bool       // it has a right to preempt, or will when a delay ends (see preemption.Rights)
	Never     bool       // nothing that ends can help: the ask, the nodes or the configuration must change
	Short     []Shortage // the resources that Verdict is about, by name; none when it is about no quantity
	Running   int        // applications that run, if Verdict is about their number
	MayRun    uint64     // how many may
	Leaving   int        // allocations on Node that were told to end and have not, if it waits for Node
	Resources []Availability
	Nodes     NodeCounts
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
	Resource   string
	Asked      resources.Quantity
	Free, Most resources.Quantity // of what the verdict is about: what is left, and what there is in all
}

// Room is how much of a resource something leaves for an ask.
type Room struct {
	Free, Most resources.Quantity // what is left, below zero when more is used than there is; and what there is in all
	Of         string             // what bounds it, in words; empty: nothing does, and the figures mean nothing
}

// Availability is what there is of a resource that an ask wants.
type Availability struct {
	Resource       string
	Asked          resources.Quantity
	Queue          Room               // of the queue on its path that leaves the least, without root
	Limit          Room               // of the limit of its user or its group that leaves the least
	Cluster        Room               // of all nodes
	MostFreeOnNode resources.Quantity // on one of the nodes that accept it, beside what is held for nominees
	LargestNode    resources.Quantity // what the largest of these has in all
}

// NodeCounts counts each node once, by the first reason for which it does not take an ask.
type NodeCounts struct {
	Total         int
	NotRequired   int // the ask requires another one
	Unschedulable int
	TooSmall      int // it has less in all
	TooFull       int // it has less free
	WithRoom      int // it has none of these reasons
}

// Explain says how the ask or allocation of a key stands. It changes nothing. It costs one look
// at each queue on its path and at each node: no index knows the largest node, or the one with
// the most free of one resource.
func (c *Core) Explain(key objects.AllocationKey, now time.Time) *Explanation {
	e := &Explanation{At: now, Partition: c.part.Name(), Key: key}
	x, known := c.part.Allocation(key)
	if !known {
		if f, ok := c.part.ForeignAllocation(key); ok {
			e.State, e.Node, e.Asked = KeyForeign, f.Node, f.Amounts
		}
		return e
	}
	ask, a := x.Ask(), x.Application()
	e.App, e.User, e.Queue, e.Priority = a.ID(), a.User(), a.Queue().Path(), ask.Priority
	e.Placeholder, e.RequiredNode, e.Asked = ask.Placeholder, ask.RequiredNode, ask.Amounts
	if !x.Pending() {
		e.State, e.Since, e.Node = KeyAllocated, x.BoundAt(), x.Node().ID()
		if at, _ := c.part.ToldAt(x); !at.IsZero() {
			e.State, e.Since = KeyPreempting, at
		}
		return e
	}
	e.State, e.Since = KeyPending, x.Created()
	c.part.Settle()
	e.Verdict = c.verdict(x)
	e.Never = e.Verdict.Obstacle.Never()
	rights, due := preemption.Rights(c.part, x, now)
	e.Listening, e.Preempts = c.Listening(), len(rights) > 0 || !due.IsZero()
	if n := c.part.Nomination(x); n != nil {
		e.Node, e.Leaving = n.ID(), len(n.Leaving())
	}
	c.explainNodes(e, x)
	c.explainQuotas(e, x)
	c.explainShortage(e, x)
	return e
}

// explainNodes looks at each node once.
func (c *Core) explainNodes(e *Explanation, x *objects.Allocation) {
	s, v := x.Shape(), x.Shape().Vector()
	for k, asked := range v {
		if asked > 0 {
			e.Resources = append(e.Resources, Availability{Resource: c.part.ResourceName(resources.Kind(k)), Asked: asked})
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
		case !n.Takes(s):
			e.Nodes.TooFull++
		default:
			e.Nodes.WithRoom++
		}
		i := 0
		for k, asked := range v {
			if asked > 0 {
				r, k := &e.Resources[i], resources.Kind(k)
				r.MostFreeOnNode, r.LargestNode = max(r.MostFreeOnNode, n.Free(k)), max(r.LargestNode, n.Total().At(k))
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
		r.Cluster = Room{resources.Less(capacity.Get(r.Resource), used.Get(r.Resource)), capacity.Get(r.Resource), "cluster"}
		for q := a.Queue(); q.Parent() != nil; q = q.Parent() {
			if most, set := q.Max().Get(r.Resource); set {
				r.Queue.tighten(r.Asked, Room{resources.Less(most, c.part.Amounts(q.Allocated()).Get(r.Resource)), most, string(q.Path())})
			}
		}
		for q, l := range c.part.LimitsOf(a) {
			if most, set := l.Max.Get(r.Resource); set {
				r.Limit.tighten(r.Asked, Room{resources.Less(most, l.Allocated.Get(r.Resource)), most, holderIn(l.Holder, q)})
			}
		}
	}
}

// tighten makes r the other one if that can never give what is asked and r could, or else if it
// leaves less.
func (r *Room) tighten(asked resources.Quantity, other Room) {
	never, otherNever := r.Of != "" && asked > r.Most, asked > other.Most
	switch {
	case r.Of == "", otherNever && !never, otherNever == never && other.Free < r.Free:
		*r = other
	}
}

// explainShortage gives the verdict its figures.
func (c *Core) explainShortage(e *Explanation, x *objects.Allocation) {
	a, s := x.Application(), x.Shape()
	switch e.Verdict.Obstacle {
	case QueueFull, HolderFull:
		q, h, _ := c.part.Barrier(a)
		e.Running, e.MayRun = q.Running(), q.MaxApplications()
		for at, l := range c.part.LimitsOf(a) {
			if at == q && l.Holder == h {
				e.Running, e.MayRun = l.Running, l.MaxRunning
			}
		}
	case AboveMax:
		e.shortOf(c.part, c.part.ExceedsMax(a.Queue(), s), true)
	case OverMax:
		e.shortOf(c.part, c.part.Ceiling(a.Queue(), s), false)
	case AboveLimit:
		q, h, _ := c.part.ExceedsLimit(a, s)
		e.shortOfLimit(c.part, a, q, h, true)
	case OverLimit:
		q, h, _ := c.part.OverLimit(a, s)
		e.shortOfLimit(c.part, a, q, h, false)
	case ClusterFull:
		e.short(func(r *Availability) (free, most resources.Quantity, set bool) {
			return r.Cluster.Free, r.Cluster.Most, true
		}, false)
	case NoSuchResource:
		e.short(func(r *Availability) (free, most resources.Quantity, set bool) {
			return 0, r.Cluster.Most, r.Cluster.Most == 0
		}, true)
	case AboveNode, NoNodeFits:
		e.short(func(r *Availability) (free, most resources.Quantity, set bool) {
			return r.MostFreeOnNode, r.LargestNode, true
		},
			e.Verdict.Obstacle == AboveNode)
	}
}

func (e *Explanation) shortOf(p *objects.Partition, q *objects.Queue, never bool) {
	used := p.Amounts(q.Allocated())
	e.short(func(r *Availability) (free, most resources.Quantity, set bool) {
		most, set = q.Max().Get(r.Resource)
		return resources.Less(most, used.Get(r.Resource)), most, set
	}, never)
}

func (e *Explanation) shortOfLimit(p *objects.Partition, a *objects.Application, q *objects.Queue, h objects.Holder, never bool) {
	for at, l := range p.LimitsOf(a) {
		if at == q && l.Holder == h {
			e.short(func(r *Availability) (free, most resources.Quantity, set bool) {
				most, set = l.Max.Get(r.Resource)
				return resources.Less(most, l.Allocated.Get(r.Resource)), most, set
			}, never)
		}
	}
}

// short notes the resources of which more is asked than is left, or than there is in all.
func (e *Explanation) short(of func(r *Availability) (free, most resources.Quantity, set bool), never bool) {
	for i := range e.Resources {
		r := &e.Resources[i]
		free, most, set := of(r)
		enough := free
		if never {
			enough = most
		}
		if set && r.Asked > max(enough, 0) {
			e.Short = append(e.Short, Shortage{r.Resource, r.Asked, free, most})
		}
	}
}
