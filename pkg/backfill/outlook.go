package backfill

import (
	"slices"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/quota"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// reservation joins the nodes that an ask, or the members of a gang together, have reserved.
type reservation struct {
	members []objects.MemberNode // in the order of their reservations
	// when all members fit at the latest; zero: now. Unless known, nothing says when. Only an outlook sets them.
	fitsAt time.Time
	known  bool
}

// reservedNode is a node with the reservations that hold something of it.
type reservedNode struct {
	node *objects.Node
	free resources.Vector // beside what is held for nominated asks and for replacements
	uses []use
}

// use says what a node has left beside one of its reservations.
type use struct {
	of    *reservation
	spare resources.Vector // of the node once the reservation is used
}

// outlook holds when reservations can be used at the latest, and what may be used until then.
type outlook struct {
	nodes []reservedNode   // the first ones that are looked at, by the age of their reservations
	room  quota.Projection // with all reserved asks placed
	// a reserved ask that other allocations may keep from its node, and so a backfilled one; nil: none
	constrained *objects.Allocation
}

// outlook looks at the reservations of the partition as they are now.
func (eng *Engine) outlook() (o outlook) {
	for _, r := range eng.reservations() {
		r.fitsAt, r.known = eng.runTimes.FitAt(r.members)
		for _, m := range r.members {
			o.room.Add(m.Ask.Application().Quota(), m.Ask.Shape().Vector(), 1)
			if m.Ask.Constrained() {
				o.constrained = m.Ask
			}
			eng.addNode(&o, m.Node, r)
		}
	}
	return o
}

// addNode adds that r holds something of n, unless it is known or beyond the look-ahead.
func (eng *Engine) addNode(o *outlook, n *objects.Node, r *reservation) {
	at := slices.IndexFunc(o.nodes, func(known reservedNode) bool { return known.node == n })
	if at < 0 {
		if len(o.nodes) == eng.part.Reservations().Settings().BackfillNodes {
			return
		}
		at = len(o.nodes)
		o.nodes = append(o.nodes, reservedNode{node: n, free: n.FreeBesideReservations(nil)})
	}
	held := &o.nodes[at]
	if !slices.ContainsFunc(held.uses, func(u use) bool { return u.of == r }) {
		spare := slices.Clone(held.free)
		for _, y := range n.ReservedFor() {
			spare.Sub(y.Shape().Vector())
		}
		spare.Add(eng.runTimes.Outlook(n).FreedBy(r.fitsAt))
		held.uses = append(held.uses, use{r, spare})
	}
}

// reservations returns the reservations, the oldest first; those of a gang are one.
func (eng *Engine) reservations() (all []*reservation) {
	l, gang := eng.part.Reservations(), false
	for _, x := range l.Asks() {
		r := &reservation{members: []objects.MemberNode{{Ask: x, Node: l.Of(x)}}}
		if l.Together(x) {
			if gang {
				continue
			}
			gang, r.members = true, l.MembersTogether()
		}
		all = append(all, r)
	}
	return all
}
