package scheduler

import (
	"time"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/reservation"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// reservationHost is a Core as the reservation engine sees it: it answers what scheduling knows, and makes effects of
// what the engine does.
type reservationHost struct{ nodeHost }

// FeasibleNode implements reservation.Host.
func (h reservationHost) FeasibleNode(x *objects.Allocation, now time.Time) *objects.Node {
	return h.c.feasibleNodeOf(x, now)
}

// FitAt implements reservation.Host.
func (h reservationHost) FitAt(members []objects.MemberNode) (at time.Time, known bool) {
	return h.c.runTimes.FitAt(members)
}

// FitOn implements reservation.Host.
func (h reservationHost) FitOn(n *objects.Node, requested resources.Vector,
	own func(*objects.Allocation) bool) (at time.Time, known bool) {
	return h.c.runTimes.FitOn(n, requested, own)
}

// OnReserved implements reservation.Host.
func (h reservationHost) OnReserved(x *objects.Allocation, n *objects.Node) {
	h.c.emit(Event{Kind: EventReserved}.about(x, n.ID()))
}

// OnReservationEnd implements reservation.Host.
func (h reservationHost) OnReservationEnd(e reservation.EndedReservation) {
	h.c.emit(Event{Kind: EventReservationEnded, Since: e.Since, ReservationEnd: e.End}.about(e.Ask, e.Node.ID()))
}

// OnMoved implements reservation.Host.
func (h reservationHost) OnMoved(a *objects.Application, members []objects.MemberNode) {
	e := Event{Kind: EventReservationsMoved, Subject: AllocationRef{App: a.ID(), Queue: a.Queue().Path()}}
	for _, m := range members {
		e.Moved = append(e.Moved, MovedReservation{m.Ask.Key(), m.Node.ID()})
	}
	h.c.emit(e)
}
