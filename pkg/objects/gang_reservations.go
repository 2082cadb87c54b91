package objects

import (
	"slices"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/feasibility"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// The members of one gang at a time reserve nodes together: all of them, each a node on which others of them may have
// reservations, too. So no two gangs hold resources that the other needs (RES-11).

// MemberNode is a member of a gang, and the node that it reserves.
type MemberNode struct {
	Ask  *Allocation
	Node *Node
}

// Gang is the application whose members have reserved nodes together; nil: none.
func (l ReservationLedger) Gang() *Application { return l.p.marks.reservations.gang }

// Together reports whether x has a reservation that was made together with those of the other members of its gang.
func (l ReservationLedger) Together(x *Allocation) bool {
	r := &l.p.marks.reservations
	return r.gang == x.app && r.byAsk[x].together
}

// MembersTogether returns the members of the gang that has reserved nodes, with these, the oldest reservation first.
func (l ReservationLedger) MembersTogether() (members []MemberNode) {
	for _, x := range l.AsksOf(l.Gang()) {
		if l.Together(x) {
			members = append(members, MemberNode{x, l.Of(x)})
		}
	}
	return members
}

// ReserveTogether reserves nodes for members of the gang of a, and no others: reservations of other members end. made
// are those of members that had none, and moved those of members that had another node. Requires: no other application
// has reserved nodes together; MayReserveTogether; the asks are pending members of a that wait for each other.
func (l ReservationLedger) ReserveTogether(a *Application, members []MemberNode, now time.Time) (made,
	moved []MemberNode) {
	stays := make(map[*Allocation]bool, len(members))
	for _, m := range members {
		stays[m.Ask] = true
	}
	for _, x := range slices.Clone(l.AsksOf(a)) {
		if l.Together(x) && !stays[x] {
			l.clear(x, ReservationBlocked)
		}
	}
	for _, m := range members {
		switch l.Of(m.Ask) {
		case m.Node:
		case nil:
			made = append(made, m)
		default:
			l.clear(m.Ask, ReservationMoved)
			moved = append(moved, m)
		}
	}
	for _, m := range members {
		if l.Of(m.Ask) == nil {
			l.add(m.Ask, reservation{node: m.Node, at: now, together: true})
		}
	}
	l.p.marks.reservations.gang = a
	return made, moved
}

// ClearTogether ends the reservations of the gang that has reserved nodes, if there is one.
func (l ReservationLedger) ClearTogether(end ReservationEnd) {
	for _, x := range slices.Clone(l.AsksOf(l.Gang())) {
		if l.Together(x) {
			l.clear(x, end)
		}
	}
	l.p.marks.reservations.gang = nil
}

// MayReserveTogether reports whether a member of shape s of the gang of a may reserve n, where used is reserved for
// other members: n accepts it, would have enough without allocations, and nothing is held there for other asks.
func (n *Node) MayReserveTogether(a *Application, s *feasibility.Shape, used resources.Vector) bool {
	if len(n.extra.nominees)+len(n.extra.replacing) > 0 {
		return false
	}
	for _, x := range n.extra.reserved {
		if x.app != a || !x.group.WaitsForMembers() {
			return false
		}
	}
	return n.HoldsTogether(s, used)
}

// HoldsTogether reports whether n accepts a member of shape s and would have enough for it without allocations, beside
// used, which is reserved for other members.
func (n *Node) HoldsTogether(s *feasibility.Shape, used resources.Vector) bool {
	taken := append(resources.Vector(nil), n.occupied...)
	taken.Add(used)
	return n.Accepts(s) && n.total.CoversAfter(taken, s.Vector())
}

// FitTogether reports whether the members of the gang that has reserved nodes fit there together, beside what is held
// for nominated asks and for asks that replace placeholders.
func (l ReservationLedger) FitTogether() bool {
	requested := map[*Node]resources.Vector{}
	for _, x := range l.AsksOf(l.Gang()) {
		if l.Together(x) {
			sum := requested[l.Of(x)]
			sum.Add(x.shape.Vector())
			requested[l.Of(x)] = sum
		}
	}
	for n, sum := range requested {
		if !n.freeWithoutHeld(nil, func(*Allocation) bool { return true }).Covers(sum) {
			return false
		}
	}
	return true
}
