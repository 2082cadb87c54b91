package preemption

import (
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// trim finds who has to leave one node.
type trim struct {
	hunt  *hunt
	walls []wall

	room     resources.Vector // scratch, like the next two
	may, off []*objects.Allocation
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
// gone, those first that should stay longest. The victims are good until the next call.
func (t *trim) onNode(n *objects.Node) (Plan, bool) {
	h := t.hunt
	t.room, t.may = n.RoomOnceLeft(t.room, h.x), t.may[:0]
	for i := range t.walls {
		clear(t.walls[i].gone)
	}
	for y := range n.EachWork {
		if h.law(y) == MayBeTaken {
			t.may = append(t.may, y)
			t.takeOff(y)
		}
	}
	if len(t.may) == 0 && !n.Disturbed() || !t.enough() {
		return Plan{}, false
	}
	byImportance(t.may, h.right)
	t.off = t.off[:0]
	for _, y := range slices.Backward(t.may) { // who matters least first: a guarantee may spare the rest
		if h.spared(y, t.off) {
			t.putBack(y)
		} else {
			t.off = append(t.off, y)
		}
	}
	if !t.enough() {
		return Plan{}, false
	}
	slices.Reverse(t.off)
	t.off = slices.DeleteFunc(t.off, t.needNotGo)
	return Plan{Ask: h.x, Right: h.right, Node: n, Victims: t.off}, true
}

// needNotGo puts y back, if there is enough without it.
func (t *trim) needNotGo(y *objects.Allocation) bool {
	t.putBack(y)
	if t.enough() {
		return true
	}
	t.takeOff(y)
	return false
}

func (t *trim) takeOff(y *objects.Allocation) {
	t.room.Add(y.Shape().Vector())
	for i := range t.walls {
		if w := &t.walls[i]; w.Counts(y) {
			w.gone.Add(y.Shape().Vector())
		}
	}
}

func (t *trim) putBack(y *objects.Allocation) {
	t.room.Sub(y.Shape().Vector())
	for i := range t.walls {
		if w := &t.walls[i]; w.Counts(y) {
			w.gone.Sub(y.Shape().Vector())
		}
	}
}

// enough reports whether the ask has its room, and no quota is in its way.
func (t *trim) enough() bool {
	if !t.room.Covers(t.hunt.x.Shape().Vector()) {
		return false
	}
	for i := range t.walls {
		if w := &t.walls[i]; !w.gone.Covers(w.Missing) {
			return false
		}
	}
	return true
}
