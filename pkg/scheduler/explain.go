package scheduler

import (
	"time"

	"github.com/canopy-scheduler/canopy/pkg/affinity"
	"github.com/canopy-scheduler/canopy/pkg/constraints"
	"github.com/canopy-scheduler/canopy/pkg/explain"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/preemption"
	"github.com/canopy-scheduler/canopy/pkg/quota"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// Explanation is the state of an ask or allocation and, for a pending ask, why it is not placed, with
// figures. It is a value and never changes.
type Explanation struct {
	At        time.Time
	Partition string
	Key       objects.AllocationKey
	State     KeyState

	// The following fields are empty for an unknown or a foreign key, except Node and Requested.

	App          objects.AppID
	User         security.User
	Queue        objects.QueuePath
	Priority     int32
	Placeholder  bool
	RequiredNode objects.NodeID // empty: any
	Requested    resources.Amounts
	Since        time.Time      // pending: created; allocated: bound; preempting: preempted
	Node         objects.NodeID // the node of the allocation, or the nominated or reserved node

	// The following fields are for pending asks.

	Moved       *objects.Moved // the application, by an operator; nil: it was not
	Verdict     Verdict
	Listening   bool       // an RM receives effects; otherwise nothing is placed and nothing is preempted
	MayPreempt  bool       // the ask is entitled to preempt, or will be when a delay ends (preemption.EntitledReasons)
	Permanent   bool       // no end of other allocations can help: the ask, the nodes or the configuration must change
	Shortages   []Shortage // the resources that Verdict is about, by name; empty when it is not about quantities
	Running     int        // running applications, if Verdict is about their number
	MaxRunning  uint64     // the bound of Running
	Terminating int        // preempting allocations on Node, if the ask is nominated
	Resources   []Availability
	Nodes       NodeCounts
	// the asks for which the nodes are held that Nodes counts as Reserved: of the first maxHolders nodes or fewer
	HeldFor  []objects.Holder
	BackOffs []BackOff // what is not tried again before a time: placement first, then preemption

	Gates []explain.Gate // every condition, open or closed (EXP-1)
	// the most that it could request instead and be placed in turn; zero: nothing, or all of it (EXP-5)
	Largest      resources.Amounts
	Rank         explain.Rank                   // its place in selection order (EXP-6)
	Entitlements []preemption.DryRunEntitlement // whether it may preempt, by each reason (PRE-114)
	// of ExplainWithVictims: what it lacks to preempt, or the plans (EXP-18); nil: it is not entitled, or preemption is no
	// help
	Searches []preemption.DryRunSearch
	// the time of Searches: when the first delay has ended, if the ask is not entitled before
	SearchedAt time.Time
}

// maxHolders bounds Explanation.HeldFor: a twentieth of the nodes may be reserved.
const maxHolders = 10

// KeyState is the state of the ask or allocation of a key.
type KeyState uint8

// The states.
const (
	KeyUnknown    KeyState = iota // no ask and no allocation
	KeyPending                    // an ask that is not bound
	KeyAllocated                  // an allocation
	KeyPreempting                 // a victim that has not ended
	KeyForeign                    // a foreign allocation
)

// String is the stable code of the state.
func (s KeyState) String() string {
	return [...]string{"unknown", "pending", "allocated", "preempting", "foreign"}[s]
}

// Shortage is a resource of which less is available than an ask requests.
type Shortage struct {
	Resource  string             `json:"resource"`
	Requested resources.Quantity `json:"requested"`
	Free      resources.Quantity `json:"free"` // available where Verdict says
	Max       resources.Quantity `json:"max"`  // in all
}

// Headroom gives the amount of a resource that is available to an ask within its tightest bound. REST shows it as it
// is, like the next types.
type Headroom struct {
	Free resources.Quantity `json:"free"` // negative: more is used than Max
	Max  resources.Quantity `json:"max"`  // in all
	// the bound in words; empty: there is no bound, and Free and Max mean nothing
	BoundBy string `json:"boundBy"`
}

// IsZero reports whether there is no bound: REST leaves it out.
func (h Headroom) IsZero() bool { return h.BoundBy == "" }

// Availability gives the amount of a requested resource that is available, by what bounds it.
type Availability struct {
	Resource  string             `json:"resource"`
	Requested resources.Quantity `json:"requested"`
	// of the queue of its path with the least, root excluded; missing: no queue below root has a max
	Queue   Headroom `json:"queue,omitzero"`
	Limit   Headroom `json:"limit,omitzero"` // of the user or the group; missing: there is no limit
	Cluster Headroom `json:"cluster"`        // of all nodes
	// the most on one node that accepts the ask, without what is held for other asks
	MaxFreeOnNode resources.Quantity `json:"maxFreeOnNode"`
	LargestNode   resources.Quantity `json:"largestNode"` // the most that such a node has in all
	// nodes that accept the ask and have less free than requested
	NodesLacking int                `json:"nodesLacking,omitempty"`
	LeastMissing resources.Quantity `json:"leastMissing,omitempty"` // the least that one of these lacks
}

// NodeCounts counts each node of the partition once, by the first reason why it is not feasible (ORD-60).
type NodeCounts struct {
	Total         int `json:"total"`
	NotRequired   int `json:"notRequired"` // the ask requires another node
	NotSelected   int `json:"notSelected"` // its node selector or node affinity does not match the labels
	Tainted       int `json:"tainted"`     // it does not tolerate a taint
	Unschedulable int `json:"unschedulable"`
	// nothing of these, but it has refused the ask, or asks of its kind, and the back-off has not ended
	RefusedBefore int `json:"refusedBefore,omitempty"`
	TooSmall      int `json:"tooSmall"` // its capacity is less than requested
	TooFull       int `json:"tooFull"`  // its free resources are less than requested
	Reserved      int `json:"reserved"` // they are not, but are held for other asks
	Fitting       int `json:"fitting"`  // none of these

	// Of the nodes that the ask fits, those that other allocations refuse to it (CON-27).

	PortTaken          int `json:"portTaken,omitempty"`          // an allocation on the node uses one of its host ports
	Spread             int `json:"spread,omitempty"`             // by a topology spread constraint
	Affinity           int `json:"affinity,omitempty"`           // by its pod affinity
	AntiAffinity       int `json:"antiAffinity,omitempty"`       // by its pod anti-affinity
	OthersAntiAffinity int `json:"othersAntiAffinity,omitempty"` // by the anti-affinity of an allocation
}

// Explain explains the ask or allocation of a key. It changes nothing. It reads each queue of its path and
// each node, because no index has the largest node or the most free of one resource (ORD-59, ORD-61, OBS-39, OBS-43).
func (c *Core) Explain(key objects.AllocationKey, now time.Time) *Explanation {
	e := &Explanation{At: now, Partition: c.part.Name(), Key: key}
	x, known := c.part.Allocation(key)
	if !known {
		if f, ok := c.part.ForeignAllocation(key); ok {
			e.State, e.Node, e.Requested = KeyForeign, f.Node, f.Amounts
			if f.Orphan != nil {
				e.App, e.Priority = f.Orphan.Ask.App, f.Orphan.Ask.Priority
			}
		}
		return e
	}
	ask, a := x.Ask(), x.Application()
	e.App, e.User, e.Queue, e.Priority = a.ID(), a.User(), a.Queue().Path(), ask.Priority
	e.Placeholder, e.RequiredNode, e.Requested = ask.Placeholder, ask.RequiredNode(), ask.Amounts
	if !x.Pending() {
		e.State, e.Since, e.Node = KeyAllocated, x.BoundAt(), x.Node().ID()
		if at, _ := c.part.PreemptingSince(x); !at.IsZero() {
			e.State, e.Since = KeyPreempting, at
		}
		return e
	}
	e.State, e.Since, e.Moved = KeyPending, x.Created(), objects.LastMove(c.part, a)
	c.Refresh()
	e.Verdict = c.verdict(x)
	e.Permanent = e.Verdict.Reason.Permanent()
	reasons, due := preemption.EntitledReasons(c.part, x, now)
	e.Listening, e.MayPreempt = c.Listening(), !x.AskGroup().Held() && (len(reasons) > 0 || !due.IsZero())
	if n := c.part.Nomination(x); n != nil {
		e.Node, e.Terminating = n.ID(), len(n.Preempting())
	} else if n := c.part.Reservations().Of(x); n != nil {
		e.Node = n.ID()
	}
	e.BackOffs = c.backOffs(x)
	e.Entitlements = preemption.EntitlementValues(c.part, x, now)
	var allows func(*objects.Node) bool
	if c.nodes.MayRefuse() {
		allows = c.nodes.For(x).Allows
	}
	e.Gates, e.Largest = explain.Gates(c.part, x, explain.Facts{
		Allows:    allows,
		Listening: c.Listening(), Draining: c.draining, Predicates: c.oracle != nil, RetryAt: c.oracleRetryAt,
		GangRefusal:  gangRefusalOf(x),
		RefusedUntil: func(n *objects.Node) time.Time { return c.refusedUntil(x, n) },
		Stopped:      func(path objects.QueuePath) bool { return c.operators.queues[StopQueue][path] },
	})
	e.Rank = explain.RankOf(x)
	c.explainNodes(e, x)
	c.explainQuotas(e, x)
	c.explainShortage(e, x)
	return e
}

// ExplainWithVictims is Explain with Searches. It may try as many nodes for victims as a preemption does, while nothing
// is decided: a request has to want it (EXP-18).
func (c *Core) ExplainWithVictims(key objects.AllocationKey, now time.Time) *Explanation {
	e := c.Explain(key, now)
	x, _ := c.part.Allocation(key)
	if e.State != KeyPending || !e.MayPreempt || !mayWaitForVictims(e.Verdict.Reason) {
		return e
	}
	reasons, due := preemption.EntitledReasons(c.part, x, now)
	e.SearchedAt = now
	if len(reasons) == 0 {
		e.SearchedAt = due
	}
	e.Searches = c.preemption.Searches(x, now, e.SearchedAt)
	return e
}

// mayWaitForVictims reports whether victims can help an ask that is not placed for a reason (PRE-3, PRE-4).
func mayWaitForVictims(o PendingReason) bool {
	switch o {
	case NoLimitHeadroom, NoQueueHeadroom, WaitsForReservedNode, NoClusterHeadroom, NoNodeFits, NodesRefusedBefore,
		NoNodeForAffinity:
		return true
	}
	return false
}

// explainNodes counts the nodes by reason, and finds the most free and the largest of each resource (ORD-60, OBS-42).
func (c *Core) explainNodes(e *Explanation, x *objects.Allocation) {
	s, v := x.Shape(), x.Shape().Vector()
	for k, requested := range v {
		if requested > 0 {
			e.Resources = append(e.Resources,
				Availability{Resource: c.part.ResourceName(resources.Index(k)), Requested: requested})
		}
	}
	check := c.nodes.For(x)
	for n := range c.part.EachNode {
		e.Nodes.Total++
		switch {
		case s.RequiredNode() != "" && s.RequiredNode() != string(n.ID()):
			e.Nodes.NotRequired++
			continue
		case s.Constraints().Match(n.Constraints()) == constraints.SelectorMismatch:
			e.Nodes.NotSelected++
			continue
		case s.Constraints().Match(n.Constraints()) != constraints.Matches:
			e.Nodes.Tainted++
			continue
		case n.RefusesOnly(s):
			e.Nodes.RefusedBefore++
			continue
		case !n.Accepts(s):
			e.Nodes.Unschedulable++
			continue
		case !n.Total().Covers(v):
			e.Nodes.TooSmall++
		case !n.Fits(s) && n.Available().Covers(v) && len(c.part.Reservations().HeldFor(n, x)) > 0:
			e.Nodes.Reserved++
			if len(e.HeldFor) < maxHolders {
				e.HeldFor = append(e.HeldFor, c.part.Reservations().HeldFor(n, x)...)
			}
		case !n.Fits(s):
			e.Nodes.TooFull++
		default:
			e.Nodes.addFitting(check.Refusal(n))
		}
		i := 0
		for k, requested := range v {
			if requested > 0 {
				r, k := &e.Resources[i], resources.Index(k)
				r.addNode(c.part.Reservations().FreeFor(x, n, k), n.Total().At(k))
				i++
			}
		}
	}
	sortResources(e.Resources)
}

// addNode counts a node that accepts the ask.
func (r *Availability) addNode(free, total resources.Quantity) {
	r.MaxFreeOnNode, r.LargestNode = max(r.MaxFreeOnNode, free), max(r.LargestNode, total)
	if missing := resources.SubSaturated(r.Requested, free); missing > 0 {
		if r.NodesLacking == 0 || missing < r.LeastMissing {
			r.LeastMissing = missing
		}
		r.NodesLacking++
	}
}

// addFitting counts a node that the ask fits, by what other allocations refuse.
func (n *NodeCounts) addFitting(r affinity.Refusal) {
	*[...]*int{
		affinity.Allowed: &n.Fitting, affinity.PortTaken: &n.PortTaken, affinity.SpreadExceeded: &n.Spread,
		affinity.AffinityMissing: &n.Affinity,
		affinity.AntiAffinity:    &n.AntiAffinity, affinity.OthersAntiAffinity: &n.OthersAntiAffinity,
	}[r]++
}

// explainQuotas finds, for each resource, the queue max and the limit with the least headroom (OBS-42).
func (c *Core) explainQuotas(e *Explanation, x *objects.Allocation) {
	index := c.requestedResources(x)
	for constraint := range x.Application().Constraints().Each {
		for i := range e.Resources {
			r := &e.Resources[i]
			free, bound, ok := constraint.Availability(index[r.Resource])
			if !ok {
				continue
			}
			switch constraint.Kind() {
			case quota.QueueMaxResources:
				r.Queue.tighten(r.Requested, Headroom{free, bound, string(constraint.Queue().Path())})
			case quota.LimitMaxResources:
				r.Limit.tighten(r.Requested, Headroom{free, bound, constraint.String()})
			case quota.ClusterCapacity:
				r.Cluster = Headroom{free, bound, "cluster"}
			}
		}
	}
}

// requestedResources are the indexes of the resources that x requests, by name.
func (c *Core) requestedResources(x *objects.Allocation) map[string]resources.Index {
	index := map[string]resources.Index{}
	for k, requested := range x.Shape().Vector() {
		if requested > 0 {
			index[c.part.ResourceName(resources.Index(k))] = resources.Index(k)
		}
	}
	return index
}

// tighten replaces r by other if r has no bound yet, if the request exceeds the max of other only, or if it
// exceeds both or neither and other has less free.
func (r *Headroom) tighten(requested resources.Quantity, other Headroom) {
	never, otherNever := r.BoundBy != "" && requested > r.Max, requested > other.Max
	switch {
	case r.BoundBy == "", otherNever && !never, otherNever == never && other.Free < r.Free:
		*r = other
	}
}

// explainShortage adds the figures that the verdict is about.
func (c *Core) explainShortage(e *Explanation, x *objects.Allocation) {
	all, s := x.Application().Constraints(), x.Shape()
	switch e.Verdict.Reason {
	case QueueMaxApplications, LimitMaxApplications:
		constraint, _ := all.FirstBlockingStart()
		e.Running, e.MaxRunning = constraint.Running()
	case AskExceedsMax, AskExceedsLimit:
		constraint, _ := all.FirstTooSmall(s)
		e.addConstraintShortages(constraint, c.requestedResources(x), true)
	case NoQueueHeadroom, NoLimitHeadroom:
		constraint, _ := all.FirstBlocking(s)
		e.addConstraintShortages(constraint, c.requestedResources(x), false)
	case NoClusterHeadroom:
		e.addShortages(func(r *Availability) (free, limit resources.Quantity, set bool) {
			return r.Cluster.Free, r.Cluster.Max, true
		}, false)
	case NoSuchResource:
		e.addShortages(func(r *Availability) (free, limit resources.Quantity, set bool) {
			return 0, r.Cluster.Max, r.Cluster.Max == 0
		}, true)
	case AskExceedsNodes, NoNodeFits, WaitsForReservedNode:
		e.addShortages(func(r *Availability) (free, limit resources.Quantity, set bool) {
			return r.MaxFreeOnNode, r.LargestNode, true
		},
			e.Verdict.Reason == AskExceedsNodes)
	}
}

func (e *Explanation) addConstraintShortages(c quota.Constraint, index map[string]resources.Index, never bool) {
	e.addShortages(func(r *Availability) (free, limit resources.Quantity, set bool) {
		return c.Availability(index[r.Resource])
	}, never)
}

// addShortages adds the resources of which more is requested than is free; with never, than there is in
// all.
func (e *Explanation) addShortages(availability func(r *Availability) (free, limit resources.Quantity, set bool),
	never bool) {
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
