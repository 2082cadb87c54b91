package backfill

import (
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/gangscheduling"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/runtimes"
)

// Release orders the end of the backfilled allocations of the oldest reservation without which it could be used now:
// something has ended early. On each node none of these is more than is needed, and the last bound end first (RES-16).
// any: there were some.
func (eng *Engine) Release() (any bool) {
	if !objects.AnyBackfilled(eng.part) { // the configuration may have no backfill any more: they end as they would have
		return false
	}
	for _, r := range eng.reservations() {
		ending, enough := eng.without(r)
		if len(ending) == 0 || !enough || !eng.mayBeUsed(r, ending) {
			continue
		}
		for _, y := range ending {
			objects.OrderEnd(eng.part, y)
			eng.counts.Released++
			eng.host.OnBackfillEnd(y, r.members[0].Ask)
		}
		return true
	}
	return false
}

// without returns the backfilled allocations that have to end so that the members of r fit their nodes. enough: then
// they do, as soon as these and those that were asked to end before have ended.
func (eng *Engine) without(r *reservation) (ending []*objects.Allocation, enough bool) {
	requested, nodes := map[*objects.Node]resources.Vector{}, []*objects.Node{}
	together := eng.part.Reservations().Together(r.members[0].Ask) // of one gang at a time
	for _, m := range r.members {
		if requested[m.Node] == nil {
			nodes = append(nodes, m.Node)
		}
		sum := requested[m.Node]
		sum.Add(m.Ask.Shape().Vector())
		requested[m.Node] = sum
	}
	for _, n := range nodes {
		missing := runtimes.Missing(requested[n], runtimes.FreeFor(n, func(x *objects.Allocation) bool {
			return x == r.members[0].Ask || together && eng.part.Reservations().Together(x)
		}))
		var here []*objects.Allocation
		for _, y := range objects.BackfilledOn(eng.part, n) {
			missing.Sub(y.Shape().Vector())
			if !eng.ends(y) {
				here = append(here, y)
			}
		}
		if !fits(missing) {
			return nil, false
		}
		ending = append(ending, needed(here, missing)...)
	}
	return ending, true
}

// needed returns those of some allocations, the last bound first, that still have to end if what the others have is
// missing again; the first bound stay if they can.
func needed(all []*objects.Allocation, missing resources.Vector) []*objects.Allocation {
	for i := len(all) - 1; i >= 0; i-- {
		more := slices.Clone(missing)
		more.Add(all[i].Shape().Vector())
		if fits(more) {
			missing, all = more, slices.Delete(all, i, i+1)
		}
	}
	return all
}

// ends reports whether y was asked to end already.
func (eng *Engine) ends(y *objects.Allocation) bool {
	return objects.Ending(eng.part, y) || eng.part.Preempting(y)
}

// mayBeUsed reports whether nothing but the nodes keeps the members of r from being placed when some have ended.
func (eng *Engine) mayBeUsed(r *reservation, gone []*objects.Allocation) bool {
	first := r.members[0].Ask
	if eng.part.Reservations().Together(first) {
		a := first.Application()
		if _, _, _, blocked := gangscheduling.BlockedTogether(a, eng.groups(r)); blocked || !a.MayBeAllocated() {
			return false
		}
	} else if !first.MayBePlacedWithinCapacity() {
		return false
	}
	return !slices.ContainsFunc(r.members,
		func(m objects.MemberNode) bool { return !eng.host.Allows(m.Ask, m.Node, gone) })
}

// groups returns the members of a gang by their shapes.
func (eng *Engine) groups(r *reservation) []gangscheduling.MemberGroup {
	var asks []*objects.Allocation
	for _, m := range r.members {
		asks = append(asks, m.Ask)
	}
	return gangscheduling.ByShape(eng.part, asks)
}

// fits reports whether nothing is missing.
func fits(missing resources.Vector) bool { return resources.Vector{}.Covers(missing) }
