package preemption

import (
	"time"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/policies"
)

// Entitlement says whether an ask is entitled to preempt by a reason, and why not (PRE-114).
type Entitlement struct {
	Reason      Reason
	NotEntitled NotEntitledReason
	Queue       *objects.Queue // the queue that entitles the ask, or whose setting NotEntitled is about; nil: none
	Due         time.Time      // the end of the delay, if NotEntitledDelay
}

// NotEntitledReason is why an ask is not entitled to preempt by a reason.
type NotEntitledReason uint8

// The reasons why an ask is not entitled.
const (
	Entitled                    NotEntitledReason = iota
	NotEntitledPolicy                             // its policy or its priority class does not allow it (PRE-8)
	NotEntitledRequiredNode                       // it requires one node, and may not preempt by another reason (PRE-7)
	NotEntitledNoRequiredNode                     // it requires no node (PRE-7)
	NotEntitledDisabled                           // preemption or priority of the partition is disabled (PRE-10, PRE-11)
	NotEntitledNoGuarantee                        // no queue up to the fence guarantees a requested resource (PRE-13)
	NotEntitledAboveGuarantee                     // Queue would exceed its guarantee (PRE-13)
	NotEntitledDelay                              // the delay of Queue for this reason has not passed (PRE-15, PRE-18)
	NotEntitledPriorityDisabled                   // preemption.priority of Queue is disabled (PRE-17)
)

func (b NotEntitledReason) String() string {
	return [...]string{
		"entitled", "may not preempt", "requires one node", "requires no node", "preemption is disabled in the partition",
		"no queue guarantees a requested resource", "the queue would exceed its guarantee",
		"the preemption delay of the queue has not passed", "preemption by priority is disabled in the queue",
	}[b]
}

// Entitlements says of each reason whether x is entitled to preempt by it at now (PRE-114). Where NotEntitled is
// Entitled, EntitledReasons has the reason.
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

// commonNotEntitledReason is why x may preempt neither by guarantee nor by priority, as far as both share it.
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

// nearestGuaranteedQueue is the first queue, from the leaf of x up to the preemption fence, whose guarantee names
// a resource that x requests; nil: there is none.
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
