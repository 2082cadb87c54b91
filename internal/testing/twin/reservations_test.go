package twin

import (
	"slices"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// Reservations (RES-1 to RES-9). What is stored is which asks have reserved which nodes, when reservations may be made
// again, and which asks the RM has refused.

const (
	reservationInterval     = time.Second
	reservationRefusalRetry = 30 * time.Second
	reservationRefusals     = 8
	reservationsPerSearch   = 16
)

// reservedOn returns the pending asks that have reserved a node.
func (t *Twin) reservedOn(id objects.NodeID) []*allocation {
	return filter(t.reserving, func(w *allocation) bool {
		return w.reserved == id && w.node == "" && slices.Contains(t.allocations, w)
	})
}

func (t *Twin) unreserve(w *allocation) {
	t.gangsRefused = nil
	if w.together {
		for _, x := range t.reservedTogether() {
			x.together = false
			t.unreserve(x)
		}
	}
	w.reserved, w.reservedAt = "", time.Time{}
	t.reserving = slices.DeleteFunc(t.reserving, func(x *allocation) bool { return x == w })
	for _, y := range t.allocations {
		y.backfilled = y.backfilled && slices.ContainsFunc(t.reserving,
			func(x *allocation) bool { return x.reserved == y.node })
	}
}

// dropReservations ends the reservations of asks that are not pending or wait for placeholders, and of nodes that
// cannot take them.
func (t *Twin) dropReservations() {
	for _, w := range slices.Clone(t.reserving) {
		n := t.node(w.reserved)
		if !slices.Contains(t.allocations, w) || w.node != "" || t.heldBack(w) != w.together || n == nil ||
			!n.admits(w.ask) || !n.total.Covers(w.ask.Amounts) {
			t.unreserve(w)
		}
	}
}

// expireReservations ends the reservations that have lasted too long.
func (t *Twin) expireReservations() {
	for _, w := range slices.Clone(t.reserving) {
		if w.reserved == "" { // it has ended with its gang
			continue
		}
		if !t.reservation.Enabled || !t.now.Before(w.reservedAt.Add(t.reservation.Timeout)) && !t.backfillKeeps(w) {
			t.unreserve(w)
		}
	}
}

// bindableReservation returns the first ask with a reservation that can be bound, to its node or to another. The node
// of a member of a gang is empty: all have their turn.
func (t *Twin) bindableReservation() (*allocation, objects.NodeID) {
	c := t.total()
	for _, w := range t.inSelectionOrder(c, t.reserving) {
		if w.together {
			if w == t.inSelectionOrder(c, t.reservedTogether())[0] && t.gangFitsReserved(c) {
				if t.gangAccepted() {
					return w, ""
				}
				t.refuseReservation(t.gangRefused())
				t.unreserve(w)
				return t.bindableReservation()
			}
			continue
		}
		if _, limited := t.limitObstacle(c, w); limited || !t.withinQuota(c, w) || !t.applicationMayStart(c, w) {
			continue
		}
		if own := t.node(w.reserved); t.fitsReservedNode(c, w, own) {
			if t.predicatesPass(own, w.ask) {
				return w, own.id
			}
			t.unreserve(w)
			return t.bindableReservation()
		}
		for _, n := range t.inPreferenceOrder(t.nodesInOrder(c), w.ask, nil) {
			if c.fits(n, w.ask) && t.predicatesPass(n, w.ask) {
				return w, n.id
			}
		}
	}
	return nil, ""
}

// fitsReservedNode reports whether w fits the node that it has reserved, beside all nominated asks and replacements.
func (t *Twin) fitsReservedNode(c *totals, w *allocation, n *node) bool {
	free := c.available(n).Sub(c.nominatedOnNode[n.id])
	for _, x := range t.reservedOn(n.id) {
		free = free.Add(x.ask.Amounts)
	}
	return n.admits(w.ask) && free.Covers(w.ask.Amounts)
}

// inSelectionOrder sorts asks as they would be placed.
func (t *Twin) inSelectionOrder(c *totals, asks []*allocation) (sorted []*allocation) {
	for _, q := range t.leavesInOrder(c, t.root) {
		for _, a := range t.allAppsInOrder(c, q) {
			own := filter(asks, func(w *allocation) bool { return w.ask.App == a.id })
			slices.SortFunc(own, t.compareAsks)
			sorted = append(sorted, own...)
		}
	}
	return sorted
}

// reserve ends the reservations that cannot help, and makes those that are possible.
func (t *Twin) reserve() (changed bool) {
	if !t.reservation.Enabled || t.now.Before(t.nextReservations) {
		return false
	}
	t.nextReservations = t.now.Add(reservationInterval)
	for _, w := range t.uselessReservations() {
		t.unreserve(w)
		changed = true
	}
	for key, until := range t.reservationRefused {
		if !t.now.Before(until) {
			delete(t.reservationRefused, key)
		}
	}
	changed = t.reserveForGang() || changed
	free, refusals := min(t.freeReservations(), reservationsPerSearch), 0
	for _, w := range t.reservationCandidates(free) {
		unbound := w.ask.RequiredNode() == ""
		if unbound && free <= 0 {
			continue
		}
		nodes := t.reservableNodes(t.total(), w)
		n := find(nodes[:min(len(nodes), reservationRefusals)], func(n *node) bool { return t.predicatesPass(n, w.ask) })
		switch {
		case n != nil:
			for _, x := range t.reservedOn(n.id) {
				if x.ask.RequiredNode() == "" {
					t.unreserve(x)
				}
			}
			w.reserved, w.reservedAt = n.id, t.now
			t.reserving = append(t.reserving, w)
			changed = true
			free -= boolToInt(unbound)
		case len(nodes) > 0:
			t.reservationRefused[w.ask.Key] = t.now.Add(reservationRefusalRetry)
			refusals++
			if refusals == reservationRefusals {
				return changed
			}
		}
	}
	return changed
}

// freeReservations returns how many more asks may reserve, those that require a node excepted.
func (t *Twin) freeReservations() int {
	unbound := filter(t.reserving, func(w *allocation) bool { return w.ask.RequiredNode() == "" && !w.together })
	return max(1, len(t.nodes)*t.reservation.NodePercent/100) - len(unbound)
}

// uselessReservations returns the asks with a useless reservation: a quota blocks the ask, or its node would be too
// small without its allocations.
func (t *Twin) uselessReservations() []*allocation {
	c := t.total()
	return filter(t.reserving, func(w *allocation) bool {
		return !w.together && !t.withinQuotaOfQueues(c, w) || !w.together && !t.applicationMayStart(c, w) || !w.together &&
			!t.holdsWithoutAllocations(c, t.node(w.reserved), w)
	})
}

// reservationCandidates returns the first asks that may reserve, and all of those that require a node.
func (t *Twin) reservationCandidates(free int) (candidates []*allocation) {
	most := free + reservationRefusals
	if free <= 0 {
		most = 0
	}
	for _, w := range t.inSelectionOrder(t.total(), t.mayReserve()) {
		if _, refused := t.reservationRefused[w.ask.Key]; refused || t.now.Before(t.reservableAt(w)) {
			continue
		}
		if w.ask.RequiredNode() == "" {
			if most <= 0 {
				continue
			}
			most--
		}
		candidates = append(candidates, w)
	}
	return candidates
}

// reservableAt returns the time from which w is old enough.
func (t *Twin) reservableAt(w *allocation) time.Time {
	if w.ask.RequiredNode() != "" {
		return w.created
	}
	return w.created.Add(t.reservation.Delay)
}

// mayReserve returns the asks that may reserve, apart from their age and what the RM refused.
func (t *Twin) mayReserve() []*allocation {
	c := t.total()
	return filter(t.allocations, func(w *allocation) bool {
		return w.node == "" && w.nominated == "" && w.reserved == "" && !t.heldBack(w) && t.replaces(w) == nil &&
			t.withinQuotaOfQueues(c, w) && t.applicationMayStart(c, w) &&
			find(t.nodes, func(n *node) bool { return c.fits(n, w.ask) }) == nil && len(t.reservableNodes(c, w)) > 0
	})
}

// withinQuotaOfQueues checks limits and the max of every queue, and not the capacity of the cluster.
func (t *Twin) withinQuotaOfQueues(c *totals, w *allocation) bool {
	_, limited := t.limitObstacle(c, w)
	for _, q := range t.pathQueues(t.app(w.ask.App).leaf)[1:] {
		limited = limited || !q.max().Headroom(c.allocated[q.path]).Allows(w.ask.Amounts)
	}
	return !limited
}

// reservableNodes returns the nodes that w may reserve, the best first: the smallest part of a resource is missing.
func (t *Twin) reservableNodes(c *totals, w *allocation) []*node {
	nodes := filter(t.nodes, func(n *node) bool {
		unheld := w.ask.RequiredNode() != "" || len(t.reservedOn(n.id)) == 0 && !t.heldOn(n.id)
		return unheld && n.admits(w.ask) && t.holdsWithoutAllocations(c, n, w)
	})
	missing := func(n *node) (most float64) {
		for name, wanted := range w.ask.Amounts.All() {
			if lack := resources.SubSaturated(wanted, c.available(n).Get(name)); wanted > 0 && lack > 0 {
				most = max(most, float64(lack)/float64(n.total.Get(name)))
			}
		}
		return most
	}
	slices.SortFunc(nodes, func(a, b *node) int {
		if t.backfills() {
			when := func(n *node) time.Time {
				return t.latestOn(c, w.ask.Amounts, n.id, func(x *allocation) bool { return x == w })
			}
			if earlier := when(a).Compare(when(b)); earlier != 0 {
				return earlier
			}
		}
		switch x, y := missing(a), missing(b); {
		case x < y || x == y && a.id < b.id:
			return -1
		}
		return 1
	})
	return nodes
}

// heldOn reports whether resources of a node are held for nominated asks or replacements.
func (t *Twin) heldOn(id objects.NodeID) bool {
	return slices.ContainsFunc(t.nominees, func(w *allocation) bool { return w.nominated == id }) ||
		slices.ContainsFunc(t.allocations,
			func(y *allocation) bool { return y.replacedBy != nil && y.replacedOn == id && y.node != id })
}

func (t *Twin) holdsWithoutAllocations(c *totals, n *node, w *allocation) bool {
	return n.total.Sub(c.foreignOnNode[n.id]).Covers(w.ask.Amounts)
}

// reservationTimes returns the times at which reservations end or may be made, although nothing happens.
func (t *Twin) reservationTimes() (times []time.Time) {
	if !t.reservation.Enabled {
		return nil
	}
	for _, w := range t.reserving {
		times = append(times, w.reservedAt.Add(t.reservation.Timeout))
	}
	if slices.ContainsFunc(times, func(at time.Time) bool { return !at.After(t.now) }) && !t.backfills() {
		times = nil // the next Schedule ends it
	}
	search := t.nextReservations.After(t.now) // else the next Schedule does
	if search && len(t.uselessReservations()) > 0 {
		times = append(times, t.nextReservations)
	}
	if search {
		times = append(times, t.gangReservationTimes()...)
	}
	full := t.freeReservations() <= 0
	for _, w := range t.mayReserve() {
		if !search {
			break
		}
		if full && w.ask.RequiredNode() == "" {
			continue
		}
		at := t.nextReservations
		for _, other := range []time.Time{t.reservableAt(w), t.reservationRefused[w.ask.Key]} {
			if other.After(at) {
				at = other
			}
		}
		times = append(times, at)
	}
	return slices.DeleteFunc(times, func(at time.Time) bool { return !at.After(t.now) })
}

// preemptableOn returns what w may use of n besides victims: availableFor less the reservations of asks with a higher
// priority.
func (t *Twin) preemptableOn(c *totals, w *allocation, n *node) resources.Amounts {
	free := t.availableFor(c, w, n)
	for _, other := range t.reservedOn(n.id) {
		if other.ask.Priority > w.ask.Priority {
			free = free.Sub(other.ask.Amounts)
		}
	}
	return free
}
