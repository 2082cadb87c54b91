package preemption

import (
	"time"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/policies"
)

// Entitlement is what there is to say about a right of an ask: that it has it, or why not.
type Entitlement struct {
	Reason      Reason
	NotEntitled NotEntitledReason
	Queue       *objects.Queue // that guarantees the room, or whose setting Bar is about; nil: none
	Due         time.Time      // when it will have the right, if NotEntitledDelay
}

// NotEntitledReason is why an ask does not have a right.
type NotEntitledReason uint8

// The bars.
const (
	Entitled                    NotEntitledReason = iota
	NotEntitledPolicy                             // its policy or its class does not allow it to
	NotEntitledRequiredNode                       // it accepts one node only, and has no other right
	NotEntitledNoRequiredNode                     // it requires no node
	NotEntitledDisabled                           // preemption.enabled of the partition is false, or its priority disabled
	NotEntitledNoGuarantee                        // no queue up to the fence guarantees anything of what it asks for
	NotEntitledAboveGuarantee                     // Queue would hold more than it is guaranteed
	NotEntitledDelay                              // preemption.delay of Queue is not over, or its preemption.priority.delay
	NotEntitledPriorityDisabled                   // preemption.priority of Queue is disabled
)

func (b NotEntitledReason) String() string {
	return [...]string{
		"entitled", "may not preempt", "requires one node", "requires no node", "preemption is disabled in the partition",
		"no queue guarantees a requested resource", "the queue would exceed its guarantee",
		"the preemption delay of the queue has not passed", "preemption by priority is disabled in the queue",
	}[b]
}

// Entitlements says of each right of an ask whether x has it. Those that it has are Rights.
func Entitlements(p *objects.Partition, x *objects.Allocation, now time.Time) [3]Entitlement {
	return [...]Entitlement{requiredNodeEntitlement(p, x), guaranteeEntitlement(p, x, now), priorityEntitlement(p, x, now)}
}

func requiredNodeEntitlement(p *objects.Partition, x *objects.Allocation) Entitlement {
	switch {
	case !x.Ask().Policy.AllowPreemptOther():
		return Entitlement{Reason: ReasonRequiredNode, NotEntitled: NotEntitledPolicy}
	case x.Ask().RequiredNode == "":
		return Entitlement{Reason: ReasonRequiredNode, NotEntitled: NotEntitledNoRequiredNode}
	case p.Config().PriorityDisabled:
		return Entitlement{Reason: ReasonRequiredNode, NotEntitled: NotEntitledDisabled}
	}
	return Entitlement{Reason: ReasonRequiredNode}
}

// commonNotEntitledReason is what keeps x from the other rights.
func commonNotEntitledReason(p *objects.Partition, x *objects.Allocation) NotEntitledReason {
	switch {
	case !x.Ask().Policy.AllowPreemptOther():
		return NotEntitledPolicy
	case x.Ask().RequiredNode != "":
		return NotEntitledRequiredNode
	case !p.Config().PreemptionEnabled || p.Config().PriorityDisabled:
		return NotEntitledDisabled
	}
	return Entitled
}

func guaranteeEntitlement(p *objects.Partition, x *objects.Allocation, now time.Time) Entitlement {
	c := Entitlement{Reason: ReasonGuarantee, NotEntitled: commonNotEntitledReason(p, x)}
	if c.NotEntitled != Entitled {
		return c
	}
	leaf := x.Application().Queue()
	if c.Queue = entitlingQueue(x); c.Queue == nil {
		c.NotEntitled, c.Queue = NotEntitledNoGuarantee, nearestGuaranteedQueue(x)
		if c.Queue != nil {
			c.NotEntitled = NotEntitledAboveGuarantee
		}
		return c
	}
	if at := x.Created().Add(leaf.Settings().PreemptionDelay); now.Before(at) {
		c.NotEntitled, c.Queue, c.Due = NotEntitledDelay, leaf, at
	}
	return c
}

func priorityEntitlement(p *objects.Partition, x *objects.Allocation, now time.Time) Entitlement {
	c := Entitlement{Reason: ReasonPriority, NotEntitled: commonNotEntitledReason(p, x)}
	leaf := x.Application().Queue()
	if c.NotEntitled != Entitled {
		return c
	}
	if leaf.Settings().PriorityPreemption == policies.PriorityPreemptionDisabled {
		c.NotEntitled, c.Queue = NotEntitledPriorityDisabled, leaf
	} else if at := x.Created().Add(leaf.Settings().PriorityPreemptionDelay); now.Before(at) {
		c.NotEntitled, c.Queue, c.Due = NotEntitledDelay, leaf, at
	}
	return c
}

// nearestGuaranteedQueue is the first queue, from the leaf of x up to the fence, that guarantees
// something of what x asks for; nil: none does.
func nearestGuaranteedQueue(x *objects.Allocation) *objects.Queue {
	for q := x.Application().Queue(); q != nil; q = q.Parent() {
		if about, _ := q.WithinGuarantee(x); about {
			return q
		}
		if q.Settings().PreemptionPolicy == policies.PreemptFence {
			break
		}
	}
	return nil
}
