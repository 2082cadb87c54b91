package reservation

import (
	"maps"
	"math"
	"slices"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/objects"
)

// Search ends the reservations that are of no use any more, and makes those that are possible (RES-2 to RES-4). The
// caller must have nothing left to decide. changed: there were some, and asks may be feasible now. Before
// nextSearch it does nothing.
func (eng *Engine) Search(now time.Time) (changed bool) {
	if !eng.part.Reservations().Settings().Enabled || now.Before(eng.nextSearch) {
		return false
	}
	eng.nextEligible = time.Time{}
	eng.changes.mayChange = false
	eng.visitedNodes = 0
	changed = eng.endUseless()
	maps.DeleteFunc(eng.refusedUntil, func(_ *objects.Allocation, until time.Time) bool { return !now.Before(until) })
	if eng.reserveForGang(now) {
		changed = true
	}
	objects.RequeueUnfitting(eng.part)
	free, refusals := min(eng.free(), maxReservations), 0
	candidates, visited := eng.candidates(now, free)
	defer func() {
		spent := time.Duration(visited)*intervalPerGroup + time.Duration(eng.visitedNodes)*intervalPerNode
		eng.nextSearch = now.Add(max(interval, spent))
	}()
	for _, x := range candidates {
		unbound := x.Ask().RequiredNode() == ""
		if unbound && free <= 0 {
			continue
		}
		n, refused := eng.nodeFor(x)
		switch {
		case n != nil:
			eng.part.Reservations().Reserve(x, n, now)
			eng.ReportEnded()
			eng.host.OnReserved(x, n)
			changed = true
			if unbound {
				free--
			}
		case refused:
			eng.refuseUntil(x, now.Add(refusalRetry))
			refusals++
			if refusals == maxRefusals {
				eng.eligibleAt(now) // the others are examined by the next search
				return changed
			}
		}
	}
	return changed
}

// eligibleAt records that an ask may reserve from a time on.
func (eng *Engine) eligibleAt(t time.Time) {
	if eng.nextEligible.IsZero() || t.Before(eng.nextEligible) {
		eng.nextEligible = t
	}
}

// endUseless ends the reservations that cannot help any more. any: there were some.
func (eng *Engine) endUseless() (any bool) {
	for _, x := range slices.Clone(eng.part.Reservations().Asks()) {
		switch {
		case eng.part.Reservations().Together(x):
			continue // see reserveForGang
		case !x.MayBePlacedWithinCapacity():
			eng.part.Reservations().Clear(x, objects.ReservationBlocked)
		case !eng.part.Reservations().Of(x).HoldsWithoutAllocations(x):
			eng.part.Reservations().Clear(x, objects.ReservationNodeLost)
		default:
			continue
		}
		any = true
	}
	eng.ReportEnded()
	return any
}

// free returns how many more asks that require no node may have a reservation. It is negative if nodes were removed.
func (eng *Engine) free() int {
	nodes := objects.NodeCount(eng.part)
	free := max(1, nodes*eng.part.Reservations().Settings().NodePercent/100)
	for _, x := range eng.part.Reservations().Asks() {
		if x.Ask().RequiredNode() == "" && !eng.part.Reservations().Together(x) {
			free--
		}
	}
	return free
}

// nodeFor returns the best covering node that the RM accepts for x; nil: none. refused: the RM has refused one.
func (eng *Engine) nodeFor(x *objects.Allocation) (n *objects.Node, refused bool) {
	var except []*objects.Node
	for len(except) < maxRefusals {
		n = eng.bestCovering(x, except)
		if n == nil || eng.accepts(x, n) {
			return n, len(except) > 0
		}
		except = append(except, n)
	}
	return nil, true
}

// accepts reports whether other allocations leave n to x now, and the RM accepts it.
func (eng *Engine) accepts(x *objects.Allocation, n *objects.Node) bool {
	if !eng.host.Allows(x, n, nil) {
		return false
	}
	switch o := eng.oracle; {
	case o == nil:
		return true
	case o.FitsWhenFree == nil:
		return o.Fits(x.Key(), n.ID())
	}
	return eng.oracle.FitsWhenFree(x.Key(), n.ID())
}

// bestCovering returns the node that x may reserve on which it lacks the least: the one with the smallest dominant
// share of what is missing and, of several, the first by ID (RES-3). The nodes in except are left out. nil: there is
// none.
func (eng *Engine) bestCovering(x *objects.Allocation, except []*objects.Node) (best *objects.Node) {
	if id := x.Ask().RequiredNode(); id != "" {
		if n, ok := eng.part.Node(id); ok && n.MayReserve(x) && !slices.Contains(except, n) {
			return n
		}
		return nil
	}
	if eng.backfills() {
		return eng.earliest(x, except)
	}
	least := math.Inf(1)
	for n := range eng.part.EachNode {
		eng.visitedNodes++
		// Few nodes lack no more than the best one until now, so the rest is examined for few.
		share, more := n.MissingShare(x.Shape(), nil, least)
		if more || share == least && best != nil && n.ID() > best.ID() {
			continue
		}
		if n.MayReserve(x) && !slices.Contains(except, n) {
			best, least = n, share
		}
	}
	return best
}

// earliest is bestCovering with backfill: the node on which x fits at the earliest, if everything there ends as late as
// it may, then by lack (RES-19).
func (eng *Engine) earliest(x *objects.Allocation, except []*objects.Node) *objects.Node {
	best := nodeLack{}
	for n := range eng.part.EachNode {
		eng.visitedNodes += endsVisits
		if !n.MayReserve(x) || slices.Contains(except, n) {
			continue
		}
		on := lackOf(n, x.Shape(), nil)
		on.when = eng.fitOn(n, slices.Clone(x.Shape().Vector()), func(y *objects.Allocation) bool { return y == x })
		if best.node == nil || on.before(&best) {
			best = on
		}
	}
	return best.node
}

// mayReserveAny reports whether there is a node that x may reserve. For most asks one of the first nodes is one, so it
// costs less than bestCovering. Only a search without a result counts as visits: nodes come in no order, and the time
// of the next search must not depend on it.
func (eng *Engine) mayReserveAny(x *objects.Allocation) bool {
	if x.Ask().RequiredNode() != "" {
		return eng.bestCovering(x, nil) != nil
	}
	for n := range eng.part.EachNode {
		if n.MayReserve(x) {
			return true
		}
	}
	eng.visitedNodes += objects.NodeCount(eng.part)
	return false
}
