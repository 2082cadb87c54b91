package twin

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/policies"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// Enforcing a max that was lowered (sheet 6.4, as its mistakes are fixed). What cannot be
// counted is remembered: since when a queue has been above its max, and when somebody looked.

// mostTurns, and twice as many as there are candidates, is how far a search goes.
const mostTurns = 10_000

type tooMuchHeld struct{ since, looked time.Time }

// isAbove says what q holds above its max although that is enforced.
func (t *Twin) isAbove(c *counts, q *queue) (over resources.Amounts, is bool) {
	if !t.lowers || !q.managed || q.conf.QuotaDelay <= 0 {
		return over, false
	}
	m := map[string]resources.Quantity{}
	for name, most := range q.conf.Max.All() {
		m[name] = max(0, t.stays(c, q).Get(name)-most)
	}
	over = resources.FromMap(m)
	return over, !over.IsZero()
}

// stays is what q holds without those who leave.
func (t *Twin) stays(c *counts, q *queue) resources.Amounts {
	held := c.allocated[q.path]
	for _, w := range t.work {
		if w.leaving && q.within(t.app(w.ask.App).leaf) {
			held = held.Sub(w.ask.Amounts)
		}
	}
	return held
}

// weigh notes which queues are above their max.
func (t *Twin) weigh() {
	if !t.lowers {
		t.above = map[objects.QueuePath]*tooMuchHeld{}
		return
	}
	c, still := t.count(), map[objects.QueuePath]*tooMuchHeld{}
	for _, q := range t.allQueues(t.root) {
		if _, is := t.isAbove(c, q); is {
			if still[q.path] = t.above[q.path]; still[q.path] == nil {
				still[q.path] = &tooMuchHeld{since: t.now}
			}
		}
	}
	t.above = still
}

func (t *Twin) allQueues(q *queue) []*queue {
	all := []*queue{q}
	for _, child := range q.children {
		all = append(all, t.allQueues(child)...)
	}
	return all
}

// looksAt is when somebody looks for victims in q, at the earliest.
func (t *Twin) looksAt(path objects.QueuePath) time.Time {
	at, a := t.enforcedAt(path), t.above[path]
	if again := a.looked.Add(retry); !a.looked.IsZero() && again.After(at) {
		return again
	}
	return at
}

func (t *Twin) enforcedAt(path objects.QueuePath) time.Time {
	return t.above[path].since.Add(t.queue(path).conf.QuotaDelay)
}

// enforce tells those to leave who keep a queue above its max: of those whose time has come
// one in the lowest place in which anybody may go.
func (t *Twin) enforce() bool {
	var due []*queue
	for path := range t.above {
		if !t.now.Before(t.looksAt(path)) {
			due = append(due, t.queue(path))
		}
	}
	slices.SortFunc(due, func(a, b *queue) int {
		return cmp.Or(cmp.Compare(len(b.path.Parts()), len(a.path.Parts())), cmp.Compare(a.path, b.path))
	})
	for _, q := range due {
		t.above[q.path].looked = t.now
		if victims := t.tooMany(q); len(victims) > 0 {
			for _, w := range victims {
				w.leaving, w.told = true, t.now
				t.emit(scheduler.Released{Key: w.ask.Key, App: w.ask.App, Type: scheduler.PreemptedByScheduler,
					Message: fmt.Sprintf("preempted by right of quota: queue %s is above its max", q.path)})
			}
			return true
		}
	}
	return false
}

// tooMany are those who have to leave q, the least important first.
func (t *Twin) tooMany(q *queue) []*work {
	c := t.count()
	over, _ := t.isAbove(c, q)
	var may [][]*work // units, of which each goes whole or not at all
	for _, w := range t.work {
		if w.node == "" || w.leaving || !q.within(t.app(w.ask.App).leaf) {
			continue
		}
		u := t.unit(w)
		if u[0] == w && t.mayGo(u) && holdSomeOf(u, over) {
			may = append(may, u)
		}
	}
	slices.SortFunc(may, func(a, b []*work) int { return t.compareWorth(q, over, a, b) })
	turns := mostTurns + 2*len(may)
	off, found := t.firstWay(c, q, over, may, nil, nil, &turns)
	if !found {
		off = nil
		for _, u := range may {
			if holdSomeOf(u, leftOf(over, off...)) && !t.keptByGuarantee(c, q, u, off) {
				off = append(off, u)
			}
		}
	}
	for _, u := range slices.Backward(slices.Clone(off)) {
		without := slices.DeleteFunc(slices.Clone(off), func(v []*work) bool { return v[0] == u[0] })
		if !holdSomeOf(u, leftOf(over, without...)) {
			off = without
		}
	}
	var told []*work
	for _, u := range off {
		if t.thinksOfBudgets(u) != policies.BudgetsStrict || !t.overBudget(told, u) {
			told = append(told, u...)
		}
	}
	return told
}

func (t *Twin) mayGo(unit []*work) bool {
	return !slices.ContainsFunc(unit, func(w *work) bool { return w.ask.RequiredNode != "" || t.number(w) >= 2_000_000_000 })
}

// firstWay is the first of all ways to choose that brings q within its max, where each is
// chosen before it is not.
func (t *Twin) firstWay(c *counts, q *queue, over resources.Amounts, may, off [][]*work, passed []string, turns *int) ([][]*work, bool) {
	left := leftOf(over, off...)
	if !someIsLeft(left) {
		return off, true
	}
	if someIsLeft(leftOf(left, may...)) || *turns == 0 {
		return nil, false
	}
	*turns--
	u, like := may[0], ""
	if len(u) == 1 {
		like = fmt.Sprint(t.app(u[0].ask.App).leaf, u[0].ask.Amounts)
	}
	if holdSomeOf(u, left) && !t.keptByGuarantee(c, q, u, off) && !slices.Contains(passed, like) {
		if way, found := t.firstWay(c, q, over, may[1:], append(slices.Clip(off), u), passed, turns); found {
			return way, true
		}
		if like != "" {
			passed = append(slices.Clip(passed), like)
		}
	}
	return t.firstWay(c, q, over, may[1:], off, passed, turns)
}

func leftOf(over resources.Amounts, gone ...[]*work) resources.Amounts {
	for _, w := range slices.Concat(gone...) {
		over = over.Sub(w.ask.Amounts)
	}
	return over
}

func someIsLeft(over resources.Amounts) bool {
	for _, n := range over.All() {
		if n > 0 {
			return true
		}
	}
	return false
}

func holdSomeOf(unit []*work, over resources.Amounts) bool {
	for name, n := range over.All() {
		if n > 0 && slices.ContainsFunc(unit, func(w *work) bool { return w.ask.Amounts.Get(name) > 0 }) {
			return true
		}
	}
	return false
}

// keptByGuarantee says whether a queue from that of the unit up to q would be below its
// guarantee.
func (t *Twin) keptByGuarantee(c *counts, q *queue, unit []*work, off [][]*work) bool {
	for _, above := range t.along(t.app(unit[0].ask.App).leaf) {
		if !strings.HasPrefix(string(above.path)+".", string(q.path)+".") {
			continue
		}
		left := leftOf(t.stays(c, above), unit)
		for _, x := range slices.Concat(off...) {
			if above.within(t.app(x.ask.App).leaf) {
				left = left.Sub(x.ask.Amounts)
			}
		}
		for name, least := range above.conf.Guaranteed.All() {
			if left.Get(name) < least && holdSomeOf(unit, resources.FromMap(map[string]resources.Quantity{name: 1})) {
				return true
			}
		}
	}
	return false
}

// compareWorth is positive when a should stay rather than b.
func (t *Twin) compareWorth(q *queue, over resources.Amounts, a, b []*work) int {
	size := func(unit []*work) (largest resources.Share) {
		var held resources.Amounts
		for _, w := range unit {
			held = held.Add(w.ask.Amounts)
		}
		for name, n := range held.All() {
			most, _ := q.conf.Max.Get(name)
			if part := resources.Fraction(n, most); over.Get(name) > 0 && part.Compare(largest) > 0 {
				largest = part
			}
		}
		return largest
	}
	const reluctant, leads = 0, 1
	has := func(unit []*work, what int) int {
		return yes(slices.ContainsFunc(unit, func(w *work) bool {
			return what == reluctant && !w.ask.Policy.Self() || what == leads && w.ask.Originator
		}))
	}
	top := func(unit []*work) (number int32) {
		number = math.MinInt32
		for _, w := range unit {
			number = max(number, t.number(w))
		}
		return number
	}
	first := func(unit []*work) time.Time {
		return slices.MinFunc(unit, func(x, y *work) int { return x.bound.Compare(y.bound) }).bound
	}
	return cmp.Or(
		has(a, reluctant)-has(b, reluctant), has(a, leads)-has(b, leads), cmp.Compare(top(a), top(b)), len(a)-len(b),
		first(b).Compare(first(a)), size(a).Compare(size(b)), cmp.Compare(b[0].ask.Key, a[0].ask.Key),
	)
}

// above compares what is said about a queue that is above its max.
func (d *comparison) above(q *queue, v *objects.AboveMax) {
	var want objects.AboveMax
	if a := d.t.above[q.path]; a != nil {
		over, _ := d.t.isAbove(d.c, q)
		want = objects.AboveMax{Since: a.since, Due: d.t.enforcedAt(q.path), Looked: a.looked, By: over}
	}
	if v == nil {
		v = &objects.AboveMax{}
	}
	same(d, string(q.path), "above max since", want.Since, v.Since)
	same(d, string(q.path), "its max is enforced at", want.Due, v.Due)
	same(d, string(q.path), "last look", want.Looked, v.Looked)
	alike(d, string(q.path), "above max by", want.By, v.By)
}
