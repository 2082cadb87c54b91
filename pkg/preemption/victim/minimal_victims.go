package victim

import (
	"cmp"
	"slices"
)

// minimalVictims finds the plan of selectVictimsOnNode at less cost: it removes candidates in victim order until
// the ask fits, and then reprieves (PRE-46). The more important candidates would all be reprieved, as the ask
// fits without any of them. exact is false where the two may differ (victim groups, budgets, quality of service)
// or where a report needs the other candidates: then the caller must use selectVictimsOnNode.
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
		if !h.isEligible(l, &w) || h.leafCache[w.leafIndex].hasGuarantee && h.protectedByGuarantee(w.allocation, t.victims) {
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

// inVictimOrder are the candidates of a node in victim order, the least important first.
func (h *victimSearch) inVictimOrder(c *nodeSummary) []nodeCandidate {
	switch {
	case h.reason == ReasonPriority, len(c.priorityLevels) <= 1, !c.mixedProtection && !h.yunikornCompatible():
		return c.sortedCandidates()
	}
	h.sortBuffer = append(h.sortBuffer[:0], c.candidates...)
	slices.SortFunc(h.sortBuffer, func(a, b nodeCandidate) int {
		byPriority := 0
		if !h.yunikornCompatible() {
			byPriority = cmp.Compare(a.priority, b.priority)
		}
		if order := cmp.Or(cmp.Compare(a.softProtection, b.softProtection), byPriority); order != 0 {
			return order
		}
		return compareAge(&a, &b)
	})
	return h.sortBuffer
}

// asUnit is the candidate as a unit of its own.
func (w *nodeCandidate) asUnit() victimUnit {
	u := victimUnit{first: w.allocation, priority: w.priority, startedAt: w.startedAt, optedOut: w.softProtection&2 != 0, originator: w.softProtection&1 != 0}
	u.single[0] = w.allocation
	return u
}
