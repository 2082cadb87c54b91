package victim

import (
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// findAcrossNodes finds a plan for an ask that a quota blocks on every single node: it chooses the node as if there
// were no quotas, and then adds victims on other nodes until no quota blocks the ask (PRE-62).
func (s *Search) findAcrossNodes(predicates Predicates) (Plan, bool) {
	t := &s.selector
	shortfalls := t.shortfalls
	t.shortfalls, t.crossNode = nil, true
	plan, ok := s.findOnOneNode(predicates)
	t.shortfalls, t.crossNode = shortfalls, false
	if !ok {
		return plan, false
	}
	return t.addVictimsOnOtherNodes(plan, s.victimScope())
}

// needsOtherNodes reports whether a quota blocks the ask that victims on other nodes could relieve.
func (t *victimSelector) needsOtherNodes() bool {
	return !t.quotasBeyond &&
		slices.ContainsFunc(t.shortfalls, func(w quotaShortfall) bool { return w.ReducibleOnAnyNode() })
}

// addVictimsOnOtherNodes adds eligible units of any node to a plan, the least important first, until no quota
// blocks the ask. Then it reprieves those that are not needed, the most important first (PRE-62, PRE-64).
func (t *victimSelector) addVictimsOnOtherNodes(plan Plan, scope *objects.Queue) (Plan, bool) {
	t.begin(t.search)
	for _, y := range plan.Victims {
		t.countFreed(y, 1)
	}
	t.victims = append(t.victims[:0], plan.Victims...)
	t.removable, t.selected = t.removable[:0], t.selected[:0]
	t.collectEligible(scope, map[*objects.Allocation]bool{})
	t.search.sortByImportance(t.removable)
	t.budgets.begin(t.search.part)
	for _, y := range plan.Victims {
		u := t.search.singleUnit(y) // the other members of its group are in the plan too
		t.budgets.charge(&u)
	}
	for i := len(t.removable) - 1; i >= 0 && !t.fitsQuotas(); i-- {
		if u := &t.removable[i]; t.reducesShortfall(u) && t.protectionOf(u) == Eligible {
			t.selected, t.victims = append(t.selected, *u), append(t.victims, u.members()...)
			t.countUnitFreed(u, 1)
		}
	}
	if !t.fitsQuotas() {
		return Plan{}, false
	}
	slices.Reverse(t.selected)
	plan.Victims = slices.Clone(plan.Victims)
	for i := range t.selected {
		u := &t.selected[i]
		t.countUnitFreed(u, -1)
		if !t.fitsQuotas() {
			t.countUnitFreed(u, 1)
			plan.Victims = append(plan.Victims, u.members()...)
		}
	}
	return plan, true
}

// collectEligible adds to t.removable the eligible units below q that reduce a shortfall. seenGroups holds the first
// members of the groups met so far.
func (t *victimSelector) collectEligible(q *objects.Queue, seenGroups map[*objects.Allocation]bool) {
	if q == t.search.guaranteedQueue || q.BoundCount() == 0 {
		return
	}
	for _, child := range q.Children() {
		t.collectEligible(child, seenGroups)
	}
	for y := range q.EachBound {
		if t.search.ineligibleReason(y) != Eligible || slices.Contains(t.victims, y) {
			continue
		}
		u := t.search.candidateOf(y)
		if u.group != nil && seenGroups[u.first] || !t.reducesShortfall(&u) {
			continue
		}
		if u.group != nil {
			seenGroups[u.first] = true
		}
		t.removable = append(t.removable, u)
	}
}

// reducesShortfall reports whether u holds a resource of which a shortfall is left, and counts in that quota
// (PRE-60).
func (t *victimSelector) reducesShortfall(u *victimUnit) bool {
	for _, y := range u.members() {
		for i := range t.shortfalls {
			w := &t.shortfalls[i]
			if !w.ReducedBy(y.Application().Quota()) {
				continue
			}
			for k, amount := range w.Amount {
				k := resources.Index(k)
				if amount > w.freed.At(k) && amount > 0 && y.Shape().Vector().At(k) > 0 {
					return true
				}
			}
		}
	}
	return false
}

// countUnitFreed calls countFreed for the members of u.
func (t *victimSelector) countUnitFreed(u *victimUnit, sign int) {
	for _, y := range u.members() {
		t.countFreed(y, sign)
	}
}

// countFreed adds y to what is freed in the quotas where y counts (sign > 0), or takes it back.
func (t *victimSelector) countFreed(y *objects.Allocation, sign int) {
	for i := range t.shortfalls {
		w := &t.shortfalls[i]
		switch {
		case !w.ReducedBy(y.Application().Quota()):
		case sign > 0:
			w.freed.Add(y.Shape().Vector())
		default:
			w.freed.Sub(y.Shape().Vector())
		}
	}
}

// fitsQuotas reports whether no quota blocks the ask.
func (t *victimSelector) fitsQuotas() bool {
	for i := range t.shortfalls {
		if w := &t.shortfalls[i]; !w.freed.Covers(w.Amount) {
			return false
		}
	}
	return true
}
