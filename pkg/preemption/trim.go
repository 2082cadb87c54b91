package preemption

import (
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// trim finds who has to leave for an ask to run on a node.
type trim struct {
	hunt  *hunt
	node  *objects.Node
	walls []wall

	room     resources.Vector // scratch, like the next three
	may, off []unit
	all      []unit // who were off before any of them was put back
	victims  []*objects.Allocation
	spending spending
	anywhere bool // also where nobody can leave and nothing is held
}

// wall is a quota that is in the way, and what goes with those who are off.
type wall struct {
	objects.Wall
	gone resources.Vector
}

func (t *trim) begin(h *hunt) {
	t.hunt, t.walls = h, t.walls[:0]
	for _, w := range h.part.Walls(h.x) {
		t.walls = append(t.walls, wall{Wall: w})
	}
}

// onNode takes off n all who may be taken, and then puts back whoever the ask does not need
// gone: those first whom a budget does not allow to leave, and then those that should stay
// longest. The plan is good until the next call.
func (t *trim) onNode(n *objects.Node) (Plan, bool) {
	h := t.hunt
	t.start(n)
	t.room, t.may, t.off = n.RoomOnceLeft(t.room, h.x), t.may[:0], t.off[:0]
	for y := range n.EachWork {
		if h.law(y) == MayBeTaken && !t.has(y) {
			t.may = append(t.may, h.unitOf(y))
			t.takeOff(&t.may[len(t.may)-1])
		}
	}
	if len(t.may) == 0 && !n.Disturbed() && !t.anywhere || !t.enough() {
		return Plan{}, false
	}
	h.byImportance(t.may)
	t.victims = t.victims[:0]
	t.spending.begin(h.part)
	for i := len(t.may) - 1; i >= 0; i-- { // who matters least first: a guarantee or a budget may spare the rest
		u := &t.may[i]
		if law := t.keeps(u); law != MayBeTaken {
			h.keep(u, law)
			t.putBack(u)
			continue
		}
		t.off, t.victims = append(t.off, *u), append(t.victims, u.members()...)
	}
	if !t.enough() {
		return Plan{}, false
	}
	slices.Reverse(t.off)
	t.spending.putApart(t.off)
	t.all = append(t.all[:0], t.off...)
	t.putBackWhoMay(nil)
	if !t.spending.idle() { // they were put apart
		h.byImportance(t.off)
	}
	return t.plan(), true
}

// start makes n the node that t is about.
func (t *trim) start(n *objects.Node) {
	t.node = n
	for i := range t.walls {
		clear(t.walls[i].gone)
	}
}

// onNodeFor is onNode once more for the same node, which the RM refused: perhaps somebody is in
// its way whom there is room beside, such as an unwanted neighbour (priority.md S2-27). Nobody
// is put back whom the RM wants gone.
func (t *trim) onNodeFor(judge Judge) (Plan, bool) {
	if len(t.off) == len(t.all) {
		return Plan{}, false // that was the question
	}
	for i := range t.all {
		if u := &t.all[i]; !slices.ContainsFunc(t.off, func(v unit) bool { return v.lead == u.lead }) {
			t.takeOff(u)
		}
	}
	t.off = append(t.off[:0], t.all...)
	if !judge(t.hunt.x, t.node, t.plan().Victims) {
		return Plan{}, false
	}
	t.putBackWhoMay(judge)
	if !t.spending.idle() {
		t.hunt.byImportance(t.off)
	}
	return t.plan(), true
}

// putBackWhoMay leaves of those who are off who has to go; judge may be nil.
func (t *trim) putBackWhoMay(judge Judge) {
	for i := 0; i < len(t.off); {
		u := t.off[i]
		if !t.needNotGo(&u) {
			i++
			continue
		}
		if t.off = slices.Delete(t.off, i, i+1); judge != nil && !judge(t.hunt.x, t.node, t.plan().Victims) {
			t.off = slices.Insert(t.off, i, u)
			t.takeOff(&u)
			i++
		}
	}
}

func (t *trim) plan() Plan {
	p := Plan{Ask: t.hunt.x, Right: t.hunt.right, Node: t.node, cost: costOf(t.off)}
	t.victims = t.victims[:0]
	for i := range t.off {
		t.victims = append(t.victims, t.off[i].members()...)
	}
	p.Victims = t.victims
	return p
}

// has reports whether y is in a unit already.
func (t *trim) has(y *objects.Allocation) bool {
	return y.Grouped() && slices.ContainsFunc(t.may, func(u unit) bool { return y.Together(u.lead) })
}

// spared reports whether a guarantee keeps one of u in its place, when all those go too who
// are off: they are t.victims.
func (t *trim) spared(u *unit) bool {
	before := len(t.victims)
	defer func() { t.victims = t.victims[:before] }()
	for _, y := range u.members() {
		if t.hunt.spared(y, t.victims) {
			return true
		}
		t.victims = append(t.victims, y)
	}
	return false
}

// needNotGo puts u back, if there is enough without it.
func (t *trim) needNotGo(u *unit) bool {
	if u.group == nil && !t.room.CoversBeyond(u.lead.Shape().Vector(), t.hunt.x.Shape().Vector()) {
		return false
	}
	t.putBack(u)
	if t.enough() {
		return true
	}
	t.takeOff(u)
	return false
}

func (t *trim) takeOff(u *unit) {
	for _, y := range u.members() {
		if y.Node() == t.node {
			t.room.Add(y.Shape().Vector())
		}
	}
	t.lowerAll(u, 1)
}

func (t *trim) putBack(u *unit) {
	for _, y := range u.members() {
		if y.Node() == t.node {
			t.room.Sub(y.Shape().Vector())
		}
	}
	t.lowerAll(u, -1)
}

// enough reports whether the ask has its room, and no quota is in its way.
func (t *trim) enough() bool {
	return t.room.Covers(t.hunt.x.Shape().Vector()) && t.through()
}
