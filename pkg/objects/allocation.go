package objects

import (
	"time"

	"github.com/canopy-scheduler/canopy/pkg/policies"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// Ask is a request for one allocation, as the RM made it. It never changes; a resize
// is a new Ask under the same key.
type Ask struct {
	Key      AllocationKey
	App      AppID
	Amounts  resources.Amounts // at least one above zero, none below
	Created  time.Time         // when the RM's object was made; zero: when the ask arrived
	Priority int32             // any int32; 0 is the default

	Placeholder  bool // stands in for a later ask of its task group
	Originator   bool // the first of its application, such as a driver
	Policy       PreemptionPolicy
	TaskGroup    string            // gang it belongs to; empty: none
	RequiredNode NodeID            // the only node it accepts; empty: any
	Tags         map[string]string // as sent; never changed
}

// PreemptionPolicy is what an ask says about preemption (behaviour.md 6). The zero value is
// a message that was not sent, which means neither. It is one byte because there may be a
// million asks.
type PreemptionPolicy uint8

// What a PreemptionPolicy is made of.
const (
	PolicySent              PreemptionPolicy = 1 << iota // there was a message
	PolicyAllowPreemptSelf                               // the ask may be a victim
	PolicyAllowPreemptOther                              // the ask may have victims
)

// With is p with a part of it set, or not.
func (p PreemptionPolicy) With(part PreemptionPolicy, set bool) PreemptionPolicy {
	if set {
		return p | part
	}
	return p &^ part
}

// Sent reports whether there was a message.
func (p PreemptionPolicy) Sent() bool { return p&PolicySent != 0 }

// AllowPreemptSelf reports whether the ask may be a victim.
func (p PreemptionPolicy) AllowPreemptSelf() bool { return p&PolicyAllowPreemptSelf != 0 }

// AllowPreemptOther reports whether the ask may have victims.
func (p PreemptionPolicy) AllowPreemptOther() bool { return p&PolicyAllowPreemptOther != 0 }

// Allocation is one unit of work: pending while it has no node (it is then called an
// ask), bound once it has one. It belongs to the partition, which alone changes it.
//
// There may be a million of them. So the times are numbers, and it is on the lists of its
// application and of its node without a map.
type Allocation struct {
	ask       *Ask
	app       *Application
	shape     *Shape
	group     *AskGroup // while it is pending
	node      *Node     // nil: pending
	key       policies.AskKey
	boundAt   int64 // nanoseconds since 1970
	appIndex  int32 // index in app.work
	nodeIndex int32 // index in node.work; of a pending one that was set aside, in class.aside
}

// Ask is the request as it stands now.
func (x *Allocation) Ask() *Ask { return x.ask }

// Key is the name the RM gave it.
func (x *Allocation) Key() AllocationKey { return x.ask.Key }

// Application is who it belongs to.
func (x *Allocation) Application() *Application { return x.app }

// Shape is what decides where it fits.
func (x *Allocation) Shape() *Shape { return x.shape }

// AskGroup is what it belongs to while it is pending; nil once it has a node.
func (x *Allocation) AskGroup() *AskGroup { return x.group }

// Created is its place in time among the asks of its application.
func (x *Allocation) Created() time.Time { return time.Unix(0, x.key.Created).UTC() }

// Node is where it runs, nil while it is pending.
func (x *Allocation) Node() *Node { return x.node }

// Pending reports whether it has no node yet.
func (x *Allocation) Pending() bool { return x.node == nil }

// BoundAt is when it got its node; meaningless while it is pending.
func (x *Allocation) BoundAt() time.Time { return time.Unix(0, x.boundAt).UTC() }
