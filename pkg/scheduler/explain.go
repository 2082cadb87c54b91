package scheduler

import (
	"time"

	"github.com/canopy-scheduler/canopy/pkg/affinity"
	"github.com/canopy-scheduler/canopy/pkg/backfill"
	"github.com/canopy-scheduler/canopy/pkg/constraints"
	"github.com/canopy-scheduler/canopy/pkg/explain"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/preemption"
	"github.com/canopy-scheduler/canopy/pkg/quota"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/runtimes"
)

// Explanation is the state of an ask or allocation and, for a pending ask, why it is not placed, with
// figures (OBS-39). It is a value and never changes. REST shows it as it is, like the other types of this file.
type Explanation struct {
	At        objects.Timestamp     `json:"time"`
	Partition string                `json:"partition"`
	Key       objects.AllocationKey `json:"allocationKey"`
	State     KeyState              `json:"state"`   // pending, allocated, preempting or foreign
	Message   string                `json:"message"` // the explanation in one sentence

	// The following fields are empty for an unknown or a foreign key, except Node and Requested.

	App          objects.AppID     `json:"applicationID,omitempty"`
	User         string            `json:"user,omitempty"`
	Groups       []string          `json:"groups,omitempty"`
	Queue        objects.QueuePath `json:"queueName,omitempty"`
	Priority     int32             `json:"priority"`
	Placeholder  bool              `json:"placeholder,omitempty"`
	RequiredNode objects.NodeID    `json:"requiredNodeId,omitempty"`
	Requested    resources.Amounts `json:"resource"`
	Since        objects.Timestamp `json:"since,omitzero"`   // when the state began
	Node         objects.NodeID    `json:"nodeID,omitempty"` // the node of the allocation, or the nominated one
	runtimes.Run
	Reserved *runtimes.Reserved `json:"reserved,omitempty"` // what a pending ask has reserved, and until when it waits

	// The following fields are for pending asks.

	Moved     *objects.Moved `json:"-"` // the application, by an operator; nil: it was not
	Verdict   AskVerdict     `json:"verdict,omitzero"`
	Resources []Availability `json:"resources,omitempty"` // of the ask, by name
	Nodes     *NodeCounts    `json:"nodes,omitempty"`
	// the asks for which nodes are held that nodes counts as reserved
	HeldFor []objects.Holder `json:"heldFor,omitempty"`
	// why it does not use what is reserved on a node that it would fit otherwise; missing: there is no such node, or the
	// configuration has no backfill
	Backfill *backfill.Refusal `json:"backfill,omitempty"`

	Gates        []explain.Gate           `json:"gates,omitempty"`          // every condition for it to be placed
	Largest      *explain.GateChange      `json:"largestRequest,omitempty"` // the most that it could request instead
	Ranks        []explain.Rank           `json:"rank,omitempty"`           // its place in selection order, from root down
	Entitlements []preemption.Entitlement `json:"entitlements,omitempty"`   // whether it may preempt

	// what preemption would do for it, or lacks; missing: the request did not want it, or the ask is not entitled, or
	// victims are no help
	Searches []preemption.VictimSearch `json:"searches,omitempty"`
	// the time that searches are about: it is later than time if a preemption delay has to end first
	SearchedAt objects.Timestamp `json:"searchedAt,omitzero"`
}

// AskVerdict is the Verdict about an ask with its figures (OBS-40).
type AskVerdict struct {
	Verdict
	Permanent bool `json:"permanent"` // no end of an allocation can help (OBS-41)
	// the resource manager reads decisions; while it does not, none are made
	Listening bool `json:"listening"`
	// the ask is entitled to preempt, or will be after a delay
	MayPreempt  bool       `json:"mayPreempt"`
	Shortages   []Shortage `json:"shortages,omitempty"`   // the resources of the verdict
	Running     int        `json:"running,omitempty"`     // running applications, if their number is the reason
	MaxRunning  uint64     `json:"maxRunning,omitempty"`  // the bound of running
	Terminating int        `json:"terminating,omitempty"` // allocations on nodeID that are terminating
	// what is not tried again before a time: placement first, then preemption
	BackOffs []BackOff `json:"backOff,omitempty"`
}

// maxHolders bounds the nodes of Explanation.HeldFor: a twentieth of the nodes may be reserved.
const maxHolders = 10

// KeyState is the state of the ask or allocation of a key.
type KeyState string

// The states.
const (
	KeyUnknown    KeyState = "unknown"    // no ask and no allocation
	KeyPending    KeyState = "pending"    // an ask that is not bound
	KeyAllocated  KeyState = "allocated"  // an allocation
	KeyPreempting KeyState = "preempting" // a victim that has not ended
	KeyForeign    KeyState = "foreign"    // a foreign allocation
)

// Shortage is a resource of which less is available than an ask requests.
type Shortage struct {
	Resource  string             `json:"resource"`
	Requested resources.Quantity `json:"requested"`
	Free      resources.Quantity `json:"free"` // available where Verdict says
	Max       resources.Quantity `json:"max"`  // in all
}

// Headroom gives the amount of a resource that is available to an ask within its tightest bound.
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
	e := &Explanation{At: objects.TimestampOf(now), Partition: c.part.Name(), Key: key, State: KeyUnknown}
	if x, known := c.part.Allocation(key); known {
		c.explain(e, x, now)
	} else if f, ok := c.part.ForeignAllocation(key); ok {
		e.State, e.Node, e.Requested = KeyForeign, f.Node, f.Amounts
		if f.Orphan != nil {
			e.App, e.Priority = f.Orphan.Ask.App, f.Orphan.Ask.Priority
		}
	}
	e.Message = e.String()
	return e
}

// explain explains x in e.
func (c *Core) explain(e *Explanation, x *objects.Allocation, now time.Time) {
	ask, a := x.Ask(), x.Application()
	e.App, e.User, e.Groups, e.Queue, e.Priority = a.ID(), a.User().Name, a.User().Groups, a.Queue().Path(), ask.Priority
	e.Placeholder, e.RequiredNode, e.Requested = ask.Placeholder, ask.RequiredNode(), ask.Amounts
	e.Run = c.runTimes.Run(x)
	if !x.Pending() {
		e.State, e.Since, e.Node = KeyAllocated, objects.TimestampOf(x.BoundAt()), x.Node().ID()
		if at, _ := c.part.PreemptingSince(x); !at.IsZero() {
			e.State, e.Since = KeyPreempting, objects.TimestampOf(at)
		}
		return
	}
	e.State, e.Since, e.Moved = KeyPending, objects.TimestampOf(x.Created()), objects.LastMove(c.part, a)
	c.Refresh()
	v := &e.Verdict
	v.Verdict = c.verdict(x)
	v.Permanent = v.Reason.Permanent()
	reasons, due := c.preemption.EntitledReasons(x, now)
	v.Listening, v.MayPreempt = c.Listening(), !x.AskGroup().Held() && (len(reasons) > 0 || !due.IsZero())
	if n := c.part.Nomination(x); n != nil {
		e.Node, v.Terminating = n.ID(), len(n.Preempting())
	} else if n := c.part.Reservations().Of(x); n != nil {
		e.Node, e.Reserved = n.ID(), c.runTimes.Reserved(x)
	}
	e.Backfill = c.backfill.Refusal(x, now)
	v.BackOffs = c.backOffs(x)
	e.Entitlements = c.preemption.EntitlementValues(x, now)
	var allows func(*objects.Node) bool
	if c.nodes.MayRefuse() {
		allows = c.nodes.For(x).Allows
	}
	gates, largest := explain.Gates(c.part, x, explain.Facts{
		Allows:    allows,
		Listening: c.Listening(), Draining: c.draining, Predicates: c.oracle != nil, RetryAt: c.oracleRetryAt,
		GangRefusal:  gangRefusalOf(x),
		RefusedUntil: func(n *objects.Node) time.Time { return c.refusedUntil(x, n) },
		Stopped:      func(path objects.QueuePath) bool { return c.operators.queues[StopQueue][path] },
	})
	e.Gates, e.Largest, e.Ranks = gates, explain.RequestNoMore(largest), explain.Ranks(x, explain.UsageOverTime{
		At: now, OfQueue: c.fairness.OfQueue, OfApplication: c.fairness.OfApplication})
	c.explainNodes(e, x)
	c.explainQuotas(e, x)
	c.explainShortage(e, x)
}

// ExplainWithVictims is Explain with Searches. It may try as many nodes for victims as a preemption does, while nothing
// is decided: a request has to want it (EXP-18).
func (c *Core) ExplainWithVictims(key objects.AllocationKey, now time.Time) *Explanation {
	e := c.Explain(key, now)
	x, _ := c.part.Allocation(key)
	if e.State != KeyPending || !e.Verdict.MayPreempt || !mayWaitForVictims(e.Verdict.Reason) {
		return e
	}
	reasons, due := c.preemption.EntitledReasons(x, now)
	at := now
	if len(reasons) == 0 {
		at = due
	}
	e.SearchedAt, e.Searches = objects.TimestampOf(at), c.preemption.Searches(x, now, at)
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
	e.Nodes = &NodeCounts{}
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
		e.Verdict.Running, e.Verdict.MaxRunning = constraint.Running()
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
			e.Verdict.Shortages = append(e.Verdict.Shortages, Shortage{r.Resource, r.Requested, free, limit})
		}
	}
}
