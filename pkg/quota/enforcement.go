package quota

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// Quota enforcement (quota-change preemption in YuniKorn). A queue may use more than its max after a reload that lowers
// the max, or because the RM reported allocations (QUO-47). If quota.preemption.delay is set, the max is enforced once
// the queue has been above it for that time (QUO-48). This file decides which queues are due and when; package
// preemption chooses the victims. Preempting allocations do not count, overdue ones included (QUO-50).

// reevaluationDelay is the minimum time between two searches for victims of a queue (QUO-58).
const reevaluationDelay = 5 * time.Second

// violation says that a queue is above an enforced max.
type violation struct {
	since      time.Time // when the queue rose above it
	evaluated  time.Time // last search for victims; zero: none yet
	generation uint64    // of the state of preemption at that search
}

// Enforcement lists the queues above an enforced max, and decides when to search for victims in them.
type Enforcement struct {
	violating []*Queue // above an enforced max and not due, by the time of the next evaluation
	due       []*Queue // above an enforced max and due, the lowest first
	toRecheck []*Queue // whose violation may be out of date
}

// Idle reports whether no queue is above an enforced max, or may be.
func (e *Enforcement) Idle() bool { return len(e.violating)+len(e.due)+len(e.toRecheck) == 0 }

// AboveMax describes a queue that uses more than an enforced max. Preempting allocations do not
// count.
type AboveMax struct {
	Since     time.Time
	Due       time.Time         // earliest time of a preemption; may be past
	Evaluated time.Time         // last search for victims; zero: none yet
	Excess    resources.Amounts // allocated less max, where that is above zero
}

// AboveMax describes how q is above its max. ok is false if its max is not enforced, or q is within
// it.
func (q *Queue) AboveMax(names Names) (a AboveMax, ok bool) {
	if q.violation == nil {
		return a, false
	}
	return AboveMax{q.violation.since, q.enforcedAt(), q.violation.evaluated, names.Amounts(q.Excess())}, true
}

// SetEnforcement says whether the max of q is enforced, and after which delay. The caller must let Enforcement
// recheck q.
func (q *Queue) SetEnforcement(enforced bool, delay time.Duration) {
	q.enforced, q.enforcementDelay = enforced, delay
}

// enforcedAt returns when the max of q is enforced at the earliest. Requires: q is above its max.
func (q *Queue) enforcedAt() time.Time {
	at := q.violation.since.Add(q.enforcementDelay)
	if q.HasPercents() && q.settledFrom.After(at) {
		return q.settledFrom
	}
	return at
}

// nextEvaluation returns the earliest time for the next search for victims. Requires: q is above its max.
func (q *Queue) nextEvaluation() time.Time {
	at := q.enforcedAt()
	if again := q.violation.evaluated.Add(reevaluationDelay); !q.violation.evaluated.IsZero() && again.After(at) {
		return again
	}
	return at
}

// violationChanged reports whether q.violation is out of date; Update corrects it.
func (q *Queue) violationChanged() bool {
	return (q.enforced && q.ExceedsMax()) != (q.violation != nil)
}

// Recheck lists q for Update if it rose above its enforced max or fell within it.
func (e *Enforcement) Recheck(q *Queue) {
	if q.enforced {
		e.RecheckSettings(q)
	}
}

// RecheckSettings does what Recheck does, and also for a queue whose max is no longer enforced.
func (e *Enforcement) RecheckSettings(q *Queue) {
	if !q.recheckListed && q.violationChanged() {
		q.recheckListed = true
		e.toRecheck = append(e.toRecheck, q)
	}
}

// QuotasChanged has q rechecked, and evaluated when its quotas, which have changed, say.
func (e *Enforcement) QuotasChanged(q *Queue) {
	if q.violation != nil {
		e.violating, e.due = removeQueueFrom(e.violating, q), removeQueueFrom(e.due, q)
		e.scheduleEvaluation(q)
	}
	e.RecheckSettings(q)
}

// Update finds out which queues are above an enforced max. For a queue that rose above it the delay begins. For a queue
// that fell within it enforcement ends; the delay begins again if the queue rises again (QUO-48, QUO-49). It calls
// changed for each queue that was rechecked.
func (e *Enforcement) Update(now time.Time, changed func(*Queue)) {
	for _, q := range e.toRecheck {
		switch q.recheckListed = false; {
		case !q.violationChanged():
		case q.violation == nil:
			q.violation = &violation{since: now}
			e.scheduleEvaluation(q)
		default:
			e.violating, e.due = removeQueueFrom(e.violating, q), removeQueueFrom(e.due, q)
			q.violation = nil
		}
		changed(q)
	}
	clear(e.toRecheck)
	e.toRecheck = e.toRecheck[:0]
}

func removeQueueFrom(list []*Queue, q *Queue) []*Queue {
	return slices.DeleteFunc(list, func(x *Queue) bool { return x == q })
}

// scheduleEvaluation puts q among the violating queues, by the time of its next evaluation.
func (e *Enforcement) scheduleEvaluation(q *Queue) {
	at, _ := slices.BinarySearchFunc(e.violating, q, compareEvaluations)
	e.violating = slices.Insert(e.violating, at, q)
}

func compareEvaluations(a, b *Queue) int {
	return cmp.Or(a.nextEvaluation().Compare(b.nextEvaluation()), cmp.Compare(a.path, b.path))
}

// ApplySettings sorts the queues above an enforced max again, as their delays may have changed. Queues that were due
// wait for their time again.
func (e *Enforcement) ApplySettings() {
	e.violating = append(e.violating, e.due...)
	e.due = e.due[:0]
	slices.SortFunc(e.violating, compareEvaluations)
}

// NextDue returns the next time at which to search for victims although no command comes: a queue is to be searched for
// the first time, or the generation has changed since its last search. ok is false if there is none.
func (e *Enforcement) NextDue(generation uint64) (time.Time, bool) {
	for _, q := range e.violating {
		if q.violation.evaluated.IsZero() || q.violation.generation != generation {
			return q.nextEvaluation(), true
		}
	}
	return time.Time{}, false
}

// CollectDue moves the queues whose time has come to those that are due, the lowest first: a victim
// in a queue also counts for the queues above it (QUO-59).
func (e *Enforcement) CollectDue(now time.Time) {
	n := 0
	for n < len(e.violating) && !now.Before(e.violating[n].nextEvaluation()) {
		n++
	}
	if n == 0 {
		return
	}
	e.due = append(e.due, e.violating[:n]...)
	e.violating = slices.Delete(e.violating, 0, n)
	slices.SortFunc(e.due, func(a, b *Queue) int {
		depth := func(q *Queue) int { return strings.Count(q.path, ".") }
		return cmp.Or(depth(b)-depth(a), cmp.Compare(a.path, b.path))
	})
}

// TakeDue takes the first queue that is due; nil: there is none. search reports whether to search for victims in it
// now: something has changed since the last search. The queue is due again once reevaluationDelay has passed and
// something has changed.
func (e *Enforcement) TakeDue(now time.Time, generation uint64) (q *Queue, search bool) {
	if len(e.due) == 0 {
		return nil, false
	}
	q = e.due[0]
	e.due = slices.Delete(e.due, 0, 1)
	search = q.violation.evaluated.IsZero() || q.violation.generation != generation
	q.violation.evaluated, q.violation.generation = now, generation
	e.scheduleEvaluation(q)
	return q, search
}
