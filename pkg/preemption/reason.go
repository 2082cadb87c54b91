package preemption

import (
	"time"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/policies"
)

// Reason is why an ask may take the place of others. They are kept apart (priority.md P1).
type Reason uint8

// The rights, in the order in which an ask tries them (priority.md P2). The last two are no ask's.
const (
	ReasonRequiredNode Reason = iota // it accepts no other node
	ReasonGuarantee                  // its queue is owed the room
	ReasonPriority                   // it is more important
	ReasonQuota                      // a queue is above its max
	ReasonNodePressure               // a node has less capacity than its allocations hold
)

func (r Reason) String() string {
	return [...]string{"required node", "guarantee", "priority", "quota", "pressure"}[r]
}

// EntitledReasons are the rights of x at a time. due is when it gets one more by waiting; the zero
// time: never. An ask that may not preempt has none (P8).
func EntitledReasons(p *objects.Partition, x *objects.Allocation, now time.Time) (reasons []Reason, due time.Time) {
	if !x.Ask().Policy.AllowPreemptOther() || p.Config().PriorityDisabled {
		return nil, due
	}
	if x.Ask().RequiredNode != "" {
		return []Reason{ReasonRequiredNode}, due
	}
	if !p.Config().PreemptionEnabled {
		return nil, due
	}
	leaf := x.Application().Queue()
	if entitlingQueue(x) != nil {
		if at := x.Created().Add(leaf.Settings().PreemptionDelay); now.Before(at) {
			due = at
		} else {
			reasons = append(reasons, ReasonGuarantee)
		}
	}
	if leaf.Settings().PriorityPreemption == policies.PriorityPreemptionDisabled {
		return reasons, due
	}
	if at := x.Created().Add(leaf.Settings().PriorityPreemptionDelay); !now.Before(at) {
		reasons = append(reasons, ReasonPriority)
	} else if due.IsZero() || at.Before(due) {
		due = at
	}
	return reasons, due
}

// NextDelayEnd is the first time after another at which a delay ends that may keep x from
// preempting: of a guarantee (preemption.delay) or of priority (preemption.priority.delay); zero:
// there is none. Whether x then has the right is for Rights to say.
func NextDelayEnd(p *objects.Partition, x *objects.Allocation, after time.Time) (next time.Time) {
	if !x.Ask().Policy.AllowPreemptOther() || x.Ask().RequiredNode != "" || p.Config().PriorityDisabled || !p.Config().PreemptionEnabled {
		return next
	}
	conf := x.Application().Queue().Settings()
	if at := x.Created().Add(conf.PreemptionDelay); at.After(after) {
		next = at
	}
	if at := x.Created().Add(conf.PriorityPreemptionDelay); conf.PriorityPreemption != policies.PriorityPreemptionDisabled && at.After(after) && (next.IsZero() || at.Before(next)) {
		next = at
	}
	return next
}

// entitlingQueue is the queue that x is entitled by: the nearest one, from its leaf up to the fence,
// that guarantees something of what x asks for, if x is still within that guarantee. nil:
// there is none.
func entitlingQueue(x *objects.Allocation) *objects.Queue {
	for q := x.Application().Queue(); q != nil; q = q.Parent() {
		switch about, within := q.WithinGuarantee(x); {
		case within:
			return q
		case about:
			return nil
		}
		if q.Settings().PreemptionPolicy == policies.PreemptFence {
			return nil
		}
	}
	return nil
}

// preemptionScope is the highest queue below which x may look for victims: the nearest preemption
// fence, or root (P6).
func preemptionScope(x *objects.Allocation) *objects.Queue {
	q := x.Application().Queue()
	for q.Parent() != nil && q.Settings().PreemptionPolicy != policies.PreemptFence {
		q = q.Parent()
	}
	return q
}
