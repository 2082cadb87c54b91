package objects

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// Backfilled allocations use what a node holds for reservations (RES-12). They are so until they end, or until the node
// has no reservation any more.

// FreeBesideReservations sets free to what n has for asks that may use what it holds for reservations, and returns it:
// what is available, less what is held for nominated asks and for asks that replace placeholders.
func (n *Node) FreeBesideReservations(free resources.Vector) resources.Vector {
	return n.freeWithoutHeld(free, func(*Allocation) bool { return true })
}

// PlaceBackfilled binds x to n, where it may use what is held for reservations. The error says which quota or limit
// blocks it, or ErrDoesNotFit; then nothing has changed.
func PlaceBackfilled(p *Partition, x *Allocation, n *Node, now time.Time) error {
	if !n.Accepts(x.shape) || !n.FreeBesideReservations(nil).Covers(x.shape.Vector()) {
		return fmt.Errorf("backfill %s on %s: %w", x.Key(), n.ID(), ErrDoesNotFit)
	}
	if c, blocked := x.app.Constraints().FirstBlocking(x.shape); blocked {
		return fmt.Errorf("backfill %s on %s: %s: %w", x.Key(), n.ID(), c, ErrOverLimit)
	}
	p.bindAndReindex(x, n, now)
	if p.marks.backfilled == nil {
		p.marks.backfilled = map[*Allocation]struct{}{}
	}
	p.marks.backfilled[x] = struct{}{}
	NoteChanged(p, x)
	return nil
}

// Backfilled reports whether x uses what its node holds for reservations.
func Backfilled(p *Partition, x *Allocation) bool {
	if len(p.marks.backfilled) == 0 {
		return false
	}
	_, is := p.marks.backfilled[x]
	return is
}

// AnyBackfilled reports whether there is a backfilled allocation.
func AnyBackfilled(p *Partition) bool { return len(p.marks.backfilled) > 0 }

// BackfilledOn returns the backfilled allocations of n, the last bound first, and then by key.
func BackfilledOn(p *Partition, n *Node) (all []*Allocation) {
	if len(p.marks.backfilled) == 0 {
		return nil
	}
	for x := range n.EachAllocation {
		if Backfilled(p, x) {
			all = append(all, x)
		}
	}
	slices.SortFunc(all, func(x, y *Allocation) int {
		return cmp.Or(y.BoundAt().Compare(x.BoundAt()), cmp.Compare(x.Key(), y.Key()))
	})
	return all
}

// reservationsEnded makes the backfilled allocations of n ordinary ones, if n has no reservation.
func reservationsEnded(p *Partition, n *Node) {
	if len(n.extra.reserved) > 0 || len(p.marks.backfilled) == 0 {
		return
	}
	for _, x := range BackfilledOn(p, n) {
		delete(p.marks.backfilled, x)
		NoteChanged(p, x)
	}
}
