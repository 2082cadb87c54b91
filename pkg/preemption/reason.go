package preemption

import (
	"time"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/policies"
)

// Reason is why allocations are preempted. Each plan has one (PRE-7).
type Reason uint8

// The preemption reasons, in the order in which an ask tries them (PRE-7). The last two need no ask.
const (
	ReasonRequiredNode Reason = iota // the ask has a required node
	ReasonGuarantee                  // a queue of the ask is below its guarantee
	ReasonPriority                   // the ask has higher priority than the victims
	ReasonQuota                      // a queue is above its enforced max
	ReasonNodePressure               // a node has less capacity than its allocations hold
)

func (r Reason) String() string {
	return [...]string{"required node", "guarantee", "priority", "quota", "pressure"}[r]
}

// EntitledReasons are the reasons by which x may preempt at now (PRE-7 to PRE-18), none if its policy does not
// allow it to preempt. due is the end of the first delay that keeps another reason from x; the zero time: no
// delay does.
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

// NextDelayEnd is the first end after a time of a delay of x: of preemption.delay, or of
// preemption.priority.delay where preemption by priority is enabled (PRE-16). The zero time: there is none.
// Whether x is then entitled is for EntitledReasons to say.
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

// entitlingQueue is the queue whose guarantee entitles x: the nearest one, from its leaf up to the preemption
// fence, whose guarantee names a resource that x requests, if that queue with x stays within its guarantee
// (PRE-13, PRE-19). nil: there is none.
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

// preemptionScope is the highest queue whose allocations may be victims of x: the nearest preemption fence from
// its leaf up, or root (PRE-19).
func preemptionScope(x *objects.Allocation) *objects.Queue {
	q := x.Application().Queue()
	for q.Parent() != nil && q.Settings().PreemptionPolicy != policies.PreemptFence {
		q = q.Parent()
	}
	return q
}
