package dao

import (
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// Explanation explains the state of an ask or an allocation (OBS-39). Quantities are in the
// smallest unit.
type Explanation struct {
	Time           int64      `json:"time"`
	Partition      string     `json:"partition"`
	AllocationKey  string     `json:"allocationKey"`
	State          string     `json:"state"`   // pending, allocated, preempting or foreign
	Message        string     `json:"message"` // the explanation in one sentence
	ApplicationID  string     `json:"applicationID,omitempty"`
	User           string     `json:"user,omitempty"`
	Groups         []string   `json:"groups,omitempty"`
	QueueName      string     `json:"queueName,omitempty"`
	Priority       int32      `json:"priority"`
	Placeholder    bool       `json:"placeholder,omitempty"`
	RequiredNodeID string     `json:"requiredNodeId,omitempty"`
	Resource       Quantities `json:"resource"`
	Since          int64      `json:"since,omitempty"`  // when the state began
	NodeID         string     `json:"nodeID,omitempty"` // the node of the allocation, or the nominated one

	// The following is set for a pending ask only.

	Verdict   *Verdict                 `json:"verdict,omitempty"`
	Resources []scheduler.Availability `json:"resources,omitempty"` // of the ask, by name
	Nodes     *scheduler.NodeCounts    `json:"nodes,omitempty"`
	// the asks for which nodes are held that nodes counts as reserved
	HeldFor []objects.Holder `json:"heldFor,omitempty"`

	Gates        []Gate        `json:"gates,omitempty"`          // every condition for it to be placed
	Largest      *GateChange   `json:"largestRequest,omitempty"` // the most that it could request instead
	Rank         []Rank        `json:"rank,omitempty"`           // its place in selection order, from root down
	Entitlements []Entitlement `json:"entitlements,omitempty"`   // whether it may preempt

	// what preemption would do for it, or lacks; missing: the request did not want it, or the ask is not entitled, or
	// victims are no help
	Searches []VictimSearch `json:"searches,omitempty"`
	// the time that searches are about: it is later than time if a preemption delay has to end first
	SearchedAt int64 `json:"searchedAt,omitempty"`

	// when it is expected to start; missing: the request did not want it
	ExpectedStart *ExpectedStart `json:"expectedStart,omitempty"`
}

// Verdict says why an ask is not placed now (OBS-40).
type Verdict struct {
	Code      string `json:"code"` // see docs/EXPLAIN.md
	Subject   string `json:"subject,omitempty"`
	Permanent bool   `json:"permanent"` // no end of an allocation can help (OBS-41)
	// the resource manager reads decisions; while it does not, none are made
	Listening bool `json:"listening"`
	// the ask is entitled to preempt, or will be after a delay
	MayPreempt  bool                 `json:"mayPreempt"`
	Shortages   []scheduler.Shortage `json:"shortages,omitempty"`   // the resources of the verdict
	Running     int                  `json:"running,omitempty"`     // running applications, if their number is the reason
	MaxRunning  uint64               `json:"maxRunning,omitempty"`  // the bound of running
	Terminating int                  `json:"terminating,omitempty"` // allocations on nodeID that are terminating
	BackOff     []BackOff            `json:"backOff,omitempty"`     // what is not tried again before a time
}

// BackOff says when something is tried again for an ask, and why not before (OBS-93).
type BackOff struct {
	Reason     string `json:"reason"` // see docs/EXPLAIN.md
	Until      int64  `json:"until"`
	NeedChange bool   `json:"needChange"` // at until or later, and only if anything has changed
	Message    string `json:"message"`
}

// UnknownKey is the 404 for a key that no ask and no allocation has now (OBS-44).
type UnknownKey struct {
	Error
	AllocationKey string `json:"allocationKey"`
	State         string `json:"state"` // unknown, or as far as history is kept: released, cancelled or rejected
	ApplicationID string `json:"applicationID,omitempty"`
	Since         int64  `json:"since,omitempty"`
}

// NewExplanation is the answer of GET .../ask/{key}/explain for e. It is for a program with the
// scheduler in its own process.
func NewExplanation(e *scheduler.Explanation) *Explanation {
	body := &Explanation{
		Time: Nanos(e.At), Partition: e.Partition, AllocationKey: string(e.Key), State: e.State.String(), Message: e.String(),
		ApplicationID: string(e.App), User: e.User.Name, Groups: e.User.Groups, QueueName: string(e.Queue),
		Priority:    e.Priority,
		Placeholder: e.Placeholder, RequiredNodeID: string(e.RequiredNode), Resource: amountsOf(e.Requested),
		Since: Nanos(e.Since), NodeID: string(e.Node),
	}
	if e.State != scheduler.KeyPending {
		return body
	}
	v := &Verdict{
		Code: e.Verdict.Reason.Code(), Subject: e.Verdict.Subject, Permanent: e.Permanent, Listening: e.Listening,
		MayPreempt: e.MayPreempt, Shortages: e.Shortages,
		Running: e.Running, MaxRunning: e.MaxRunning, Terminating: e.Terminating,
	}
	for _, b := range e.BackOffs {
		v.BackOff = append(v.BackOff, BackOff{b.Reason.Code(), Nanos(b.Until), b.NeedChange, b.String()})
	}
	body.Verdict, body.Resources, body.Nodes, body.HeldFor = v, e.Resources, &e.Nodes, e.HeldFor
	for i := range e.Searches {
		body.Searches = append(body.Searches, viewVictimSearch(&e.Searches[i]))
	}
	body.SearchedAt = Nanos(e.SearchedAt)
	body.Gates, body.Largest, body.Rank, body.Entitlements = viewGates(e.Gates), viewLargest(e.Largest), viewRank(e.Rank),
		viewEntitlements(e.Entitlements)
	return body
}

// ApplicationExplanation explains the pending asks of an application (EXP-7).
type ApplicationExplanation struct {
	Time          int64                 `json:"time"`
	Partition     string                `json:"partition"`
	ApplicationID string                `json:"applicationID"`
	State         string                `json:"state"`
	User          string                `json:"user"`
	QueueName     string                `json:"queueName"`
	PendingAsks   int                   `json:"pendingAsks"`
	Groups        []AskGroupExplanation `json:"groups"` // of asks that wait for the same, in selection order
	MoreGroups    int                   `json:"moreGroups,omitempty"`
}

// AskGroupExplanation is about pending asks with the same request, constraints, priority and task group.
type AskGroupExplanation struct {
	PendingAsks int          `json:"pendingAsks"`
	First       *Explanation `json:"first"` // the first of them
}

// NewApplicationExplanation is the answer of GET .../application/{application}/explain. Requires: the application is
// known.
func NewApplicationExplanation(e *scheduler.ApplicationExplanation) *ApplicationExplanation {
	body := &ApplicationExplanation{
		Time: Nanos(e.At), Partition: e.Partition, ApplicationID: string(e.App), State: e.State.String(), User: e.User.Name,
		QueueName:   string(e.Queue),
		PendingAsks: e.Pending, Groups: []AskGroupExplanation{}, MoreGroups: e.MoreGroups,
	}
	for _, group := range e.Groups {
		body.Groups = append(body.Groups, AskGroupExplanation{group.Pending, NewExplanation(group.First)})
	}
	return body
}
