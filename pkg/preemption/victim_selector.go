package preemption

import (
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// victimSelector finds who has to leave for an ask to run on a node.
type victimSelector struct {
	search     *victimSearch
	node       *objects.Node
	shortfalls []quotaShortfall

	free                resources.Vector // scratch, like the next three
	removable, selected []victimUnit
	initiallySelected   []victimUnit // who were off before any of them was put back
	victims             []*objects.Allocation
	budgets             budgetUsage
	crossNode           bool // also where nobody can leave and nothing is held
}

// quotaShortfall is a quota that is in the way, and what goes with those who are off.
type quotaShortfall struct {
	objects.QuotaShortfall
	freed resources.Vector
}

func (t *victimSelector) begin(h *victimSearch) {
	t.search, t.shortfalls = h, t.shortfalls[:0]
	for _, w := range h.part.QuotaShortfalls(h.ask) {
		t.shortfalls = append(t.shortfalls, quotaShortfall{QuotaShortfall: w})
	}
}

// selectVictimsOnNode takes off n all who may be taken, and then puts back whoever the ask does not need
// gone: those first whom a budget does not allow to leave, and then those that should stay
// longest. The plan is good until the next call.
func (t *victimSelector) selectVictimsOnNode(n *objects.Node) (Plan, bool) {
	h := t.search
	t.startNode(n)
	t.free, t.removable, t.selected = n.FreeAfterPreemption(t.free, h.ask), t.removable[:0], t.selected[:0]
	for y := range n.EachAllocation {
		if h.ineligibleReason(y) == Eligible && !t.hasUnitOf(y) {
			t.removable = append(t.removable, h.unitOf(y))
			t.removeUnit(&t.removable[len(t.removable)-1])
		}
	}
	if len(t.removable) == 0 && !n.InPreemption() && !t.crossNode || !t.askFits() {
		return Plan{}, false
	}
	h.sortByImportance(t.removable)
	t.victims = t.victims[:0]
	t.budgets.begin(h.part)
	for i := len(t.removable) - 1; i >= 0; i-- { // who matters least first: a guarantee or a budget may spare the rest
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
	if !t.budgets.hasNoBudgets() { // they were put apart
		h.sortByImportance(t.selected)
	}
	return t.plan(), true
}

// startNode makes n the node that t is about.
func (t *victimSelector) startNode(n *objects.Node) {
	t.node = n
	for i := range t.shortfalls {
		clear(t.shortfalls[i].freed)
	}
}

// reselectForPredicates is selectVictimsOnNode once more for the same node, which the RM refused: perhaps somebody is in
// its way whom there is room beside, such as an unwanted neighbour (priority.md S2-27). Nobody
// is put back whom the RM wants gone.
func (t *victimSelector) reselectForPredicates(predicates Predicates) (Plan, bool) {
	if len(t.selected) == len(t.initiallySelected) {
		return Plan{}, false // that was the question
	}
	for i := range t.initiallySelected {
		if u := &t.initiallySelected[i]; !slices.ContainsFunc(t.selected, func(v victimUnit) bool { return v.first == u.first }) {
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

// reprieveVictims leaves of those who are off who has to go; judge may be nil.
func (t *victimSelector) reprieveVictims(predicates Predicates) {
	for i := 0; i < len(t.selected); {
		u := t.selected[i]
		if !t.tryReprieve(&u) {
			i++
			continue
		}
		if t.selected = slices.Delete(t.selected, i, i+1); predicates != nil && !predicates(t.search.ask, t.node, t.plan().Victims) {
			t.selected = slices.Insert(t.selected, i, u)
			t.removeUnit(&u)
			i++
		}
	}
}

func (t *victimSelector) plan() Plan {
	p := Plan{Ask: t.search.ask, Reason: t.search.reason, Node: t.node, cost: planCostOf(t.selected)}
	t.victims = t.victims[:0]
	for i := range t.selected {
		t.victims = append(t.victims, t.selected[i].members()...)
	}
	p.Victims = t.victims
	return p
}

// hasUnitOf reports whether y is in a unit already.
func (t *victimSelector) hasUnitOf(y *objects.Allocation) bool {
	return y.PreemptedAsUnit() && slices.ContainsFunc(t.removable, func(u victimUnit) bool { return y.SameVictimUnit(u.first) })
}

// protectedByGuarantee reports whether a guarantee keeps one of u in its place, when all those go too who
// are off: they are t.victims.
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

// tryReprieve puts u back, if there is enough without it.
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

// askFits reports whether the ask has its room, and no quota is in its way.
func (t *victimSelector) askFits() bool {
	return t.free.Covers(t.search.ask.Shape().Vector()) && t.fitsQuotas()
}
