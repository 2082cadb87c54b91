package preemption

import (
	"time"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/policies"
)

// Entitlement is what there is to say about a right of an ask: that it has it, or why not.
type Entitlement struct {
	Right Right
	Bar   Bar
	Queue *objects.Queue // that guarantees the room, or whose setting Bar is about; nil: none
	Due   time.Time      // when it will have the right, if IsYoung
}

// Bar is why an ask does not have a right.
type Bar uint8

// The bars.
const (
	HasRight       Bar = iota
	MayNotPreempt      // its policy or its class does not allow it to
	IsNodeBound        // it accepts one node only, and has no other right
	IsNotNodeBound     // it accepts any node
	IsSwitchedOff      // preemption.enabled of the partition is false, or its priority disabled
	NoGuarantee        // no queue up to the fence guarantees anything of what it asks for
	PastGuarantee      // Queue would hold more than it is guaranteed
	IsYoung            // preemption.delay of Queue is not over, or its preemption.priority.delay
	NoPriority         // preemption.priority of Queue is disabled
)

func (b Bar) String() string {
	return [...]string{
		"has it", "may not preempt", "accepts one node only", "accepts any node", "preemption is switched off in the partition",
		"no queue guarantees anything of what it asks for", "the queue would be past its guarantee",
		"has not waited as long as the queue wants", "the queue does not let priority count",
	}[b]
}

// Entitlements says of each right of an ask whether x has it. Those that it has are Rights.
func Entitlements(p *objects.Partition, x *objects.Allocation, now time.Time) [3]Entitlement {
	return [...]Entitlement{ofNode(p, x), ofGuarantee(p, x, now), ofPriority(p, x, now)}
}

func ofNode(p *objects.Partition, x *objects.Allocation) Entitlement {
	switch {
	case !x.Ask().Policy.Other():
		return Entitlement{Right: OfNode, Bar: MayNotPreempt}
	case x.Ask().RequiredNode == "":
		return Entitlement{Right: OfNode, Bar: IsNotNodeBound}
	case p.Config().IgnorePriority:
		return Entitlement{Right: OfNode, Bar: IsSwitchedOff}
	}
	return Entitlement{Right: OfNode}
}

// generalBar is what keeps x from the other rights.
func generalBar(p *objects.Partition, x *objects.Allocation) Bar {
	switch {
	case !x.Ask().Policy.Other():
		return MayNotPreempt
	case x.Ask().RequiredNode != "":
		return IsNodeBound
	case !p.Config().Preemption || p.Config().IgnorePriority:
		return IsSwitchedOff
	}
	return HasRight
}

func ofGuarantee(p *objects.Partition, x *objects.Allocation, now time.Time) Entitlement {
	c := Entitlement{Right: OfGuarantee, Bar: generalBar(p, x)}
	if c.Bar != HasRight {
		return c
	}
	leaf := x.Application().Queue()
	if c.Queue = owed(x); c.Queue == nil {
		c.Bar, c.Queue = NoGuarantee, nearestGuarantee(x)
		if c.Queue != nil {
			c.Bar = PastGuarantee
		}
		return c
	}
	if at := x.Created().Add(leaf.Settings().PreemptionDelay); now.Before(at) {
		c.Bar, c.Queue, c.Due = IsYoung, leaf, at
	}
	return c
}

func ofPriority(p *objects.Partition, x *objects.Allocation, now time.Time) Entitlement {
	c := Entitlement{Right: OfPriority, Bar: generalBar(p, x)}
	leaf := x.Application().Queue()
	if c.Bar != HasRight {
		return c
	}
	if leaf.Settings().PrioritySwap == policies.PrioritySwapNone {
		c.Bar, c.Queue = NoPriority, leaf
	} else if at := x.Created().Add(leaf.Settings().PriorityDelay); now.Before(at) {
		c.Bar, c.Queue, c.Due = IsYoung, leaf, at
	}
	return c
}

// nearestGuarantee is the first queue, from the leaf of x up to the fence, that guarantees
// something of what x asks for; nil: none does.
func nearestGuarantee(x *objects.Allocation) *objects.Queue {
	for q := x.Application().Queue(); q != nil; q = q.Parent() {
		if about, _ := q.Entitles(x); about {
			return q
		}
		if q.Settings().Preemption == policies.PreemptFence {
			break
		}
	}
	return nil
}
