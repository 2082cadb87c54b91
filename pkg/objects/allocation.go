package objects

import (
	"strconv"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/affinity"
	"github.com/canopy-scheduler/canopy/pkg/constraints"
	"github.com/canopy-scheduler/canopy/pkg/feasibility"
	"github.com/canopy-scheduler/canopy/pkg/policies"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// Ask is a request for one allocation, as the RM sent it. It is immutable, except that the partition that admits it
// replaces App and Amounts by equal ones in shared memory; a resize is a new Ask with the same key. There may be a
// million, so its size is held by a test: what most asks do not have is in Details.
type Ask struct {
	Key      AllocationKey
	App      AppID
	Amounts  resources.Amounts // at least one above zero, none below
	Created  Timestamp         // creation time of the RM's object; zero: the arrival of the ask
	Details  *AskDetails       // nil: the ask has none
	Priority int32             // 0 is the default

	Placeholder bool // holds resources for a later ask of its task group
	Originator  bool // the first of its application, such as a driver
	Policy      PreemptionPolicy
}

// AskDetails has what few asks have, except for tags.
type AskDetails struct {
	TaskGroup    string            // gang it belongs to; empty: none
	RequiredNode NodeID            // the only node on which it may be placed; empty: any
	Constraints  *AskConstraints   `recording:"-"` // as parsed from Tags; nil: none
	Tags         map[string]string // as sent; read-only

	// MaxRunTime is the bound that the ask or its application wishes, as read from their tags; 0: none (RUN-1).
	MaxRunTime time.Duration `recording:"-"`
	// Started is the time from which the bound of a reported allocation counts; zero: it was not reported (RUN-7).
	Started Timestamp `recording:"-"`
}

// AskConstraints are the constraints of an ask, which many asks share. It is immutable.
type AskConstraints struct {
	Nodes    *constraints.Ask // on nodes; nil: none
	Affinity *affinity.Ask    // on the allocations around it; nil: none
}

// NewAskDetails returns the details of an ask; nil if it has none.
func NewAskDetails(d AskDetails) *AskDetails {
	if d.TaskGroup == "" && d.RequiredNode == "" && d.Constraints == nil && len(d.Tags) == 0 && d.MaxRunTime == 0 &&
		d.Started.IsZero() {
		return nil
	}
	return &d
}

// with returns the ask with details that change has changed.
func (a *Ask) with(change func(*AskDetails)) *Ask {
	changed, details := *a, AskDetails{}
	if a.Details != nil {
		details = *a.Details
	}
	change(&details)
	changed.Details = NewAskDetails(details)
	return &changed
}

// TaskGroup is the gang that the ask belongs to; empty: none.
func (a *Ask) TaskGroup() string {
	if a.Details == nil {
		return ""
	}
	return a.Details.TaskGroup
}

// RequiredNode is the only node on which the ask may be placed; empty: any.
func (a *Ask) RequiredNode() NodeID {
	if a.Details == nil {
		return ""
	}
	return a.Details.RequiredNode
}

// Constraints are the constraints of the ask on nodes; nil: none.
func (a *Ask) Constraints() *constraints.Ask {
	if c := a.allConstraints(); c != nil {
		return c.Nodes
	}
	return nil
}

// allConstraints are the constraints of the ask; nil: none.
func (a *Ask) allConstraints() *AskConstraints {
	if a.Details == nil {
		return nil
	}
	return a.Details.Constraints
}

// Affinity are the constraints of the ask on the allocations around it; nil: none.
func (a *Ask) Affinity() *affinity.Ask {
	if a.Details == nil || a.Details.Constraints == nil {
		return nil
	}
	return a.Details.Constraints.Affinity
}

// Request returns what decides which nodes the ask fits.
func (a *Ask) Request() feasibility.Request {
	return feasibility.Request{Amounts: a.Amounts, RequiredNode: string(a.RequiredNode()), Constraints: a.Constraints()}
}

// Tags are the tags as sent; nil: none. Read-only.
func (a *Ask) Tags() map[string]string {
	if a.Details == nil {
		return nil
	}
	return a.Details.Tags
}

// WithTags is the ask with other tags.
func (a *Ask) WithTags(tags map[string]string) *Ask {
	return a.with(func(d *AskDetails) { d.Tags = tags })
}

// WithConstraints is the ask with other constraints; nil: none.
func (a *Ask) WithConstraints(c *AskConstraints) *Ask {
	return a.with(func(d *AskDetails) { d.Constraints = c })
}

// MaxRunTime is the bound that the ask or its application wishes; 0: none.
func (a *Ask) MaxRunTime() time.Duration {
	if a.Details == nil {
		return 0
	}
	return a.Details.MaxRunTime
}

// WithRunTime is the ask with a wished bound, 0: none, and with the time of Started.
func (a *Ask) WithRunTime(bound time.Duration, started Timestamp) *Ask {
	return a.with(func(d *AskDetails) { d.MaxRunTime, d.Started = bound, started })
}

// Started is the time from which the bound of a reported allocation counts; zero: it was not reported.
func (a *Ask) Started() Timestamp {
	if a.Details == nil {
		return 0
	}
	return a.Details.Started
}

// Timestamp is a time with the precision of a nanosecond, in a third of the bytes of time.Time. The
// zero value is no time. Its values are compared by Time.
type Timestamp int64

// TimestampOf returns the timestamp of t; zero if t is zero. Times before 1678 or after 2262 have none.
func TimestampOf(t time.Time) Timestamp {
	if t.IsZero() {
		return 0
	}
	n := t.UnixNano()
	if n >= 0 {
		n++ // so that 1970 is a time
	}
	return Timestamp(n)
}

// IsZero reports whether t is no time.
func (t Timestamp) IsZero() bool { return t == 0 }

// Time is the time of t, in UTC; the zero time if t is no time.
func (t Timestamp) Time() time.Time {
	switch {
	case t == 0:
		return time.Time{}
	case t > 0:
		t--
	}
	return time.Unix(0, int64(t)).UTC()
}

// MarshalJSON writes nanoseconds since 1970; 0 if t is no time.
func (t Timestamp) MarshalJSON() ([]byte, error) {
	if t.IsZero() {
		return []byte("0"), nil
	}
	return strconv.AppendInt(nil, t.Time().UnixNano(), 10), nil
}

// UnmarshalJSON reads the output of MarshalJSON. 0 is no time.
func (t *Timestamp) UnmarshalJSON(text []byte) error {
	n, err := strconv.ParseInt(string(text), 10, 64)
	*t = 0
	if n != 0 {
		*t = TimestampOf(time.Unix(0, n))
	}
	return err
}

// PreemptionPolicy is the preemption policy of an ask (PRE-8). The zero value is a policy that was
// not sent, and allows neither. It has one byte because there may be a million asks.
type PreemptionPolicy uint8

// The bits of a PreemptionPolicy.
const (
	PolicySent              PreemptionPolicy = 1 << iota // the policy was sent
	PolicyAllowPreemptSelf                               // the ask does not opt out of being a victim
	PolicyAllowPreemptOther                              // the ask may have victims
)

// With is p with a bit set or cleared.
func (p PreemptionPolicy) With(part PreemptionPolicy, set bool) PreemptionPolicy {
	if set {
		return p | part
	}
	return p &^ part
}

// Sent reports whether the policy was sent.
func (p PreemptionPolicy) Sent() bool { return p&PolicySent != 0 }

// AllowPreemptSelf reports whether the ask does not opt out of being a victim (PRE-36).
func (p PreemptionPolicy) AllowPreemptSelf() bool { return p&PolicyAllowPreemptSelf != 0 }

// AllowPreemptOther reports whether the ask may have victims.
func (p PreemptionPolicy) AllowPreemptOther() bool { return p&PolicyAllowPreemptOther != 0 }

// Allocation is an ask, pending while it has no node, or an allocation, bound to a node. Only the
// partition changes it.
//
// There may be a million, so times are numbers, and the positions on the lists of application and
// node are fields instead of map entries.
type Allocation struct {
	ask       *Ask
	app       *Application
	shape     *feasibility.Shape
	group     *AskGroup // while pending
	node      *Node     // nil: pending
	key       policies.AskKey
	boundAt   int64 // nanoseconds since 1970; while pending: its WaitingReport
	appIndex  int32 // in app.allocations
	nodeIndex int32 // in node.allocations; of an unschedulable ask, in group.unschedulable
}

// Ask is the current request.
func (x *Allocation) Ask() *Ask { return x.ask }

// Key is the key that the RM has chosen.
func (x *Allocation) Key() AllocationKey { return x.ask.Key }

// Application is the application of the ask or allocation.
func (x *Allocation) Application() *Application { return x.app }

// Shape is the resources and constraints of the ask.
func (x *Allocation) Shape() *feasibility.Shape { return x.shape }

// AskGroup is the group of a pending ask; nil once it has a node.
func (x *Allocation) AskGroup() *AskGroup { return x.group }

// Created is the creation time, by which the asks of an application are ordered.
func (x *Allocation) Created() time.Time { return time.Unix(0, x.key.Created).UTC() }

// Node is the node of an allocation; nil while it is pending.
func (x *Allocation) Node() *Node { return x.node }

// Pending reports whether it has no node.
func (x *Allocation) Pending() bool { return x.node == nil }

// BoundAt returns when it was bound to its node; 1970 while it is pending.
func (x *Allocation) BoundAt() time.Time {
	if x.Pending() {
		return time.Unix(0, 0).UTC()
	}
	return time.Unix(0, x.boundAt).UTC()
}
