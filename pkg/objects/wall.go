package objects

import (
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// Wall is a quota of a queue, or a limit of a user or a group, that is in the way of an ask,
// also when all have gone who were told to leave. Nothing but the leaving of somebody it
// counts makes it lower.
type Wall struct {
	queue   *Queue   // whose quota it is; nil: it is a limit
	account *account // of whom it is; nil: it is a quota

	// Missing is how much must go before the ask is let through; what is zero or less
	// does not matter.
	Missing resources.Vector
}

// Counts reports whether y is among those whose leaving makes w lower.
func (w *Wall) Counts(y *Allocation) bool {
	if w.queue != nil {
		return w.queue.Above(y.app.queue)
	}
	return y.app.sits(w.account)
}

// Where is the queue whose quota it is, or that has the limit, and who is limited; the zero
// Holder: it is a quota.
func (w *Wall) Where() (*Queue, Holder) {
	if w.queue != nil {
		return w.queue, Holder{}
	}
	return w.account.queue, w.account.holder
}

// Elsewhere reports whether somebody who runs anywhere could lower w; else it is the size of
// the cluster, and whoever makes room on a node lowers it as much as need be.
func (w *Wall) Elsewhere() bool { return w.queue == nil || w.queue.parent != nil }

// Walls are what is in the way of x: where it would not fit although all had gone who were
// told to leave, when the other nominees that are as important are placed. None: it is let
// through.
func (p *Partition) Walls(x *Allocation) (walls []Wall) {
	v, yields := x.shape.vector, p.yielding(x)
	for q := x.app.queue; q != nil; q = q.parent {
		used := slices.Clone(q.allocated)
		used.Sub(q.leaving)
		used.Add(q.promised)
		for _, y := range yields {
			if q.Above(y.app.queue) {
				used.Sub(y.shape.vector)
			}
		}
		if q.parent != nil {
			if !q.max.Allows(used, v) {
				walls = append(walls, Wall{queue: q, Missing: beyond(q.max, used, v)})
			}
		} else if !p.capacity.CoversBeyond(used, v) {
			var missing resources.Vector
			missing.Difference(v, p.capacity, nil)
			missing.Add(used)
			walls = append(walls, Wall{queue: q, Missing: only(missing, v)})
		}
	}
	for _, s := range x.app.seats {
		if len(s.account.max) == 0 {
			continue
		}
		if used := p.usedOnceLeft(s.account, x); !s.account.max.Allows(used, v) {
			walls = append(walls, Wall{account: s.account, Missing: beyond(s.account.max, used, v)})
		}
	}
	return walls
}

// yielding are the nominees whose promises are not in the way of x: x itself, and those that
// are less important, whose place it may take.
func (p *Partition) yielding(x *Allocation) (yields []*Allocation) {
	for _, y := range p.nominees {
		if y == x || y.ask.Priority < x.ask.Priority {
			yields = append(yields, y)
		}
	}
	return yields
}

// beyond is by how much used and v together are above a bound, in what v has.
func beyond(max resources.Bound, used, v resources.Vector) (missing resources.Vector) {
	missing = make(resources.Vector, len(v))
	for k, n := range v {
		if bound, ok := max.At(resources.Kind(k)); ok && n > 0 {
			missing[k] = resources.Less(n, resources.Less(bound, used.At(resources.Kind(k))))
		}
	}
	return missing
}

// only is a without what b has nothing of.
func only(a, b resources.Vector) resources.Vector {
	for k := range a {
		if b.At(resources.Kind(k)) <= 0 {
			a[k] = 0
		}
	}
	return a
}

// usedOnceLeft is what a will hold, beside x, when those have gone who were told to leave,
// and the other nominees are placed.
func (p *Partition) usedOnceLeft(a *account, x *Allocation) resources.Vector {
	used := slices.Clone(a.allocated)
	for y, d := range p.leaving {
		if !d.overdue && y.app.sits(a) {
			used.Sub(y.shape.vector)
		}
	}
	for _, y := range p.nominees {
		if y != x && y.ask.Priority >= x.ask.Priority && y.app.sits(a) {
			used.Add(y.shape.vector)
		}
	}
	return used
}

func (a *Application) sits(x *account) bool {
	return slices.ContainsFunc(a.seats, func(s seat) bool { return s.account == x })
}
