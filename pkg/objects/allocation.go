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
	Priority int32             // any int32; 0 is the default
	Created  time.Time         // when the RM's object was made; zero: when the ask arrived

	TaskGroup   string // gang it belongs to; empty: none
	Placeholder bool   // stands in for a later ask of its task group
	Originator  bool   // the first of its application, such as a driver

	Policy       PreemptionPolicy
	RequiredNode NodeID            // the only node it accepts; empty: any
	Tags         map[string]string // as sent; never changed
}

// PreemptionPolicy is what an ask says about preemption. The zero value is a message
// that was not sent, which means neither (behaviour.md 6).
type PreemptionPolicy struct {
	Sent        bool
	Self, Other bool // may be a victim; may have victims
}

// Allocation is one unit of work: pending while it has no node (it is then called an
// ask), bound once it has one. It belongs to the partition, which alone changes it.
//
// There may be a million of them. So the times are numbers, and it is on the lists of its
// application and of its node without a map.
type Allocation struct {
	ask     *Ask
	app     *Application
	shape   *Shape
	class   *Class // while it is pending
	node    *Node  // nil: pending
	key     policies.AskKey
	boundAt int64 // nanoseconds since 1970
	inApp   int32 // index in app.work
	onNode  int32 // index in node.work
}

// Ask is the request as it stands now.
func (x *Allocation) Ask() *Ask { return x.ask }

// Key is the name the RM gave it.
func (x *Allocation) Key() AllocationKey { return x.ask.Key }

// Application is who it belongs to.
func (x *Allocation) Application() *Application { return x.app }

// Shape is what decides where it fits.
func (x *Allocation) Shape() *Shape { return x.shape }

// Created is its place in time among the asks of its application.
func (x *Allocation) Created() time.Time { return time.Unix(0, x.key.Created).UTC() }

// Node is where it runs, nil while it is pending.
func (x *Allocation) Node() *Node { return x.node }

// Pending reports whether it has no node yet.
func (x *Allocation) Pending() bool { return x.node == nil }

// BoundAt is when it got its node; meaningless while it is pending.
func (x *Allocation) BoundAt() time.Time { return time.Unix(0, x.boundAt).UTC() }
