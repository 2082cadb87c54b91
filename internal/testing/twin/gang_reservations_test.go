package twin

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// Reservations of the members of a gang together (RES-11).

// reservedTogether returns the asks that have reserved nodes together, in the order of their reservations.
func (t *Twin) reservedTogether() []*allocation {
	return filter(t.reserving, func(w *allocation) bool { return w.together })
}

// reserveForGang makes or changes the reservations of one gang.
func (t *Twin) reserveForGang() (changed bool) {
	if held := t.reservedTogether(); len(held) > 0 {
		a := t.app(held[0].ask.App)
		nodes, refused := t.gangNodes(a)
		if nodes != nil {
			return t.gangMoves(a, nodes) && t.reserveTogether(a, nodes)
		}
		t.refuseReservation(refused)
		t.unreserve(held[0])
		changed = true
	}
	for _, a := range t.waitingGangs() {
		if t.now.Before(t.gangMayReserveFrom(a)) {
			continue
		}
		nodes, refused := t.gangNodes(a)
		if nodes != nil {
			return t.reserveTogether(a, nodes) || changed
		}
		t.refuseReservation(refused)
	}
	return changed
}

// waitingGangs returns the applications with enough members that wait for each other, in order. One whose task group
// requires a topology domain reserves no nodes (GAN-33).
func (t *Twin) waitingGangs() (apps []*app) {
	c := t.total()
	for _, q := range t.leavesInOrder(c, t.root) {
		for _, a := range t.allAppsInOrder(c, q) {
			if _, incomplete := t.members(c, a); a.waits && !incomplete && !requiresTopology(a) {
				apps = append(apps, a)
			}
		}
	}
	return apps
}

// gangMayReserveFrom returns the time from which all members of a are old enough, and none was refused recently.
func (t *Twin) gangMayReserveFrom(a *app) (at time.Time) {
	members, _ := t.members(t.total(), a)
	for _, w := range members {
		for _, from := range []time.Time{w.created.Add(t.reservation.Delay), t.reservationRefused[w.ask.Key]} {
			if from.After(at) {
				at = from
			}
		}
	}
	return at
}

// refuseReservation keeps an ask from reserving nodes for a time; nil: none.
func (t *Twin) refuseReservation(w *allocation) {
	if w != nil {
		t.reservationRefused[w.ask.Key] = t.now.Add(reservationRefusalRetry)
	}
}

// gangNodes returns the nodes that the members of a may reserve, each the one on which it lacks the least of those that
// the RM accepts; nil: there are not enough, or something else blocks them. refused is the first member that the RM
// refuses.
func (t *Twin) gangNodes(a *app) (on []objects.NodeID, refused *allocation) {
	c := t.total()
	members, _ := t.members(c, a)
	if t.quotaBlocksTogether(a, members, false, resources.Amounts{}) || !t.applicationMayStart(c, members[0]) {
		return nil, nil
	}
	used := map[objects.NodeID]resources.Amounts{}
	for _, w := range members {
		nodes := filter(t.nodes, func(n *node) bool {
			others := slices.ContainsFunc(t.reservedOn(n.id),
				func(x *allocation) bool { return !x.together || x.ask.App != a.id })
			return !others && !t.heldOn(n.id) && n.admits(w.ask) &&
				n.total.Sub(c.foreignOnNode[n.id]).Sub(used[n.id]).Covers(w.ask.Amounts)
		})
		slices.SortFunc(nodes, func(x, y *node) int {
			earlier := 0
			if t.backfills() {
				when := func(n *node) time.Time {
					return t.latestOn(c, used[n.id].Add(w.ask.Amounts), n.id,
						func(x *allocation) bool { return x.ask.App == a.id })
				}
				earlier = when(x).Compare(when(y))
			}
			return cmp.Or(earlier, cmp.Compare(lackOn(x, c.available(x).Sub(used[x.id]), w.ask),
				lackOn(y, c.available(y).Sub(used[y.id]), w.ask)), cmp.Compare(x.id, y.id))
		})
		best := find(nodes[:min(len(nodes), reservationRefusals)], func(n *node) bool { return t.predicatesPass(n, w.ask) })
		switch {
		case best == nil && len(nodes) > 0:
			return nil, w
		case best == nil:
			return nil, nil
		}
		used[best.id] = used[best.id].Add(w.ask.Amounts)
		on = append(on, best.id)
	}
	return on, nil
}

// gangMoves reports whether the gang of a has not reserved nodes for all members, cannot keep them, or lacks at most a
// quarter on others.
func (t *Twin) gangMoves(a *app, on []objects.NodeID) bool {
	c := t.total()
	members, _ := t.members(c, a)
	var own []objects.NodeID
	for i, w := range members {
		if w.reserved == "" || w.reserved != on[i] && !t.predicatesPass(t.node(w.reserved), w.ask) {
			return true
		}
		own = append(own, w.reserved)
	}
	lack := t.gangLack(c, members, own)
	if t.backfills() && !math.IsInf(lack, 1) {
		at, known := t.latest(c, placements{members, own})
		then, knownThen := t.latest(c, placements{members, on})
		wait := func(until time.Time) time.Duration { return max(0, until.Sub(t.now)) }
		return knownThen && (!known || then.Before(at) && wait(then) <= wait(at)/2)
	}
	return math.IsInf(lack, 1) || lack > 0 && t.gangLack(c, members, on) <= lack/4
}

// gangLack returns the most that members lack on a node; infinite: a node is too small for them.
func (t *Twin) gangLack(c *totals, members []*allocation, on []objects.NodeID) (most float64) {
	used := map[objects.NodeID]resources.Amounts{}
	for i, w := range members {
		n := t.node(on[i])
		if !n.admits(w.ask) || !n.total.Sub(c.foreignOnNode[n.id]).Sub(used[n.id]).Covers(w.ask.Amounts) {
			return math.Inf(1)
		}
		most = max(most, lackOn(n, c.available(n).Sub(used[n.id]), w.ask))
		used[n.id] = used[n.id].Add(w.ask.Amounts)
	}
	return most
}

// lackOn returns the largest part of the capacity of a resource that an ask lacks.
func lackOn(n *node, free resources.Amounts, ask *objects.Ask) (most float64) {
	for name, wanted := range ask.Amounts.All() {
		if lack := resources.SubSaturated(wanted, free.Get(name)); wanted > 0 && lack > 0 {
			most = max(most, float64(lack)/float64(n.total.Get(name)))
		}
	}
	return most
}

func (t *Twin) reserveTogether(a *app, on []objects.NodeID) (changed bool) {
	members, _ := t.members(t.total(), a)
	for _, w := range t.reservedTogether() {
		if i := slices.Index(members, w); i < 0 || on[i] != w.reserved {
			w.together = false
			t.unreserve(w)
		}
	}
	for i, w := range members {
		if w.reserved == "" {
			w.reserved, w.reservedAt, w.together = on[i], t.now, true
			t.reserving = append(t.reserving, w)
			changed = true
		}
	}
	return changed
}

// gangFitsReserved reports whether the members of the gang can be placed on their nodes together.
func (t *Twin) gangFitsReserved(c *totals) bool {
	members := t.byShape(c, t.reservedTogether())
	a := t.app(members[0].ask.App)
	if !t.applicationMayStart(c, members[0]) || t.quotaBlocksTogether(a, members, true, resources.Amounts{}) {
		return false
	}
	for _, n := range t.nodes {
		var wanted resources.Amounts
		free := c.available(n).Sub(c.nominatedOnNode[n.id])
		for _, x := range t.reservedOn(n.id) {
			free = free.Add(x.ask.Amounts)
			if x.together {
				wanted = wanted.Add(x.ask.Amounts)
			}
		}
		if !wanted.IsZero() && !free.Covers(wanted) {
			return false
		}
	}
	return true
}

// gangRefused returns the first member of the gang that the RM refuses on its node; nil: none.
func (t *Twin) gangRefused() *allocation {
	return find(t.byShape(t.total(), t.reservedTogether()),
		func(w *allocation) bool { return !t.predicatesPass(t.node(w.reserved), w.ask) })
}

func (t *Twin) gangAccepted() bool {
	return t.gangRefused() == nil
}

// gangReservationTimes returns the time at which the next search changes the reservations of a gang, if it does.
func (t *Twin) gangReservationTimes() (times []time.Time) {
	if held := t.reservedTogether(); len(held) > 0 {
		a := t.app(held[0].ask.App)
		if on, _ := t.gangNodes(a); on == nil || t.gangMoves(a, on) {
			return append(times, t.nextReservations)
		}
		return nil
	}
	for _, a := range t.waitingGangs() {
		if on, refused := t.gangNodes(a); on != nil || refused != nil {
			if at := t.gangMayReserveFrom(a); at.After(t.nextReservations) {
				times = append(times, at)
			} else {
				times = append(times, t.nextReservations)
			}
		}
	}
	return times
}
