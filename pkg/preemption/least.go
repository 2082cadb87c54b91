package preemption

import (
	"cmp"
	"slices"
)

// least finds the plan that onNode finds, without taking off everybody who may be taken: those
// who matter least are taken off until there is enough. Everybody above them would be put back,
// as those below are enough for each of them. sure is false where that need not be so, or where
// somebody wants to know what became of the others: then onNode has to be asked.
func (t *trim) least(l *roll, place int) (plan Plan, found, sure bool) {
	h, c := t.hunt, &l.crews[place]
	if c.grouped || c.covered || h.quality || h.kept != nil {
		return plan, false, false
	}
	t.start(l.nodes[place])
	if c.plain {
		t.room = append(t.room[:0], c.room...)
	} else {
		t.room = t.node.RoomOnceLeft(t.room, h.x)
	}
	if t.enough() {
		return plan, false, false
	}
	t.off, t.victims = t.off[:0], t.victims[:0]
	for _, w := range h.inTurn(c) {
		if !h.takes(l, w) || h.gates[w.leaf].guarded && h.spared(w.y, t.victims) {
			continue
		}
		t.off, t.victims = append(t.off, w.unit()), append(t.victims, w.y)
		t.room.Add(w.shape.Vector())
		if t.lower(w.y, 1); t.enough() {
			if len(t.off) > 1 {
				slices.Reverse(t.off)
				t.putBackWhoMay(nil)
			}
			return t.plan(), true, true
		}
	}
	return plan, false, true
}

// inTurn are the workers of a crew, who matters least first.
func (h *hunt) inTurn(c *crew) []worker {
	switch {
	case h.right == OfPriority, len(c.upTo) <= 1, !c.mixed && !h.compatible():
		return c.inOrder()
	}
	h.turn = append(h.turn[:0], c.workers...)
	slices.SortFunc(h.turn, func(a, b worker) int {
		number := 0
		if !h.compatible() {
			number = cmp.Compare(a.number, b.number)
		}
		if order := cmp.Or(cmp.Compare(a.kind, b.kind), number); order != 0 {
			return order
		}
		return compareAge(&a, &b)
	})
	return h.turn
}

// unit is w alone.
func (w *worker) unit() unit {
	u := unit{lead: w.y, number: w.number, since: w.since, opposed: w.kind&2 != 0, leads: w.kind&1 != 0}
	u.alone[0] = w.y
	return u
}

// takes reports whether no law keeps w. Requires: who accepts no other node and who was told to
// leave is not asked about, and h knows l as it is.
func (h *hunt) takes(l *roll, w worker) bool {
	number := w.number
	if h.isSystem(number) {
		return false
	}
	g := &h.gates[w.leaf]
	if g.look != h.look {
		*g = gateway{gate: h.gate(l.leaves[w.leaf]), look: h.look}
		g.guarded = h.right != OfNode && g.law == MayBeTaken && h.anyGuarantee(l.leaves[w.leaf], g.common)
	}
	if g.law != MayBeTaken {
		return false
	}
	if h.right != OfNode {
		if !g.seen || g.number != number {
			g.seen, g.number, g.exposed = true, number, l.leaves[w.leaf].Expose(number, g.common)
		}
		number = g.exposed
	}
	return !h.isAsImportant(number, &g.gate) && holdsSome(w.shape.Vector(), h.x.Shape().Vector())
}

// gateway is a gate by the number of its leaf, and what was last seen through it.
type gateway struct {
	gate
	look    uint64 // in which it was found out
	guarded bool   // a queue below the gate has a guarantee
	seen    bool
	number  int32 // that was last asked about, if seen
	exposed int32 // as it is seen from the gate
}

// know readies the gates for the leaves of l. What was found out by number of a leaf does not hold any
// more: it may be another's by now.
func (h *hunt) know(l *roll) {
	h.look++
	if n := len(l.leaves) - len(h.gates); n > 0 {
		h.gates = append(h.gates, make([]gateway, n)...)
	}
}
