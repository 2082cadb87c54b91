package runtimes

import (
	"cmp"
	"slices"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/priorities"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// Outlook lists what becomes free on a node, at the latest, as time passes and nothing else is placed there.
type Outlook struct {
	ending  []known // in the order of their ends
	endless []*objects.Allocation
}

// known is an allocation with a known end.
type known struct {
	x    *objects.Allocation
	gone time.Time
}

// Outlook returns what becomes free on n. An allocation without an enforced bound, or that is overdue after it was
// asked to end, has no known end.
func (eng *Engine) Outlook(n *objects.Node) (o Outlook) {
	eng.Refresh()
	for y := range n.EachAllocation {
		if at, ok := eng.gone(y); ok {
			o.ending = append(o.ending, known{y, at})
		} else {
			o.endless = append(o.endless, y)
		}
	}
	slices.SortFunc(o.ending, func(a, b known) int {
		return cmp.Or(a.gone.Compare(b.gone), cmp.Compare(a.x.Key(), b.x.Key()))
	})
	return o
}

// gone returns when y has ended at the latest. ok is false if nothing says when.
func (eng *Engine) gone(y *objects.Allocation) (at time.Time, ok bool) {
	at, ok = eng.asked[y]
	if !ok {
		e := eng.of[y]
		if e == nil {
			return at, false
		}
		at = e.gone()
		if since, _ := eng.part.PreemptingSince(y); !since.IsZero() {
			at = e.goneIfAsked(since)
		}
	}
	return at, !at.Before(eng.now)
}

// FreedBy returns what has become free at a time.
func (o Outlook) FreedBy(at time.Time) (v resources.Vector) {
	for _, y := range o.ending {
		if y.gone.After(at) {
			break
		}
		v.Add(y.x.Shape().Vector())
	}
	return v
}

// until returns the ends that it takes until what is missing has become free, without those that free nothing of it.
// left: still missing after all of them. It changes missing.
func (o Outlook) until(missing resources.Vector) (ends []known, left resources.Vector) {
	for _, y := range o.ending {
		if enough.Covers(missing) {
			break
		}
		if holdsAny(y.x, missing) {
			missing.Sub(y.x.Shape().Vector())
			ends = append(ends, y)
		}
	}
	return ends, missing
}

// FitAt returns when what is missing has become free. The zero time: nothing is missing. known is false if no end is
// known of what holds it. It changes missing.
func (o Outlook) FitAt(missing resources.Vector) (at time.Time, known bool) {
	ends, left := o.until(missing)
	if len(ends) > 0 {
		at = ends[len(ends)-1].gone
	}
	return at, enough.Covers(left)
}

// FitAt returns when members fit their nodes together, beside what is held there for other asks, if everything there
// ends at its bound, its grace and its termination grace. The zero time: they do now. known is false if no end is known
// of what they wait for.
func (eng *Engine) FitAt(members []objects.MemberNode) (at time.Time, known bool) {
	requested, among := map[*objects.Node]resources.Vector{}, map[*objects.Allocation]bool{}
	for _, m := range members {
		among[m.Ask] = true
		sum := requested[m.Node]
		sum.Add(m.Ask.Shape().Vector())
		requested[m.Node] = sum
	}
	known = true
	for n, sum := range requested {
		on, all := eng.FitOn(n, sum, func(y *objects.Allocation) bool { return among[y] })
		known = known && all
		if on.After(at) {
			at = on
		}
	}
	return at, known
}

// FitOn is FitAt for what own asks request of one node together. It may change requested.
func (eng *Engine) FitOn(n *objects.Node, requested resources.Vector,
	own func(*objects.Allocation) bool) (at time.Time, known bool) {
	return eng.Outlook(n).FitAt(Missing(requested, FreeFor(n, own)))
}

// FreeFor returns what n has for the asks for which own returns true, beside what is held there for others.
func FreeFor(n *objects.Node, own func(*objects.Allocation) bool) resources.Vector {
	free := n.FreeBesideReservations(nil)
	for _, y := range n.ReservedFor() {
		if !own(y) {
			free.Sub(y.Shape().Vector())
		}
	}
	return free
}

// Missing reduces what is requested by what is free, and returns what is missing of it; negative: more than enough.
func Missing(requested, free resources.Vector) resources.Vector {
	for k, n := range requested {
		if n > 0 {
			requested[k] = resources.SubSaturated(n, free.At(resources.Index(k)))
		}
	}
	return requested
}

// enough covers what is missing if nothing is.
var enough resources.Vector

// gone returns when e.x has ended at the latest: after its release it has its termination grace (PRE-86).
func (e *end) gone() time.Time { return e.due.Add(priorities.GracePeriodOf(e.x.Ask().Tags())) }

// goneIfAsked is gone if e.x is asked to end at a time, early or not.
func (e *end) goneIfAsked(at time.Time) time.Time {
	at = at.Add(priorities.GracePeriodOf(e.x.Ask().Tags()))
	if at.Before(e.gone()) {
		return at
	}
	return e.gone()
}

// GoneAt returns when the pending x has ended at the latest if it is bound now. ok is false if its queue enforces no
// bound of it.
func GoneAt(x *objects.Allocation, now time.Time) (at time.Time, ok bool) {
	s := x.Application().Queue().RunTime()
	bound := Bound(x)
	if !s.Enforced || bound == 0 {
		return at, false
	}
	return now.Add(bound + s.Grace + priorities.GracePeriodOf(x.Ask().Tags())), true
}

// holdsAny reports whether y holds something of what is missing.
func holdsAny(y *objects.Allocation, missing resources.Vector) bool {
	for k, n := range missing {
		if n > 0 && y.Shape().Vector().At(resources.Index(k)) > 0 {
			return true
		}
	}
	return false
}

// holdersOf returns the allocations that hold something of what is missing, by key.
func holdersOf(all []*objects.Allocation, missing resources.Vector) (keys []objects.AllocationKey) {
	for _, y := range all {
		if holdsAny(y, missing) {
			keys = append(keys, y.Key())
		}
	}
	slices.Sort(keys)
	return keys
}
