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
	"github.com/canopy-scheduler/canopy/pkg/quota"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// Quota enforcement of a lowered max (QUO-46). Only history is stored: since when a queue violates its
// max, and the last search.

// maxSearchSteps plus twice the number of candidates bounds a search.
const maxSearchSteps = 10_000

type violation struct{ since, evaluated time.Time }

// quotaViolation returns the excess of q above an enforced max.
func (t *Twin) quotaViolation(c *totals, q *queue) (over resources.Amounts, is bool) {
	if !t.quotaPreemption || !q.managed || q.conf.QuotaPreemptionDelay <= 0 {
		return over, false
	}
	m := map[string]resources.Quantity{}
	for name, most := range q.max().All() {
		m[name] = max(0, t.allocatedAfterPreemption(c, q).Get(name)-most)
	}
	over = resources.FromMap(m)
	return over, !over.IsZero()
}

// allocatedAfterPreemption returns the usage of q without victims.
func (t *Twin) allocatedAfterPreemption(c *totals, q *queue) resources.Amounts {
	held := c.allocated[q.path]
	for _, w := range t.allocations {
		if w.preempting && q.contains(t.app(w.ask.App).leaf) {
			held = held.Sub(w.ask.Amounts)
		}
	}
	return held
}

// updateViolations records which queues exceed their max.
func (t *Twin) updateViolations() {
	if !t.quotaPreemption {
		t.violations = map[objects.QueuePath]*violation{}
		return
	}
	c, still := t.total(), map[objects.QueuePath]*violation{}
	for _, q := range t.allQueues(t.root) {
		if _, is := t.quotaViolation(c, q); is {
			still[q.path] = t.violations[q.path]
			if still[q.path] == nil {
				still[q.path] = &violation{since: t.now}
			}
		}
	}
	t.violations = still
}

func (t *Twin) allQueues(q *queue) []*queue {
	all := []*queue{q}
	for _, child := range q.children {
		all = append(all, t.allQueues(child)...)
	}
	return all
}

// nextEnforcement returns the earliest time of the next search in q.
func (t *Twin) nextEnforcement(path objects.QueuePath) time.Time {
	at, a := t.enforcementDue(path), t.violations[path]
	if again := a.evaluated.Add(backOff); !a.evaluated.IsZero() && again.After(at) {
		return again
	}
	return at
}

func (t *Twin) enforcementDue(path objects.QueuePath) time.Time {
	q := t.queue(path)
	at := t.violations[path].since.Add(q.conf.QuotaPreemptionDelay)
	if settled := t.unsettled.Add(q.conf.QuotaSettle); q.conf.Max.HasPercents() && settled.After(at) {
		return settled
	}
	return at
}

// enforceQuotas preempts allocations of a queue above its max: of the queues that are due, one at the
// lowest level that has a victim.
func (t *Twin) enforceQuotas() bool {
	var due []*queue
	for path := range t.violations {
		if !t.now.Before(t.nextEnforcement(path)) {
			due = append(due, t.queue(path))
		}
	}
	slices.SortFunc(due, func(a, b *queue) int {
		return cmp.Or(cmp.Compare(len(b.path.Parts()), len(a.path.Parts())), cmp.Compare(a.path, b.path))
	})
	for _, q := range due {
		t.violations[q.path].evaluated = t.now
		if victims := t.quotaVictims(q); len(victims) > 0 {
			for _, w := range victims {
				w.preempting, w.preemptingSince = true, t.now
				t.emit(scheduler.Released{Key: w.ask.Key, App: w.ask.App, Type: scheduler.PreemptedByScheduler,
					Message: fmt.Sprintf("preempted (quota): queue %s is above its max", q.path)})
			}
			return true
		}
	}
	return false
}

// quotaVictims returns the victims in q, by ascending priority.
func (t *Twin) quotaVictims(q *queue) []*allocation {
	c := t.total()
	over, _ := t.quotaViolation(c, q)
	var candidates [][]*allocation // units that are preempted together
	for _, w := range t.allocations {
		if w.node == "" || w.preempting || w.ending || !q.contains(t.app(w.ask.App).leaf) {
			continue
		}
		u := t.victimUnit(w)
		if u[0] == w && t.evictable(u) && holdsAnyOf(u, over) && !t.strictlyYoung(u, "quota") {
			candidates = append(candidates, u)
		}
	}
	slices.SortFunc(candidates, func(a, b []*allocation) int { return t.compareQuotaVictims(q, over, a, b) })
	steps := maxSearchSteps + 2*len(candidates)
	chosen, found := t.searchQuotaVictims(c, q, over, candidates, nil, nil, &steps)
	if !found {
		chosen = nil
		for _, u := range candidates {
			if holdsAnyOf(u, remainingExcess(over, chosen...)) && !t.fallsBelowGuarantee(c, q, u, chosen) {
				chosen = append(chosen, u)
			}
		}
	}
	for _, u := range slices.Backward(slices.Clone(chosen)) {
		without := slices.DeleteFunc(slices.Clone(chosen), func(v []*allocation) bool { return v[0] == u[0] })
		if !holdsAnyOf(u, remainingExcess(over, without...)) {
			chosen = without
		}
	}
	var victims []*allocation
	for _, u := range chosen {
		if t.budgetPolicy(u) != policies.BudgetsStrict || !t.exceedsBudget(victims, u) {
			victims = append(victims, u...)
		}
	}
	return victims
}

func (t *Twin) evictable(unit []*allocation) bool {
	return !slices.ContainsFunc(unit,
		func(w *allocation) bool { return w.ask.RequiredNode() != "" || t.victimPriority(w) >= 2_000_000_000 })
}

// searchQuotaVictims returns the first set that brings q within its max, where sets with a candidate come
// before those without it.
func (t *Twin) searchQuotaVictims(c *totals, q *queue, over resources.Amounts, candidates, chosen [][]*allocation,
	skipped []string, steps *int) ([][]*allocation, bool) {
	left := remainingExcess(over, chosen...)
	if !anyPositive(left) {
		return chosen, true
	}
	if anyPositive(remainingExcess(left, candidates...)) || *steps == 0 {
		return nil, false
	}
	*steps--
	unit, kind := candidates[0], ""
	if len(unit) == 1 {
		kind = fmt.Sprint(t.app(unit[0].ask.App).leaf, unit[0].ask.Amounts)
	}
	if holdsAnyOf(unit, left) && !t.fallsBelowGuarantee(c, q, unit, chosen) && !slices.Contains(skipped, kind) {
		if way, found := t.searchQuotaVictims(c, q, over, candidates[1:], append(slices.Clip(chosen), unit), skipped,
			steps); found {
			return way, true
		}
		if kind != "" {
			skipped = append(slices.Clip(skipped), kind)
		}
	}
	return t.searchQuotaVictims(c, q, over, candidates[1:], chosen, skipped, steps)
}

func remainingExcess(over resources.Amounts, gone ...[]*allocation) resources.Amounts {
	for _, w := range slices.Concat(gone...) {
		over = over.Sub(w.ask.Amounts)
	}
	return over
}

func anyPositive(over resources.Amounts) bool {
	for _, n := range over.All() {
		if n > 0 {
			return true
		}
	}
	return false
}

func holdsAnyOf(unit []*allocation, over resources.Amounts) bool {
	for name, n := range over.All() {
		if n > 0 && slices.ContainsFunc(unit, func(w *allocation) bool { return w.ask.Amounts.Get(name) > 0 }) {
			return true
		}
	}
	return false
}

// fallsBelowGuarantee reports whether a queue from that of the unit up to q would fall below its
// guarantee.
func (t *Twin) fallsBelowGuarantee(c *totals, q *queue, unit []*allocation, chosen [][]*allocation) bool {
	for _, above := range t.pathQueues(t.app(unit[0].ask.App).leaf) {
		if !strings.HasPrefix(string(above.path)+".", string(q.path)+".") {
			continue
		}
		left := remainingExcess(t.allocatedAfterPreemption(c, above), unit)
		for _, x := range slices.Concat(chosen...) {
			if above.contains(t.app(x.ask.App).leaf) {
				left = left.Sub(x.ask.Amounts)
			}
		}
		for name, guaranteed := range above.guaranteed().All() {
			if left.Get(name) < guaranteed && holdsAnyOf(unit, resources.FromMap(map[string]resources.Quantity{name: 1})) {
				return true
			}
		}
	}
	return false
}

// compareQuotaVictims returns a positive number when b is preempted before a.
func (t *Twin) compareQuotaVictims(q *queue, over resources.Amounts, a, b []*allocation) int {
	size := func(unit []*allocation) (largest resources.Share) {
		var held resources.Amounts
		for _, w := range unit {
			held = held.Add(w.ask.Amounts)
		}
		for name, n := range held.All() {
			most, _ := q.max().Get(name)
			if part := resources.Fraction(n, most); over.Get(name) > 0 && part.Compare(largest) > 0 {
				largest = part
			}
		}
		return largest
	}
	const refusesPreemption, originator = 0, 1
	has := func(unit []*allocation, what int) int {
		return boolToInt(slices.ContainsFunc(unit, func(w *allocation) bool {
			return what == refusesPreemption && !w.ask.Policy.AllowPreemptSelf() || what == originator && w.ask.Originator
		}))
	}
	top := func(unit []*allocation) (number int32) {
		number = math.MinInt32
		for _, w := range unit {
			number = max(number, t.victimPriority(w))
		}
		return number
	}
	first := func(unit []*allocation) time.Time {
		return slices.MinFunc(unit, func(x, y *allocation) int { return x.boundAt.Compare(y.boundAt) }).boundAt
	}
	return cmp.Or(
		int(t.young(a, "quota")-t.young(b, "quota")),
		has(a, refusesPreemption)-has(b, refusesPreemption), has(a, originator)-has(b, originator),
		cmp.Compare(top(a), top(b)), len(a)-len(b),
		first(b).Compare(first(a)), size(a).Compare(size(b)), cmp.Compare(b[0].ask.Key, a[0].ask.Key),
	)
}

// violation compares the reported violation of a queue.
func (d *comparison) violation(q *queue, v *quota.AboveMax) {
	var want quota.AboveMax
	if a := d.t.violations[q.path]; a != nil {
		over, _ := d.t.quotaViolation(d.c, q)
		want = quota.AboveMax{Since: a.since, Due: d.t.enforcementDue(q.path), Evaluated: a.evaluated, Excess: over}
	}
	if v == nil {
		v = &quota.AboveMax{}
	}
	same(d, string(q.path), "above max since", want.Since, v.Since)
	same(d, string(q.path), "its max is enforced at", want.Due, v.Due)
	same(d, string(q.path), "last look", want.Evaluated, v.Evaluated)
	sameAmounts(d, string(q.path), "above max by", want.Excess, v.Excess)
}
