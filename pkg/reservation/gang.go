package reservation

import (
	"cmp"
	"container/heap"
	"math"
	"slices"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/feasibility"
	"github.com/canopy-scheduler/canopy/pkg/gangscheduling"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// The members of a gang that are placed together reserve nodes together (RES-11): all of them, so that what becomes
// free is held until they fit, or none. Only one gang at a time has reservations, so no two gangs hold resources that
// the other needs.

// reserveForGang makes the reservations of the first gang that may have some, and moves or ends those that there are.
// It reports whether something has changed.
func (eng *Engine) reserveForGang(now time.Time) (changed bool) {
	if a := eng.part.Reservations().Gang(); a != nil {
		plan, end := eng.planTogether(a, now)
		if plan != nil {
			return eng.clearlyBetter(plan, now) && eng.reserveTogether(a, plan, now)
		}
		eng.part.Reservations().ClearTogether(end)
		eng.ReportEnded()
		changed = true
	}
	for _, a := range eng.part.Gangs().Complete() {
		if a.Gang().RequiresTopology() {
			continue // GAN-33
		}
		if at := eng.mayReserveFrom(a); now.Before(at) {
			eng.eligibleAt(at)
			continue
		}
		if plan, _ := eng.planTogether(a, now); plan != nil {
			return eng.reserveTogether(a, plan, now) || changed
		}
	}
	return changed
}

// mayReserveFrom returns the time from which the members that are placed together may reserve: the youngest is as old
// as an ask that reserves must be, and none was refused recently.
func (eng *Engine) mayReserveFrom(a *objects.Application) (at time.Time) {
	for _, g := range gangscheduling.Members(eng.part, a) {
		for _, x := range g.Asks {
			if old := x.Created().Add(eng.part.Reservations().Settings().Delay); old.After(at) {
				at = old
			}
			if until := eng.refusedUntil[x]; until.After(at) {
				at = until
			}
		}
	}
	return at
}

// refuseUntil keeps x, and with it its gang, from reserving a node until a time.
func (eng *Engine) refuseUntil(x *objects.Allocation, until time.Time) {
	eng.refusedUntil[x] = until
	eng.eligibleAt(until)
}

func (eng *Engine) reserveTogether(a *objects.Application, plan []objects.MemberNode, now time.Time) (changed bool) {
	made, moved := eng.part.Reservations().ReserveTogether(a, plan, now)
	eng.ReportEnded()
	for _, m := range made {
		eng.host.OnReserved(m.Ask, m.Node)
	}
	if len(moved) > 0 {
		eng.host.OnMoved(a, moved)
	}
	return len(made)+len(moved) > 0
}

// clearlyBetter reports whether the gang moves to the nodes of plan: a member has none yet, or cannot keep its own, or
// what the gang lacks there is at most a quarter of what it lacks now. A gang waits for the node on which it lacks the
// most, so that node alone counts. Half as much is often the end of one allocation: then gangs moved all the time.
func (eng *Engine) clearlyBetter(plan []objects.MemberNode, now time.Time) bool {
	present := slices.Clone(plan)
	for i, m := range plan {
		present[i].Node = eng.part.Reservations().Of(m.Ask)
		if present[i].Node == nil {
			return true
		}
	}
	lack, held := lackTogether(present)
	less, _ := lackTogether(plan)
	better := lack > 0 && 4*less <= lack
	if eng.backfills() {
		better = eng.fitsEarlier(plan, present, now)
	}
	if !held || better {
		return true
	}
	for i, m := range present {
		if m.Node != plan[i].Node && !eng.accepts(m.Ask, m.Node) {
			return true
		}
	}
	return false
}

// fitsEarlier reports whether a gang that waits for present moves to the nodes of plan with backfill: there it waits at
// most half as long, at the latest (RES-18). Nothing says when it fits if that is not known of both.
func (eng *Engine) fitsEarlier(plan, present []objects.MemberNode, now time.Time) bool {
	at, known := eng.host.FitAt(plan)
	before, knownBefore := eng.host.FitAt(present)
	wait := func(until time.Time) time.Duration { return max(0, until.Sub(now)) }
	return known && (!knownBefore || at.Before(before) && wait(at) <= wait(before)/2)
}

// lackTogether returns the dominant share of what members lack on the node on which they lack the most. held: each node
// would have enough for its members without allocations.
func lackTogether(plan []objects.MemberNode) (most float64, held bool) {
	used := map[*objects.Node]resources.Vector{}
	for _, m := range plan {
		s, sum := m.Ask.Shape(), used[m.Node]
		if !m.Node.HoldsTogether(s, sum) {
			return 0, false
		}
		most = max(most, lackOf(m.Node, s, sum).lack)
		sum.Add(s.Vector())
		used[m.Node] = sum
	}
	return most, true
}

// planTogether finds a node for each of the members of a that are placed together: the one on which it lacks the least
// beside those before it, of those that the RM accepts. nil: a quota or the order of the leaf blocks them, there are
// not enough nodes that would hold them without allocations, or the RM refuses a member; end is which.
func (eng *Engine) planTogether(a *objects.Application, now time.Time) (plan []objects.MemberNode,
	end objects.ReservationEnd) {
	members := gangscheduling.Members(eng.part, a)
	if _, _, _, blocked := gangscheduling.BlockedTogether(a, members); blocked || !a.MayBeAllocated() {
		return nil, objects.ReservationBlocked
	}
	used := map[*objects.Node]resources.Vector{}
	for _, g := range members {
		nodes := eng.nodesByLack(a, g, used)
		for _, x := range g.Asks {
			n, refused := eng.takeNode(nodes, x)
			switch {
			case n == nil && refused:
				eng.refuseUntil(x, now.Add(refusalRetry))
				return nil, objects.ReservationRefused
			case n == nil:
				return nil, objects.ReservationNodeLost
			}
			plan = append(plan, objects.MemberNode{Ask: x, Node: n})
			sum := used[n]
			sum.Add(g.Shape.Vector())
			used[n] = sum
			if n.MayReserveTogether(a, g.Shape, sum) {
				heap.Push(nodes, eng.lackFor(a, n, g.Shape, sum))
			}
		}
	}
	return plan, 0
}

// takeNode takes the node with the least lack that the RM accepts for x out of the heap; nil: there is none among the
// first maxRefusals. refused: the RM has refused one.
func (eng *Engine) takeNode(nodes *lackHeap, x *objects.Allocation) (n *objects.Node, refused bool) {
	var others []nodeLack
	for n == nil && len(nodes.all) > 0 && len(others) < maxRefusals {
		first := heap.Pop(nodes).(nodeLack)
		if eng.accepts(x, first.node) {
			n = first.node
			break
		}
		others = append(others, first)
	}
	for _, other := range others {
		heap.Push(nodes, other)
	}
	return n, len(others) > 0
}

// nodesByLack returns the nodes that a member may reserve, the one on which it lacks the least first.
func (eng *Engine) nodesByLack(a *objects.Application, g gangscheduling.MemberGroup,
	used map[*objects.Node]resources.Vector) *lackHeap {
	h := &lackHeap{}
	add := func(n *objects.Node) {
		if n.MayReserveTogether(a, g.Shape, used[n]) {
			h.all = append(h.all, eng.lackFor(a, n, g.Shape, used[n]))
		}
	}
	if id := objects.NodeID(g.Shape.RequiredNode()); id != "" {
		if n, ok := eng.part.Node(id); ok {
			add(n)
		}
		return h
	}
	for n := range eng.part.EachNode {
		eng.visitedNodes++
		add(n)
	}
	heap.Init(h)
	return h
}

// nodeLack is a node, and the dominant share of what an ask lacks there.
type nodeLack struct {
	node *objects.Node
	lack float64
	when when // with backfill; else zero
}

func lackOf(n *objects.Node, s *feasibility.Shape, used resources.Vector) nodeLack {
	lack, _ := n.MissingShare(s, used, math.Inf(1))
	return nodeLack{node: n, lack: lack}
}

// lackFor is lackOf for a member of a and, with backfill, when it fits beside used.
func (eng *Engine) lackFor(a *objects.Application, n *objects.Node, s *feasibility.Shape,
	used resources.Vector) nodeLack {
	x := lackOf(n, s, used)
	if eng.backfills() {
		eng.visitedNodes += endsVisits
		requested := slices.Clone(used)
		requested.Add(s.Vector())
		x.when = eng.fitOn(n, requested, func(y *objects.Allocation) bool { return y.Application() == a })
	}
	return x
}

// before reports whether a is better than b.
func (a *nodeLack) before(b *nodeLack) bool {
	return cmp.Or(a.when.compare(b.when), cmp.Compare(a.lack, b.lack), cmp.Compare(a.node.ID(), b.node.ID())) < 0
}

// when is the time at which something fits at the latest.
type when struct {
	unknown bool
	at      time.Time
}

// compare is negative if x is earlier than y.
func (x when) compare(y when) int {
	switch {
	case x.unknown && y.unknown:
		return 0
	case x.unknown:
		return 1
	case y.unknown:
		return -1
	}
	return x.at.Compare(y.at)
}

// fitOn returns when what asks request of n fits there at the latest.
func (eng *Engine) fitOn(n *objects.Node, requested resources.Vector, own func(*objects.Allocation) bool) when {
	at, known := eng.host.FitOn(n, requested, own)
	return when{!known, at}
}

// backfills reports whether asks may use what is reserved until it can be used: then the earliest nodes are reserved.
func (eng *Engine) backfills() bool {
	return eng.part.Reservations().Settings().Backfill == configs.BackfillBounded
}

// lackHeap has the node with the least lack first and, of several, the first by ID.
type lackHeap struct{ all []nodeLack }

func (h *lackHeap) Len() int { return len(h.all) }
func (h *lackHeap) Less(i, j int) bool {
	return h.all[i].before(&h.all[j])
}
func (h *lackHeap) Swap(i, j int) { h.all[i], h.all[j] = h.all[j], h.all[i] }
func (h *lackHeap) Push(x any)    { h.all = append(h.all, x.(nodeLack)) }
func (h *lackHeap) Pop() any {
	last := h.all[len(h.all)-1]
	h.all = h.all[:len(h.all)-1]
	return last
}

// fittingGang returns the first ask of the gang that has reserved nodes, if its members can be placed there together
// now; nil: there is none, or they cannot.
func (eng *Engine) fittingGang() (first *objects.Allocation) {
	l := eng.part.Reservations()
	a := l.Gang()
	if a == nil || !a.MayBeAllocated() || !l.FitTogether() {
		return nil
	}
	members := MembersTogether(eng.part)
	if _, _, _, blocked := gangscheduling.BlockedTogether(a, members); blocked ||
		!gangscheduling.FitsCapacity(eng.part, members) {
		return nil
	}
	for _, g := range members {
		if first == nil || objects.CompareSelection(g.Asks[0], first) < 0 {
			first = g.Asks[0]
		}
	}
	return first
}

// MembersTogether returns the members of the gang that has reserved nodes, those of one shape together, in the order in
// which they are placed; nil: there is no such gang.
func MembersTogether(p *objects.Partition) []gangscheduling.MemberGroup {
	var asks []*objects.Allocation
	for _, x := range p.Reservations().AsksOf(p.Reservations().Gang()) {
		if p.Reservations().Together(x) {
			asks = append(asks, x)
		}
	}
	return gangscheduling.ByShape(p, asks)
}

// acceptsTogether reports whether other allocations leave the nodes that the members of the gang have reserved to them,
// and the RM accepts all. A member that is refused keeps the gang from reserving nodes for a time.
func (eng *Engine) acceptsTogether(now time.Time) bool {
	for _, g := range MembersTogether(eng.part) {
		for _, x := range g.Asks {
			if !eng.host.Accepts(x, eng.part.Reservations().Of(x)) {
				eng.refuseUntil(x, now.Add(refusalRetry))
				return false
			}
		}
	}
	return true
}
