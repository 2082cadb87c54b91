package victim

import (
	"cmp"
	"math"
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/feasibility"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// maxShortfalls bounds the quota shortfalls for which minimalVictims finds victims: quotaSet has a bit for each.
const maxShortfalls = 64

// quotaSet is a set of quota shortfalls, a bit for each by index in victimSelector.shortfalls.
type quotaSet uint64

// minimalSelection lists the candidates that minimalVictims has removed from one node. A search selects thousands of
// candidates to compare the nodes, and keeps the victims of a few plans only, so they stay indexes until
// minimalVictimList is called.
type minimalSelection struct {
	candidates []nodeCandidate // in victim order
	removed    []int32         // indexes in candidates, in the order of the removal: the most important last
	rows       int             // how often a candidate freed something else than the one before
}

// minimalVictims finds the plan of selectVictimsOnNode at less cost: it removes candidates in victim order until the
// ask fits, and then reprieves (PRE-46). The more important candidates would all be reprieved, as the ask fits with all
// of them kept. The plan has no Victims: minimalVictimList returns them. exact is false where the two may differ
// (fair shares, victim groups, budgets, quality of service) or where a report needs the other candidates: the caller
// must then use selectVictimsOnNode.
func (t *victimSelector) minimalVictims(l *nodeCache, index int) (plan Plan, found, exact bool) {
	h, c := t.search, &l.summaries[index]
	if h.reason == ReasonFairShare || c.hasGroups || c.hasBudgets || h.qosCounts ||
		h.protected != nil || len(t.shortfalls) > maxShortfalls {
		return plan, false, false
	}
	t.startNode(l.nodes[index])
	if c.undisturbed {
		t.free = append(t.free[:0], c.available...)
	} else {
		t.free = t.node.FreeAfterPreemption(t.free, h.ask)
	}
	switch {
	case t.needsMoreThanGuaranteed():
		return plan, false, true
	case t.askFits():
		return plan, false, false
	}
	t.minimal.candidates = h.inVictimOrder(l, c)
	if !t.removeUntilFits(l) {
		return plan, false, true
	}
	if t.minimal.rows > 1 { // in one row all free the same, and the last one was needed
		t.reprieveRemoved()
	}
	return Plan{Ask: h.ask, Reason: h.reason, Node: t.node, cost: t.minimal.cost()}, true, true
}

// removeUntilFits removes, in victim order, the eligible candidates that no guarantee protects until the ask fits. It
// returns false if the ask does not fit without all of them. Candidates in a row that free the same are summed up: a
// division says how many of them are enough.
func (t *victimSelector) removeUntilFits(l *nodeCache) bool {
	h, m := t.search, &t.minimal
	m.removed, m.rows = m.removed[:0], 0
	t.guarantees.beginNode()
	var shape *feasibility.Shape // of the row
	var quotas quotaSet
	waiting, enough := 0, 0 // removed and not freed yet; how many of them are enough (zero: not computed)
	for i := range m.candidates {
		w := &m.candidates[i]
		g := &h.leafCache[w.leafIndex]
		if g.generation != h.generation || g.checkedShape != w.shape || g.checkedPriority != w.priority {
			t.checkEligibility(w, l.leaves[w.leafIndex], g)
		}
		if !g.checkedEligible || w.young && g.minRuntime.strict {
			continue
		}
		if len(g.guaranteed) > 0 && !t.guarantees.release(g.guaranteed, w.shape) {
			continue
		}
		m.removed = append(m.removed, int32(i))
		reduced := t.quotasOf(w, g)
		if w.shape == shape && reduced == quotas {
			if enough == 0 {
				enough = t.countUntilFits(shape, quotas)
			}
			waiting++
			if waiting < enough {
				continue
			}
		} else {
			t.freeCandidates(shape, quotas, waiting)
			shape, quotas, waiting = w.shape, reduced, 1
			m.rows++
		}
		t.freeCandidates(shape, quotas, waiting)
		waiting, enough = 0, 0
		if t.askFits() {
			return true
		}
	}
	return false
}

// checkEligibility checks w, but for its age, and records the result in g for the other candidates of its shape and
// priority in its leaf.
func (t *victimSelector) checkEligibility(w *nodeCandidate, leaf *objects.Queue, g *cachedEligibility) {
	h := t.search
	if g.generation != h.generation {
		*g = cachedEligibility{queueEligibility: h.eligibility(leaf), generation: h.generation, guaranteed: g.guaranteed[:0]}
		if h.reason != ReasonRequiredNode && g.ineligible == Eligible {
			g.guaranteed = t.guarantees.appendIndexes(g.guaranteed, leaf, g.commonAncestor)
		}
		for i := range t.shortfalls {
			if t.shortfalls[i].ReducedInQueue(leaf.Quota()) {
				g.quotas |= 1 << i
			}
		}
	}
	g.checkedShape, g.checkedPriority = w.shape, w.priority
	anyAge := candidateFacts{shape: w.shape, priority: w.priority, startedAt: math.MinInt64}
	g.checkedEligible = h.ineligibleForAsk(anyAge, leaf, g) == Eligible
}

// quotasOf returns the shortfalls that the release of w reduces: those of its leaf, from g, unless a limit blocks the
// ask.
func (t *victimSelector) quotasOf(w *nodeCandidate, g *cachedEligibility) quotaSet {
	if t.limitBlocks {
		return t.quotasReducedBy(w.allocation)
	}
	return g.quotas
}

// quotasReducedBy returns the shortfalls that the release of y reduces.
func (t *victimSelector) quotasReducedBy(y *objects.Allocation) (reduced quotaSet) {
	for i := range t.shortfalls {
		if t.shortfalls[i].ReducedBy(y.Application().Quota()) {
			reduced |= 1 << i
		}
	}
	return reduced
}

// freeCandidates counts count removed candidates of a shape as free on the node and in quotas.
func (t *victimSelector) freeCandidates(s *feasibility.Shape, quotas quotaSet, count int) {
	if count == 0 {
		return
	}
	t.free.AddTimes(s.Vector(), int64(count))
	for i := range t.shortfalls {
		if quotas&(1<<i) != 0 {
			t.shortfalls[i].freed.AddTimes(s.Vector(), int64(count))
		}
	}
}

// countUntilFits returns how many more candidates of a shape that reduce the shortfalls in quotas must be removed, at
// least one, before the ask can fit. The number may be too low if other shortfalls are left or quantities saturate.
func (t *victimSelector) countUntilFits(s *feasibility.Shape, quotas quotaSet) int {
	n := countUntilCovered(t.free, s.Vector(), t.search.ask.Shape().Vector())
	for i := range t.shortfalls {
		if w := &t.shortfalls[i]; quotas&(1<<i) != 0 {
			n = max(n, countUntilCovered(w.freed, s.Vector(), w.Amount))
		}
	}
	return max(n, 1)
}

// countUntilCovered returns how many times each must be added to have until it covers want; math.MaxInt: it never does.
func countUntilCovered(have, each, want resources.Vector) int {
	n := 0
	for k, q := range want {
		k := resources.Index(k)
		if q <= 0 || q <= have.At(k) {
			continue
		}
		step := each.At(k)
		if step <= 0 {
			return math.MaxInt
		}
		n = max(n, int((resources.SubSaturated(q, have.At(k))-1)/step)+1)
	}
	return n
}

// reprieveRemoved puts back, the most important first, every removed candidate without which the ask still fits, as
// reprieveVictims does. Free resources only shrink, so once a candidate must stay removed, all that free the same must.
func (t *victimSelector) reprieveRemoved() {
	h, m := t.search, &t.minimal
	var needed *feasibility.Shape
	var neededQuotas quotaSet
	kept := len(m.removed)
	for i := len(m.removed) - 1; i >= 0; i-- {
		w := &m.candidates[m.removed[i]]
		quotas := t.quotasOf(w, &h.leafCache[w.leafIndex])
		if w.shape != needed || quotas != neededQuotas {
			if t.fitsWithout(w.shape, quotas) {
				t.restoreCandidate(w.shape, quotas)
				continue
			}
			needed, neededQuotas = w.shape, quotas
		}
		kept--
		m.removed[kept] = m.removed[i]
	}
	m.removed = append(m.removed[:0], m.removed[kept:]...)
}

// fitsWithout reports whether the ask still fits when one removed candidate is put back.
func (t *victimSelector) fitsWithout(s *feasibility.Shape, quotas quotaSet) bool {
	if !t.free.CoversAfter(s.Vector(), t.search.ask.Shape().Vector()) {
		return false
	}
	for i := range t.shortfalls {
		if w := &t.shortfalls[i]; quotas&(1<<i) != 0 && !w.freed.CoversAfter(s.Vector(), w.Amount) {
			return false
		}
	}
	return true
}

// restoreCandidate reverts freeCandidates for one candidate.
func (t *victimSelector) restoreCandidate(s *feasibility.Shape, quotas quotaSet) {
	t.free.Sub(s.Vector())
	for i := range t.shortfalls {
		if quotas&(1<<i) != 0 {
			t.shortfalls[i].freed.Sub(s.Vector())
		}
	}
}

// minimalVictimList returns the victims of the last call of minimalVictims, the most important first. The list is valid
// until t.victims changes. Requires: the node cache has not changed since.
func (t *victimSelector) minimalVictimList() []*objects.Allocation {
	t.victims = t.victims[:0]
	for _, i := range slices.Backward(t.minimal.removed) {
		t.victims = append(t.victims, t.minimal.candidates[i].allocation)
	}
	return t.victims
}

// cost returns planCostOf for the removed candidates.
func (m *minimalSelection) cost() planCost {
	c := planCost{highestPriority: math.MinInt64, victims: len(m.removed)}
	protection := int8(0)
	for _, i := range m.removed {
		w := &m.candidates[i]
		priority := int64(w.priority)
		c.prioritySum += priority + 1<<31
		c.young += boolToInt(w.young)
		protection |= w.softProtection
		if priority > c.highestPriority || priority == c.highestPriority && w.startedAt < c.earliestStart {
			c.highestPriority, c.earliestStart = priority, w.startedAt
		}
	}
	c.optedOut, c.originator = protection&2 != 0, protection&1 != 0
	return c
}

// inVictimOrder returns the candidates of a node in victim order, the least important first.
func (h *victimSearch) inVictimOrder(l *nodeCache, c *nodeSummary) []nodeCandidate {
	switch anyYoung := h.markYoung(l, c); {
	case anyYoung:
	case h.reason == ReasonPriority, len(c.priorityLevels) <= 1, !c.mixedProtection && !h.yunikornCompatible():
		return c.sortedCandidates()
	default:
		h.sortBuffer = append(h.sortBuffer[:0], c.candidates...)
	}
	slices.SortFunc(h.sortBuffer, func(a, b nodeCandidate) int {
		byPriority := 0
		if !h.yunikornCompatible() {
			byPriority = cmp.Compare(a.priority, b.priority)
		}
		byProtection := cmp.Compare(a.softProtection, b.softProtection)
		if h.reason == ReasonPriority {
			byProtection, byPriority = byPriority, byProtection
		}
		if order := cmp.Or(boolToInt(a.young)-boolToInt(b.young), byProtection, byPriority); order != 0 {
			return order
		}
		return compareAge(&a, &b)
	})
	return h.sortBuffer
}
