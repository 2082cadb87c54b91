package objects

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// A queue holds more than its max after a reload that lowers it, or because the RM said so.
// Where the configuration has a delay for that, the max is enforced when the delay is over
// (behaviour.md 6.4). Here is for which queues and when; who leaves then is for package
// preemption. What was told to leave counts as gone, also what is overdue: nobody waits for the room.

// reevaluationDelay is how long nobody looks for victims again after a look.
const reevaluationDelay = 5 * time.Second

// violation is there as long as a queue is above a max that is enforced.
type violation struct {
	since      time.Time // when that began
	evaluated  time.Time // when victims were last looked for; zero: not yet
	generation uint64    // Partition.preemptionGeneration then
}

// AboveMax says that a queue holds more than its max, beside what was told to leave, and
// that this is not to stay so.
type AboveMax struct {
	Since     time.Time
	Due       time.Time         // when the first may be told to leave; may be past
	Evaluated time.Time         // when victims were last looked for; zero: not yet
	Excess    resources.Amounts // what is too much
}

// AboveMax is how q stands to a max that is enforced. ok is false when there is none, or q
// is within it.
func (p *Partition) AboveMax(q *Queue) (a AboveMax, ok bool) {
	if q.violation == nil {
		return a, false
	}
	return AboveMax{q.violation.since, q.enforcedAt(), q.violation.evaluated, p.Amounts(q.Excess())}, true
}

// Excess is, kind by kind, what q holds above its max beside what was told to leave; zero
// where it is within.
func (q *Queue) Excess() (over resources.Vector) {
	for i := range q.max {
		kind, left := q.max.Remaining(i, q.allocated)
		if left += q.preemptingOf(kind); left < 0 {
			for len(over) <= int(kind) {
				over = append(over, 0)
			}
			over[kind] = -left
		}
	}
	return over
}

// AllocatedAfterPreemption is what q holds without what was told to leave.
func (q *Queue) AllocatedAfterPreemption() resources.Vector {
	v := slices.Clone(q.allocated)
	v.Sub(q.expectedRelease)
	v.Sub(q.overdueRelease)
	return v
}

// preemptingOf is how much of one kind was told to leave.
func (q *Queue) preemptingOf(k resources.Index) resources.Quantity {
	return q.expectedRelease.At(k) + q.overdueRelease.At(k)
}

// MaxOf is the max of q in one kind; ok is false when there is none.
func (q *Queue) MaxOf(k resources.Index) (n resources.Quantity, ok bool) { return q.max.At(k) }

// GuaranteeOf is what q is promised of one kind; ok is false when nothing is said.
func (q *Queue) GuaranteeOf(k resources.Index) (n resources.Quantity, ok bool) {
	return q.guaranteed.At(k)
}

func (q *Queue) exceedsMax() bool {
	for i := range q.max {
		if kind, left := q.max.Remaining(i, q.allocated); left < 0 && left+q.preemptingOf(kind) < 0 {
			return true
		}
	}
	return false
}

func (q *Queue) enforcedAt() time.Time { return q.violation.since.Add(q.conf.QuotaPreemptionDelay) }

// nextEvaluation is when victims may be looked for. Requires: q is above its max.
func (q *Queue) nextEvaluation() time.Time {
	at := q.enforcedAt()
	if again := q.violation.evaluated.Add(reevaluationDelay); !q.violation.evaluated.IsZero() && again.After(at) {
		return again
	}
	return at
}

// violationChanged reports whether what is known of q is not so any more: Weigh will see to it.
func (q *Queue) violationChanged() bool {
	return (q.policy.maxEnforced && q.managed && q.exceedsMax()) != (q.violation != nil)
}

// markToRecheck notes that q may have risen above its max, or fallen within it.
func (p *Partition) markToRecheck(q *Queue) {
	if q.policy.maxEnforced && !q.recheckListed && q.violationChanged() {
		q.recheckListed = true
		p.toRecheck = append(p.toRecheck, q)
	}
}

// markAllToRecheck asks about every queue anew, as the configuration is another one: whose max is
// enforced, and when.
func (p *Partition) markAllToRecheck() {
	for _, q := range p.queues {
		q.policy.maxEnforced = p.conf.QuotaPreemptionEnabled && q.conf.QuotaPreemptionDelay > 0
		p.markToRecheckAlways(q)
	}
	p.sortViolating()
}

// markToRecheckAlways is doubt for a queue whose max may not be enforced any more.
func (p *Partition) markToRecheckAlways(q *Queue) {
	if !q.recheckListed && q.violationChanged() {
		q.recheckListed = true
		p.toRecheck = append(p.toRecheck, q)
	}
}

// sortViolating lines up anew the queues above a max that is enforced, whose delays may have changed.
func (p *Partition) sortViolating() {
	p.violating = append(p.violating, p.dueForEnforcement...)
	p.dueForEnforcement = p.dueForEnforcement[:0]
	slices.SortFunc(p.violating, compareEvaluations)
}

// UpdateViolations brings it up to date which queues are above a max that is enforced. One that is
// from now on gets its delay; one that is not any more has its delay before it if it ever is
// again. It must be called when a command was applied and when decisions were made.
func (p *Partition) UpdateViolations(now time.Time) {
	for _, q := range p.toRecheck {
		p.recordQueueChange(q)
		switch q.recheckListed = false; {
		case !q.violationChanged():
		case q.violation == nil:
			q.violation = &violation{since: now}
			p.scheduleEvaluation(q)
		default:
			p.violating, p.dueForEnforcement = removeQueueFrom(p.violating, q), removeQueueFrom(p.dueForEnforcement, q)
			q.violation = nil
		}
	}
	clear(p.toRecheck)
	p.toRecheck = p.toRecheck[:0]
}

func removeQueueFrom(list []*Queue, q *Queue) []*Queue {
	return slices.DeleteFunc(list, func(x *Queue) bool { return x == q })
}

// scheduleEvaluation lines q up for its next look.
func (p *Partition) scheduleEvaluation(q *Queue) {
	at, _ := slices.BinarySearchFunc(p.violating, q, compareEvaluations)
	p.violating = slices.Insert(p.violating, at, q)
}

func compareEvaluations(a, b *Queue) int {
	return cmp.Or(a.nextEvaluation().Compare(b.nextEvaluation()), compareNames(a.path, b.path))
}

// enforcementDue is when there is a reason to look for victims although nothing else
// happens: for the first time, or because something has changed since the last.
func (p *Partition) enforcementDue() (time.Time, bool) {
	for _, q := range p.violating {
		if q.violation.evaluated.IsZero() || q.violation.generation != p.preemptionGeneration {
			return q.nextEvaluation(), true
		}
	}
	return time.Time{}, false
}

// collectDue sets apart the queues whose time has come. The lowest go first: who leaves one of
// them leaves those above it too.
func (p *Partition) collectDue(now time.Time) {
	n := 0
	for n < len(p.violating) && !now.Before(p.violating[n].nextEvaluation()) {
		n++
	}
	if n == 0 {
		return
	}
	p.dueForEnforcement = append(p.dueForEnforcement, p.violating[:n]...)
	p.violating = slices.Delete(p.violating, 0, n)
	slices.SortFunc(p.dueForEnforcement, func(a, b *Queue) int {
		depth := func(q *Queue) int { return strings.Count(string(q.path), ".") }
		return cmp.Or(depth(b)-depth(a), compareNames(a.path, b.path))
	})
}

// TakeDueForEnforcement is a queue that should be brought within its max now; nil: there is none. It is
// not due again for some time.
func (p *Partition) TakeDueForEnforcement(now time.Time) *Queue {
	for len(p.dueForEnforcement) > 0 {
		q := p.dueForEnforcement[0]
		p.dueForEnforcement = slices.Delete(p.dueForEnforcement, 0, 1)
		unchanged := !q.violation.evaluated.IsZero() && q.violation.generation == p.preemptionGeneration
		q.violation.evaluated, q.violation.generation = now, p.preemptionGeneration
		p.recordQueueChange(q)
		if p.scheduleEvaluation(q); !unchanged {
			return q
		}
	}
	return nil
}

// MarkPreempting tells victims to leave, for no ask in particular. Requires: they run, and were not
// told before.
func (p *Partition) MarkPreempting(victims []*Allocation, now time.Time) {
	for _, y := range victims {
		p.markVictim(y, now)
	}
	p.preemptionGeneration++
}
