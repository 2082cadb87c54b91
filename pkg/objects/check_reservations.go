package objects

import (
	"fmt"
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// checkReservations checks that each reservation is of a pending ask and a node that accepts it, and adds what is held
// for it. No reservation outlives its ask, its application or its node (RES-6).
func (c *recount) checkReservations(held map[*Node]resources.Amounts) error {
	r := &c.p.marks.reservations
	if len(r.asks) != len(r.byAsk) {
		return fmt.Errorf("%d asks have reservations, %d are listed", len(r.byAsk), len(r.asks))
	}
	ofApps, onNodes, together := 0, 0, 0
	for _, x := range r.asks {
		n := r.byAsk[x].node
		switch {
		case n == nil || c.p.nodes[n.ID()] != n || !n.Accepts(x.shape) || !n.total.Covers(x.shape.Vector()):
			return fmt.Errorf("%s is listed with a reservation, and has none of a node that can take it", x.Key())
		case !c.knows(x) || !x.Pending() || x.group.Held() != r.byAsk[x].together || c.p.Nomination(x) != nil:
			return fmt.Errorf("%s has reserved node %s, and is no pending ask that could be placed there", x.Key(), n.ID())
		case !slices.Contains(n.extra.reserved, x) || !slices.Contains(r.byApp[x.app], x):
			return fmt.Errorf("node %s or application %s does not list the reservation of %s", n.ID(), x.app.ID(), x.Key())
		case r.byAsk[x].together:
			together++
			if x.app != r.gang || !x.group.WaitsForMembers() {
				return fmt.Errorf("%s has a reservation together with others, and is no member of the gang that has some", x.Key())
			}
		case len(n.extra.reserved) > 1 && x.ask.RequiredNode() == "":
			return fmt.Errorf("node %s is reserved for %s, and for %d other asks", n.ID(), x.Key(), len(n.extra.reserved)-1)
		}
		held[n] = held[n].Add(x.ask.Amounts)
	}
	for a, asks := range r.byApp {
		if r.gang != nil && together != r.gang.membersNeeded() {
			return fmt.Errorf("%d members of application %s have reservations, it needs %d", together, r.gang.ID(),
				r.gang.membersNeeded())
		}
		ofApps += len(asks)
		if c.p.apps[a.ID()] != a || len(asks) == 0 {
			return fmt.Errorf("application %s is listed with %d reservations", a.ID(), len(asks))
		}
	}
	for _, n := range c.p.nodes {
		onNodes += len(n.extra.reserved)
	}
	for x := range c.p.marks.backfilled {
		if !c.knows(x) || x.Pending() || len(x.node.extra.reserved) == 0 {
			return fmt.Errorf("%s is listed as backfilled, and is no allocation of a reserved node", x.Key())
		}
	}
	if ofApps != len(r.asks) || onNodes != len(r.asks) {
		return fmt.Errorf("applications list %d reservations and nodes %d, there are %d", ofApps, onNodes, len(r.asks))
	}
	return nil
}

// membersNeeded returns how many members of a are placed together.
func (a *Application) membersNeeded() int {
	if a.gang.Waits() {
		return a.gang.Live()
	}
	return 0
}
