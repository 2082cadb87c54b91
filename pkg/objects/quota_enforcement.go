package objects

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// Quota enforcement (quota-change preemption in YuniKorn). A queue may use more than its max after a reload that lowers the max, or
// because the RM reported allocations (QUO-47). If quota.preemption.delay is set, the max is
// enforced after the queue was above it for that time (QUO-48). This file says which queues are due
// and when; package preemption chooses the victims. Preempting allocations do not count, overdue
// ones included (QUO-50).

// reevaluationDelay is the minimum time between two searches for victims of a queue (QUO-58).
const reevaluationDelay = 5 * time.Second

// violation says that a queue is above an enforced max.
type violation struct {
	since      time.Time // when the queue rose above it
	evaluated  time.Time // last search for victims; zero: none yet
	generation uint64    // Partition.PreemptionGeneration at that search
}

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
func (p *Partition) AboveMax(q *Queue) (a AboveMax, ok bool) {
	if q.violation == nil {
		return a, false
	}
	return AboveMax{q.violation.since, q.enforcedAt(), q.violation.evaluated, p.Amounts(q.quota.Excess())}, true
}

func (q *Queue) enforcedAt() time.Time { return q.violation.since.Add(q.conf.QuotaPreemptionDelay) }

// nextEvaluation is the earliest time of the next search for victims. Requires: q is above its max.
func (q *Queue) nextEvaluation() time.Time {
	at := q.enforcedAt()
	if again := q.violation.evaluated.Add(reevaluationDelay); !q.violation.evaluated.IsZero() && again.After(at) {
		return again
	}
	return at
}

// violationChanged reports whether q.violation is out of date; UpdateViolations updates it.
func (q *Queue) violationChanged() bool {
	return (q.policy.maxEnforced && q.managed && q.quota.ExceedsMax()) != (q.violation != nil)
}

// UpdateViolations updates which queues are above an enforced max. For a queue that rose above it
// the delay begins; for a queue that fell within it enforcement is called off, and the delay begins
// anew if it rises again (QUO-48, QUO-49). The caller must call it after each command and after
// decisions.
func (p *Partition) UpdateViolations(now time.Time) {
	e := &p.journal.enforcement
	for _, q := range e.toRecheck {
		p.journal.queueChanged(q)
		switch q.recheckListed = false; {
		case !q.violationChanged():
		case q.violation == nil:
			q.violation = &violation{since: now}
			e.scheduleEvaluation(q)
		default:
			e.violating, e.due = removeQueueFrom(e.violating, q), removeQueueFrom(e.due, q)
			q.violation = nil
		}
	}
	clear(e.toRecheck)
	e.toRecheck = e.toRecheck[:0]
}

func removeQueueFrom(list []*Queue, q *Queue) []*Queue {
	return slices.DeleteFunc(list, func(x *Queue) bool { return x == q })
}

// scheduleEvaluation puts q among the violating queues, by the time of its next evaluation.
func (e *enforcement) scheduleEvaluation(q *Queue) {
	at, _ := slices.BinarySearchFunc(e.violating, q, compareEvaluations)
	e.violating = slices.Insert(e.violating, at, q)
}

func compareEvaluations(a, b *Queue) int {
	return cmp.Or(a.nextEvaluation().Compare(b.nextEvaluation()), compareNames(a.path, b.path))
}

// nextDue is the next time at which to search for victims although no command comes: for the
// first time, or because something changed since the last search. ok is false if there is none.
func (e *enforcement) nextDue(generation uint64) (time.Time, bool) {
	for _, q := range e.violating {
		if q.violation.evaluated.IsZero() || q.violation.generation != generation {
			return q.nextEvaluation(), true
		}
	}
	return time.Time{}, false
}

// collectDue moves the queues whose time has come to due, the lowest first: a victim
// in a queue also counts for the queues above it (QUO-59).
func (e *enforcement) collectDue(now time.Time) {
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
		depth := func(q *Queue) int { return strings.Count(string(q.path), ".") }
		return cmp.Or(depth(b)-depth(a), compareNames(a.path, b.path))
	})
}

// TakeDueForEnforcement returns a queue for which to search for victims now; nil: there is none.
// The queue is not due again before reevaluationDelay has passed and something has changed.
func (p *Partition) TakeDueForEnforcement(now time.Time) *Queue {
	e, generation := &p.journal.enforcement, p.PreemptionGeneration()
	for len(e.due) > 0 {
		q := e.due[0]
		e.due = slices.Delete(e.due, 0, 1)
		unchanged := !q.violation.evaluated.IsZero() && q.violation.generation == generation
		q.violation.evaluated, q.violation.generation = now, generation
		p.journal.queueChanged(q)
		if e.scheduleEvaluation(q); !unchanged {
			return q
		}
	}
	return nil
}
