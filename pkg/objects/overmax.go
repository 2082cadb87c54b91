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

// lookAgain is how long nobody looks for victims again after a look.
const lookAgain = 5 * time.Second

// excess is there as long as a queue is above a max that is enforced.
type excess struct {
	since   time.Time // when that began
	looked  time.Time // when victims were last looked for; zero: not yet
	changes uint64    // Partition.changes then
}

// AboveMax says that a queue holds more than its max, beside what was told to leave, and
// that this is not to stay so.
type AboveMax struct {
	Since  time.Time
	Due    time.Time         // when the first may be told to leave; may be past
	Looked time.Time         // when victims were last looked for; zero: not yet
	By     resources.Amounts // what is too much
}

// AboveMax is how q stands to a max that is enforced. ok is false when there is none, or q
// is within it.
func (p *Partition) AboveMax(q *Queue) (a AboveMax, ok bool) {
	if q.above == nil {
		return a, false
	}
	return AboveMax{q.above.since, q.enforcedAt(), q.above.looked, p.Amounts(q.Excess())}, true
}

// Excess is, kind by kind, what q holds above its max beside what was told to leave; zero
// where it is within.
func (q *Queue) Excess() (over resources.Vector) {
	for i := range q.max {
		kind, left := q.max.Left(i, q.allocated)
		if left += q.told(kind); left < 0 {
			for len(over) <= int(kind) {
				over = append(over, 0)
			}
			over[kind] = -left
		}
	}
	return over
}

// Staying is what q holds without what was told to leave.
func (q *Queue) Staying() resources.Vector {
	v := slices.Clone(q.allocated)
	v.Sub(q.leaving)
	v.Sub(q.overdue)
	return v
}

// told is how much of one kind was told to leave.
func (q *Queue) told(k resources.Kind) resources.Quantity { return q.leaving.At(k) + q.overdue.At(k) }

// MaxOf is the max of q in one kind; ok is false when there is none.
func (q *Queue) MaxOf(k resources.Kind) (n resources.Quantity, ok bool) { return q.max.At(k) }

// GuaranteeOf is what q is promised of one kind; ok is false when nothing is said.
func (q *Queue) GuaranteeOf(k resources.Kind) (n resources.Quantity, ok bool) {
	return q.guaranteed.At(k)
}

func (q *Queue) exceeds() bool {
	for i := range q.max {
		if kind, left := q.max.Left(i, q.allocated); left < 0 && left+q.told(kind) < 0 {
			return true
		}
	}
	return false
}

func (q *Queue) enforcedAt() time.Time { return q.above.since.Add(q.conf.QuotaDelay) }

// nextLook is when victims may be looked for. Requires: q is above its max.
func (q *Queue) nextLook() time.Time {
	at := q.enforcedAt()
	if again := q.above.looked.Add(lookAgain); !q.above.looked.IsZero() && again.After(at) {
		return again
	}
	return at
}

// overlooks reports whether what is known of q is not so any more: Weigh will see to it.
func (q *Queue) overlooks() bool {
	return (q.rule.enforced && q.managed && q.exceeds()) != (q.above != nil)
}

// doubt notes that q may have risen above its max, or fallen within it.
func (p *Partition) doubt(q *Queue) {
	if q.rule.enforced && !q.doubted && q.overlooks() {
		q.doubted = true
		p.doubtful = append(p.doubtful, q)
	}
}

// doubtAll asks about every queue anew, as the configuration is another one: whose max is
// enforced, and when.
func (p *Partition) doubtAll() {
	for _, q := range p.queues {
		q.rule.enforced = p.conf.QuotaPreemption && q.conf.QuotaDelay > 0
		p.doubtAnew(q)
	}
	p.orderLooks()
}

// doubtAnew is doubt for a queue whose max may not be enforced any more.
func (p *Partition) doubtAnew(q *Queue) {
	if !q.doubted && q.overlooks() {
		q.doubted = true
		p.doubtful = append(p.doubtful, q)
	}
}

// orderLooks lines up anew the queues above a max that is enforced, whose delays may have changed.
func (p *Partition) orderLooks() {
	p.above = append(p.above, p.due...)
	p.due = p.due[:0]
	slices.SortFunc(p.above, compareLooks)
}

// Weigh brings it up to date which queues are above a max that is enforced. One that is
// from now on gets its delay; one that is not any more has its delay before it if it ever is
// again. It must be called when a command was applied and when decisions were made.
func (p *Partition) Weigh(now time.Time) {
	for _, q := range p.doubtful {
		p.changedQueue(q)
		switch q.doubted = false; {
		case !q.overlooks():
		case q.above == nil:
			q.above = &excess{since: now}
			p.await(q)
		default:
			p.above, p.due = withoutQueue(p.above, q), withoutQueue(p.due, q)
			q.above = nil
		}
	}
	clear(p.doubtful)
	p.doubtful = p.doubtful[:0]
}

func withoutQueue(list []*Queue, q *Queue) []*Queue {
	return slices.DeleteFunc(list, func(x *Queue) bool { return x == q })
}

// await lines q up for its next look.
func (p *Partition) await(q *Queue) {
	at, _ := slices.BinarySearchFunc(p.above, q, compareLooks)
	p.above = slices.Insert(p.above, at, q)
}

func compareLooks(a, b *Queue) int {
	return cmp.Or(a.nextLook().Compare(b.nextLook()), compareNames(a.path, b.path))
}

// enforcementDue is when there is a reason to look for victims although nothing else
// happens: for the first time, or because something has changed since the last.
func (p *Partition) enforcementDue() (time.Time, bool) {
	for _, q := range p.above {
		if q.above.looked.IsZero() || q.above.changes != p.changes {
			return q.nextLook(), true
		}
	}
	return time.Time{}, false
}

// fallDue sets apart the queues whose time has come. The lowest go first: who leaves one of
// them leaves those above it too.
func (p *Partition) fallDue(now time.Time) {
	n := 0
	for n < len(p.above) && !now.Before(p.above[n].nextLook()) {
		n++
	}
	if n == 0 {
		return
	}
	p.due = append(p.due, p.above[:n]...)
	p.above = slices.Delete(p.above, 0, n)
	slices.SortFunc(p.due, func(a, b *Queue) int {
		depth := func(q *Queue) int { return strings.Count(string(q.path), ".") }
		return cmp.Or(depth(b)-depth(a), compareNames(a.path, b.path))
	})
}

// TakeDue is a queue that should be brought within its max now; nil: there is none. It is
// not due again for some time.
func (p *Partition) TakeDue(now time.Time) *Queue {
	for len(p.due) > 0 {
		q := p.due[0]
		p.due = slices.Delete(p.due, 0, 1)
		unchanged := !q.above.looked.IsZero() && q.above.changes == p.changes
		q.above.looked, q.above.changes = now, p.changes
		p.changedQueue(q)
		if p.await(q); !unchanged {
			return q
		}
	}
	return nil
}

// Dismiss tells victims to leave, for no ask in particular. Requires: they run, and were not
// told before.
func (p *Partition) Dismiss(victims []*Allocation, now time.Time) {
	for _, y := range victims {
		p.departs(y, now)
	}
	p.changes++
}
