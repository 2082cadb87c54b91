package victim

import (
	"slices"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/quota"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// victimSelector selects the victims on one node (PRE-39).
type victimSelector struct {
	search     *victimSearch
	node       *objects.Node
	shortfalls []quotaShortfall

	limitBlocks  bool             // a shortfall is that of a limit of a user or group
	quotasBeyond bool             // a quota needs victims for what the ask requests beyond its guarantee
	minimal      minimalSelection // of minimalVictims, as the next
	guarantees   guaranteeTotals
	// of the node, with the removed allocations released; scratch, like the next three
	free                resources.Vector
	removable, selected []victimUnit
	initiallySelected   []victimUnit // selected, before any of it was reprieved
	victims             []*objects.Allocation
	budgets             budgetUsage
	crossNode           bool             // nodes without eligible or preempting allocations count too
	youngHeld           resources.Vector // what allocations hold on the node that are no victims yet; for reports
	youngEnd            time.Time        // when the first of them is; zero: there is none
}

// quotaShortfall is a quota that blocks the ask, and what the removed allocations free in it.
type quotaShortfall struct {
	quota.Shortfall
	freed resources.Vector
}

// begin starts a search; the quota shortfalls of its ask are computed once.
func (t *victimSelector) begin(h *victimSearch) {
	t.search, t.shortfalls, t.limitBlocks, t.quotasBeyond = h, t.shortfalls[:0], false, false
	t.guarantees.beginSearch()
	for _, w := range QuotaShortfalls(h.part, h.ask) {
		t.shortfalls = append(t.shortfalls, quotaShortfall{Shortfall: w})
		t.limitBlocks = t.limitBlocks || w.Kind() == quota.LimitMaxResources
		t.quotasBeyond = t.quotasBeyond || holdsAnyOf(w.Amount, h.beyondGuarantee)
	}
}

// needsMoreThanGuaranteed reports whether the ask needs victims for what it requests beyond the guarantee that entitles
// it: on the node or in a quota (PRE-121). Requires: t.free has no removed allocation.
func (t *victimSelector) needsMoreThanGuaranteed() bool {
	return t.quotasBeyond || !t.free.Covers(t.search.beyondGuarantee)
}

// selectVictimsOnNode removes every eligible allocation of n that no guarantee and no strict budget protects, and
// then reprieves those without which the ask still fits: units beyond a budget first, then the most important
// (victim selection: PRE-39, PRE-70). The plan is valid until the next call.
func (t *victimSelector) selectVictimsOnNode(n *objects.Node) (Plan, bool) {
	h := t.search
	t.startNode(n)
	t.free, t.removable, t.selected = n.FreeAfterPreemption(t.free, h.ask), t.removable[:0], t.selected[:0]
	if t.needsMoreThanGuaranteed() {
		return Plan{}, false
	}
	for y := range n.EachAllocation {
		switch reason := h.ineligibleReason(y); {
		case reason == IneligibleYoung:
			t.noteYoung(y)
		case reason == Eligible && !t.hasUnitOf(y):
			t.removable = append(t.removable, h.candidateOf(y))
			t.removeUnit(&t.removable[len(t.removable)-1])
		}
	}
	if len(t.removable) == 0 && !n.InPreemption() && !t.crossNode || !t.askFits() {
		return Plan{}, false
	}
	h.sortByImportance(t.removable)
	t.victims = t.victims[:0]
	t.budgets.begin(h.part)
	for i := len(t.removable) - 1; i >= 0; i-- { // least important first, so that the more important are protected
		u := &t.removable[i]
		if reason := t.protectionOf(u); reason != Eligible {
			h.noteProtected(u, reason)
			t.restoreUnit(u)
			continue
		}
		t.selected, t.victims = append(t.selected, *u), append(t.victims, u.members()...)
	}
	if !t.askFits() {
		return Plan{}, false
	}
	slices.Reverse(t.selected)
	t.budgets.sortViolatingFirst(t.selected)
	t.initiallySelected = append(t.initiallySelected[:0], t.selected...)
	t.reprieveVictims(nil)
	if !t.budgets.hasNoBudgets() { // sortViolatingFirst changed the order
		h.sortByImportance(t.selected)
	}
	return t.plan(), true
}

// startNode sets the node and resets what is freed in the quotas.
func (t *victimSelector) startNode(n *objects.Node) {
	t.node, t.youngHeld, t.youngEnd = n, t.youngHeld[:0], time.Time{}
	for i := range t.shortfalls {
		clear(t.shortfalls[i].freed)
	}
}

// reselectForPredicates selects once more on the node that the RM refused: all eligible allocations are removed,
// and one is reprieved only if the RM accepts the node with it (PRE-48). So an allocation can be a victim because
// of anti-affinity although the ask has enough resources with it.
func (t *victimSelector) reselectForPredicates(predicates Predicates) (Plan, bool) {
	if len(t.selected) == len(t.initiallySelected) {
		return Plan{}, false // the RM has refused just that
	}
	for i := range t.initiallySelected {
		if u := &t.initiallySelected[i]; !slices.ContainsFunc(t.selected,
			func(v victimUnit) bool { return v.first == u.first }) {
			t.removeUnit(u)
		}
	}
	t.selected = append(t.selected[:0], t.initiallySelected...)
	if !predicates(t.search.ask, t.node, t.plan().Victims) {
		return Plan{}, false
	}
	t.reprieveVictims(predicates)
	if !t.budgets.hasNoBudgets() {
		t.search.sortByImportance(t.selected)
	}
	return t.plan(), true
}

// reprieveVictims puts back, in the order of t.selected, every unit without which the ask fits and the RM accepts
// the node; predicates may be nil.
func (t *victimSelector) reprieveVictims(predicates Predicates) {
	for i := 0; i < len(t.selected); {
		u := t.selected[i]
		if !t.tryReprieve(&u) {
			i++
			continue
		}
		t.selected = slices.Delete(t.selected, i, i+1)
		if predicates != nil && !predicates(t.search.ask, t.node, t.plan().Victims) {
			t.selected = slices.Insert(t.selected, i, u)
			t.removeUnit(&u)
			i++
		}
	}
}

// plan returns the plan with the selected units as victims. It is valid until t.victims changes.
func (t *victimSelector) plan() Plan {
	p := Plan{Ask: t.search.ask, Reason: t.search.reason, Node: t.node, cost: planCostOf(t.selected)}
	t.victims = t.victims[:0]
	for i := range t.selected {
		t.victims = append(t.victims, t.selected[i].members()...)
	}
	p.Victims = t.victims
	return p
}

// hasUnitOf reports whether y belongs to a victim group that is removed already.
func (t *victimSelector) hasUnitOf(y *objects.Allocation) bool {
	return PreemptedAsUnit(y) &&
		slices.ContainsFunc(t.removable, func(u victimUnit) bool { return SameUnit(y, u.first) })
}

// protectedByGuarantee reports whether a guarantee protects a member of u when t.victims and the members before
// it are released (PRE-52).
func (t *victimSelector) protectedByGuarantee(u *victimUnit) bool {
	before := len(t.victims)
	defer func() { t.victims = t.victims[:before] }()
	for _, y := range u.members() {
		if t.search.protectedByGuarantee(y, t.victims) {
			return true
		}
		t.victims = append(t.victims, y)
	}
	return false
}

// tryReprieve puts u back if the ask still fits then.
func (t *victimSelector) tryReprieve(u *victimUnit) bool {
	if u.group == nil && !t.free.CoversAfter(u.first.Shape().Vector(), t.search.ask.Shape().Vector()) {
		return false
	}
	t.restoreUnit(u)
	if t.askFits() {
		return true
	}
	t.removeUnit(u)
	return false
}

func (t *victimSelector) removeUnit(u *victimUnit) {
	for _, y := range u.members() {
		if y.Node() == t.node {
			t.free.Add(y.Shape().Vector())
		}
	}
	t.countUnitFreed(u, 1)
}

func (t *victimSelector) restoreUnit(u *victimUnit) {
	for _, y := range u.members() {
		if y.Node() == t.node {
			t.free.Sub(y.Shape().Vector())
		}
	}
	t.countUnitFreed(u, -1)
}

// askFits reports whether the ask fits the node and every quota when the removed allocations are released
// (PRE-59).
func (t *victimSelector) askFits() bool {
	return t.free.Covers(t.search.ask.Shape().Vector()) && t.fitsQuotas()
}
