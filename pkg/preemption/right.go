package preemption

import (
	"time"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/policies"
)

// Right is why an ask may take the place of others. They are kept apart (priority.md P1).
type Right uint8

// The rights, in the order in which an ask tries them (priority.md P2). The last two are no ask's.
const (
	OfNode      Right = iota // it accepts no other node
	OfGuarantee              // its queue is owed the room
	OfPriority               // it is more important
	OfQuota                  // a queue is above its max
	OfPressure               // a node has less than its work holds
)

func (r Right) String() string {
	return [...]string{"required node", "guarantee", "priority", "quota", "pressure"}[r]
}

// Rights are the rights of x at a time. due is when it gets one more by waiting; the zero
// time: never. An ask that may not preempt has none (P8).
func Rights(p *objects.Partition, x *objects.Allocation, now time.Time) (rights []Right, due time.Time) {
	if !x.Ask().Policy.Other() || p.Config().IgnorePriority {
		return nil, due
	}
	if x.Ask().RequiredNode != "" {
		return []Right{OfNode}, due
	}
	if !p.Config().Preemption {
		return nil, due
	}
	leaf := x.Application().Queue()
	if owed(x) != nil {
		if at := x.Created().Add(leaf.Settings().PreemptionDelay); now.Before(at) {
			due = at
		} else {
			rights = append(rights, OfGuarantee)
		}
	}
	if leaf.Settings().PrioritySwap == policies.PrioritySwapNone {
		return rights, due
	}
	if at := x.Created().Add(leaf.Settings().PriorityDelay); !now.Before(at) {
		rights = append(rights, OfPriority)
	} else if due.IsZero() || at.Before(due) {
		due = at
	}
	return rights, due
}

// NextDelayEnd is the first time after another at which a delay ends that may keep x from
// preempting: of a guarantee (preemption.delay) or of priority (preemption.priority.delay); zero:
// there is none. Whether x then has the right is for Rights to say.
func NextDelayEnd(p *objects.Partition, x *objects.Allocation, after time.Time) (next time.Time) {
	if !x.Ask().Policy.Other() || x.Ask().RequiredNode != "" || p.Config().IgnorePriority || !p.Config().Preemption {
		return next
	}
	conf := x.Application().Queue().Settings()
	if at := x.Created().Add(conf.PreemptionDelay); at.After(after) {
		next = at
	}
	if at := x.Created().Add(conf.PriorityDelay); conf.PrioritySwap != policies.PrioritySwapNone && at.After(after) && (next.IsZero() || at.Before(next)) {
		next = at
	}
	return next
}

// owed is the queue that x is entitled by: the nearest one, from its leaf up to the fence,
// that guarantees something of what x asks for, if x is still within that guarantee. nil:
// there is none.
func owed(x *objects.Allocation) *objects.Queue {
	for q := x.Application().Queue(); q != nil; q = q.Parent() {
		switch about, within := q.Entitles(x); {
		case within:
			return q
		case about:
			return nil
		}
		if q.Settings().Preemption == policies.PreemptFence {
			return nil
		}
	}
	return nil
}

// reach is the highest queue below which x may look for victims: the nearest preemption
// fence, or root (P6).
func reach(x *objects.Allocation) *objects.Queue {
	q := x.Application().Queue()
	for q.Parent() != nil && q.Settings().Preemption != policies.PreemptFence {
		q = q.Parent()
	}
	return q
}
