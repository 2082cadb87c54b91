package preemption

import (
	"cmp"
	"slices"
)

// minimalVictims finds the plan that selectVictimsOnNode finds, without taking off everybody who may be taken: those
// who matter least are taken off until there is enough. Everybody above them would be put back,
// as those below are enough for each of them. sure is false where that need not be so, or where
// somebody wants to know what became of the others: then selectVictimsOnNode has to be asked.
func (t *victimSelector) minimalVictims(l *nodeCache, index int) (plan Plan, found, exact bool) {
	h, c := t.search, &l.summaries[index]
	if c.hasGroups || c.hasBudgets || h.qosCounts || h.protected != nil {
		return plan, false, false
	}
	t.startNode(l.nodes[index])
	if c.undisturbed {
		t.free = append(t.free[:0], c.available...)
	} else {
		t.free = t.node.FreeAfterPreemption(t.free, h.ask)
	}
	if t.askFits() {
		return plan, false, false
	}
	t.selected, t.victims = t.selected[:0], t.victims[:0]
	for _, w := range h.inVictimOrder(c) {
		if !h.isEligible(l, w) || h.leafCache[w.leafIndex].hasGuarantee && h.protectedByGuarantee(w.allocation, t.victims) {
			continue
		}
		t.selected, t.victims = append(t.selected, w.asUnit()), append(t.victims, w.allocation)
		t.free.Add(w.shape.Vector())
		if t.countFreed(w.allocation, 1); t.askFits() {
			if len(t.selected) > 1 {
				slices.Reverse(t.selected)
				t.reprieveVictims(nil)
			}
			return t.plan(), true, true
		}
	}
	return plan, false, true
}

// inVictimOrder are the workers of a crew, who matters least first.
func (h *victimSearch) inVictimOrder(c *nodeSummary) []nodeCandidate {
	switch {
	case h.reason == ReasonPriority, len(c.priorityLevels) <= 1, !c.mixedProtection && !h.yunikornCompatible():
		return c.sortedCandidates()
	}
	h.sortBuffer = append(h.sortBuffer[:0], c.candidates...)
	slices.SortFunc(h.sortBuffer, func(a, b nodeCandidate) int {
		number := 0
		if !h.yunikornCompatible() {
			number = cmp.Compare(a.priority, b.priority)
		}
		if order := cmp.Or(cmp.Compare(a.softProtection, b.softProtection), number); order != 0 {
			return order
		}
		return compareAge(&a, &b)
	})
	return h.sortBuffer
}

// asUnit is w alone.
func (w *nodeCandidate) asUnit() victimUnit {
	u := victimUnit{first: w.allocation, priority: w.priority, startedAt: w.startedAt, optedOut: w.softProtection&2 != 0, originator: w.softProtection&1 != 0}
	u.single[0] = w.allocation
	return u
}

// isEligible reports whether no law keeps w. Requires: who accepts no other node and who was told to
// leave is not asked about, and h knows l as it is.
func (h *victimSearch) isEligible(l *nodeCache, w nodeCandidate) bool {
	priority := w.priority
	if h.isSystemPriority(priority) {
		return false
	}
	g := &h.leafCache[w.leafIndex]
	if g.generation != h.generation {
		*g = cachedEligibility{queueEligibility: h.eligibility(l.leaves[w.leafIndex]), generation: h.generation}
		g.hasGuarantee = h.reason != ReasonRequiredNode && g.ineligible == Eligible && h.hasGuaranteeBelow(l.leaves[w.leafIndex], g.commonAncestor)
	}
	if g.ineligible != Eligible {
		return false
	}
	if h.reason != ReasonRequiredNode {
		if !g.exposedKnown || g.priority != priority {
			g.exposedKnown, g.priority, g.exposedPriority = true, priority, l.leaves[w.leafIndex].ExposedPriority(priority, g.commonAncestor)
		}
		priority = g.exposedPriority
	}
	return !h.isTooImportant(priority, &g.queueEligibility) && holdsAnyOf(w.shape.Vector(), h.ask.Shape().Vector())
}

// cachedEligibility is a gate by the number of its leaf, and what was last seen through it.
type cachedEligibility struct {
	queueEligibility
	generation      uint64 // in which it was found out
	hasGuarantee    bool   // a queue below the gate has a guarantee
	exposedKnown    bool
	priority        int32 // that was last asked about, if seen
	exposedPriority int32 // as it is seen from the gate
}

// resetLeafCache readies the gates for the leaves of l. What was found out by number of a leaf does not hold any
// more: it may be another's by now.
func (h *victimSearch) resetLeafCache(l *nodeCache) {
	h.generation++
	if n := len(l.leaves) - len(h.leafCache); n > 0 {
		h.leafCache = append(h.leafCache, make([]cachedEligibility, n)...)
	}
}
