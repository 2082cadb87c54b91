package objects

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/feasibility"
	"github.com/canopy-scheduler/canopy/pkg/policies"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// Reservations: a pending ask that fits no node reserves one that it would fit if allocations on it ended. Its
// resources are held there against other asks, as those of a nominated ask, and count in no queue (RES-5). A node has
// the reservation of one ask, or those of any number of asks that require it. A nomination goes before reservations:
// its ask has had victims.

// reservations are the reservations of a partition.
type reservations struct {
	byAsk map[*Allocation]reservation
	asks  []*Allocation                  // the asks, oldest reservation first
	byApp map[*Application][]*Allocation // the same by application, oldest first
	gang  *Application                   // whose members have reserved nodes together (RES-11); nil: none
	// Invariant: gang has at least one such reservation.
}

// reservation is the reserved node of an ask, and when it was reserved.
type reservation struct {
	node     *Node
	at       time.Time
	together bool // of a member of a gang, with those of the other members
}

func newReservations() reservations {
	return reservations{byAsk: map[*Allocation]reservation{}, byApp: map[*Application][]*Allocation{}}
}

// ReservationEnd says why a reservation ended.
type ReservationEnd uint8

// The ends of reservations (RES-6).
const (
	ReservationPlaced    ReservationEnd = iota // the ask was placed, on the node or on another
	ReservationNominated                       // the ask has victims, on the node or on another
	ReservationCancelled                       // the ask was removed
	ReservationResized                         // the ask requests other amounts
	// the node was removed, does not accept the ask any more, or is too small
	ReservationNodeLost
	// another ask needs the node: it requires it, or it preempts there and has at least the priority
	ReservationLost
	ReservationBlocked // a quota, a limit or a gang blocks the ask
	// the node has enough free, and the RM refuses it, or the affinity of allocations does
	ReservationRefused
	ReservationTimedOut     // it lasted for the timeout
	ReservationDisabled     // the configuration has no reservations any more
	ReservationMoved        // the ask is a member of a gang that has reserved clearly better nodes
	ReservationQueueChanged // the application of the ask was moved to another queue (OPS-9)
)

func (e ReservationEnd) String() string {
	return [...]string{
		"placed", "nominated", "cancelled", "resized", "node lost", "lost to another ask", "blocked",
		"refused by the resource manager or by other allocations", "timed out", "disabled", "moved", "application moved",
	}[e]
}

// ReservationLedger is the part of the ledger that is about reservations.
type ReservationLedger struct{ p *Partition }

// Reservations is the part of the ledger that is about reservations.
func (p *Partition) Reservations() ReservationLedger { return ReservationLedger{p} }

// Reserve reserves n for x. An ask that requires n ends the reservations of asks that do not. Requires: x is pending
// and has neither a reservation nor a nomination; MayReserve(x, n).
func (l ReservationLedger) Reserve(x *Allocation, n *Node, now time.Time) {
	l.clearOn(n, ReservationLost, func(y *Allocation) bool { return y.ask.RequiredNode() == "" })
	l.add(x, reservation{node: n, at: now})
}

func (l ReservationLedger) add(x *Allocation, made reservation) {
	r, n := &l.p.marks.reservations, made.node
	r.byAsk[x] = made
	r.asks, r.byApp[x.app] = append(r.asks, x), append(r.byApp[x.app], x)
	c := n.ownExtra()
	c.reserved = append(c.reserved, x)
	c.held.Add(x.shape.Vector())
	n.updateAvailable(&l.p.journal)
	l.p.journal.post(Change{Kind: ReservationAdded, Ask: x, Node: n})
}

// Clear ends the reservation of x, if it has one. Reservations that were made together end together.
func (l ReservationLedger) Clear(x *Allocation, end ReservationEnd) {
	switch {
	case l.Of(x) == nil:
	case l.p.marks.reservations.byAsk[x].together:
		l.ClearTogether(end)
	default:
		l.clear(x, end)
	}
}

func (l ReservationLedger) clear(x *Allocation, end ReservationEnd) {
	r := &l.p.marks.reservations
	n := r.byAsk[x].node
	c, since := n.ownExtra(), r.byAsk[x].at
	delete(r.byAsk, x)
	r.asks, c.reserved = removeAllocationFrom(r.asks, x), removeAllocationFrom(c.reserved, x)
	r.byApp[x.app] = removeAllocationFrom(r.byApp[x.app], x)
	if len(r.byApp[x.app]) == 0 {
		delete(r.byApp, x.app)
	}
	c.held.Sub(x.shape.Vector())
	n.updateAvailable(&l.p.journal)
	l.p.journal.post(Change{Kind: ReservationEnded, Ask: x, Node: n, Since: since, End: end})
	l.p.journal.post(Change{Kind: NodeFreed, Node: n})
	reservationsEnded(l.p, n)
}

// clearOn ends the reservations of n of the asks for which ends returns true.
func (l ReservationLedger) clearOn(n *Node, end ReservationEnd, ends func(*Allocation) bool) {
	clearEach(n.extra.reserved, ends, func(x *Allocation) { l.Clear(x, end) })
}

// clearUnsuitable ends the reservations of n of the asks that it cannot take any more.
func (l ReservationLedger) clearUnsuitable(n *Node) {
	l.clearOn(n, ReservationNodeLost,
		func(x *Allocation) bool { return !n.Accepts(x.shape) || !n.total.Covers(x.shape.Vector()) })
}

// clearFor ends the reservations of n that do not count for x, which preempts there (RES-9).
func (l ReservationLedger) clearFor(x *Allocation, n *Node) {
	l.clearOn(n, ReservationLost, func(y *Allocation) bool { return y.ask.Priority <= x.ask.Priority })
}

// Settings are the settings of reservations.
func (l ReservationLedger) Settings() configs.Reservation { return l.p.conf.Reservation }

// Of is the node that x has reserved; nil: none.
func (l ReservationLedger) Of(x *Allocation) *Node {
	if len(l.p.marks.reservations.asks) == 0 {
		return nil
	}
	return l.p.marks.reservations.byAsk[x].node
}

// Since returns when x reserved its node; the zero time: it has none.
func (l ReservationLedger) Since(x *Allocation) time.Time {
	if len(l.p.marks.reservations.asks) == 0 {
		return time.Time{}
	}
	return l.p.marks.reservations.byAsk[x].at
}

// Asks are the asks with a reservation, the oldest reservation first. Read-only.
func (l ReservationLedger) Asks() []*Allocation { return l.p.marks.reservations.asks }

// AsksOf returns those of an application. Read-only.
func (l ReservationLedger) AsksOf(a *Application) []*Allocation {
	if len(l.p.marks.reservations.asks) == 0 {
		return nil
	}
	return l.p.marks.reservations.byApp[a]
}

// ReservedFor are the asks for which n is reserved, the oldest reservation first. Read-only.
func (n *Node) ReservedFor() []*Allocation { return n.extra.reserved }

// Fits reports whether x fits the node that it has reserved, beside what is held there for nominated asks and
// for asks that replace placeholders. Requires: x has a reservation.
func (l ReservationLedger) Fits(x *Allocation) bool {
	n := l.p.marks.reservations.byAsk[x].node
	if len(n.extra.nominees) == 0 && len(n.extra.replacing) == 0 { // the usual case
		return n.available.Covers(x.shape.Vector())
	}
	return n.freeWithoutHeld(nil, func(*Allocation) bool { return true }).Covers(x.shape.Vector())
}

// MayReserve reports whether x may reserve n: n accepts it, and would have enough without allocations. Unless x
// requires n, nothing of n may be held for another ask.
func (n *Node) MayReserve(x *Allocation) bool {
	return n.Accepts(x.shape) && n.HoldsWithoutAllocations(x) &&
		(x.ask.RequiredNode() != "" || len(n.extra.nominees)+len(n.extra.replacing)+len(n.extra.reserved) == 0)
}

// HoldsWithoutAllocations reports whether n would have enough for x if all of its allocations had ended, foreign ones
// excepted.
func (n *Node) HoldsWithoutAllocations(x *Allocation) bool {
	return n.total.CoversAfter(n.occupied, x.shape.Vector())
}

// MayBePlacedWithinCapacity reports whether no operator, quota, limit or order of its queue keeps x from being placed;
// the capacity of the cluster is not examined.
func (x *Allocation) MayBePlacedWithinCapacity() bool {
	if x.group.Held() || !x.app.MayBeAllocated() {
		return false
	}
	return !x.app.Constraints().BlockedWithinCapacity(x.shape)
}

// MissingShare is the dominant share of what an ask of shape s lacks on n when used is used of n, too: of the resources
// that it requests, the largest part of the capacity that would have to become free. Zero: nothing. more: it is more
// than limit, and share is a lower bound of it.
func (n *Node) MissingShare(s *feasibility.Shape, used resources.Vector, limit float64) (share float64, more bool) {
	for k, requested := range s.Vector() {
		k := resources.Index(k)
		missing := resources.SubSaturated(requested, resources.SubSaturated(n.available.At(k), used.At(k)))
		if requested <= 0 || missing <= 0 {
			continue
		}
		share = max(share, float64(missing)/float64(n.total.At(k)))
		if share > limit {
			return share, true
		}
	}
	return share, false
}

// PendingShapes sets f to the shapes of schedulable asks below q for which the queues below q have headroom.
func (q *Queue) PendingShapes(f *feasibility.Mask) { f.CopyFrom(q.feasibleBelow()) }

// KeepRequiredNodes removes from f the shapes of asks that require no node. Shapes that share a slot with one that does
// may stay.
func (l ReservationLedger) KeepRequiredNodes(f feasibility.Mask) { l.p.shapes.KeepRequiredNodes(f) }

// CompareSelection is negative if x comes before y in selection order, whether or not they can be placed.
func CompareSelection(x, y *Allocation) int {
	if x.app == y.app {
		return policies.CompareAsks(&x.key, &y.key)
	}
	return CompareApplications(x.app, y.app)
}

// clearHeld ends the reservations of the asks of group, if they wait for placeholders: they are placed in
// their places.
func (l ReservationLedger) clearHeld(group *AskGroup) {
	for _, x := range slices.Clone(l.AsksOf(group.app)) {
		if x.group == group && group.Held() {
			l.Clear(x, ReservationBlocked)
		}
	}
}

// Holder is an ask for which something of a node is held.
type Holder struct {
	Node NodeID        `json:"nodeID"`
	Key  AllocationKey `json:"allocationKey"`
	App  AppID         `json:"applicationID"`
}

// HoldersText names at most three holders.
func HoldersText(all []Holder) string {
	const most = 3
	var words []string
	for _, h := range all[:min(most, len(all))] {
		words = append(words, fmt.Sprintf("%s of application %s", h.Key, h.App))
	}
	text := strings.Join(words, ", ")
	if len(all) > most {
		text += " and others"
	}
	return text
}

// HeldFor returns the asks but x for which something of n is held: nominated for it, to replace a placeholder, and with
// a reservation, each kind the oldest first.
func (l ReservationLedger) HeldFor(n *Node, x *Allocation) (out []Holder) {
	for _, y := range slices.Concat(n.extra.nominees, n.extra.replacing, n.extra.reserved) {
		if y != x {
			out = append(out, Holder{n.ID(), y.ask.Key, y.app.ID()})
		}
	}
	return out
}

// FreeFor returns what n has of a resource for x: available less what is held for other asks. It can be negative.
func (l ReservationLedger) FreeFor(x *Allocation, n *Node, k resources.Index) resources.Quantity {
	if l.Of(x) == n || l.p.Nomination(x) == n {
		return resources.SubSaturated(n.Free(k), -x.shape.Vector().At(k))
	}
	return n.Free(k)
}
