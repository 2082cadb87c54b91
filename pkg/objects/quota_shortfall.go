package objects

import (
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// QuotaShortfall is a quota of a queue, or a limit of a user or a group, that is in the way of an ask,
// also when all have gone who were told to leave. Nothing but the leaving of somebody it
// counts makes it lower.
type QuotaShortfall struct {
	queue   *Queue   // whose quota it is; nil: it is a limit
	account *account // of whom it is; nil: it is a quota

	// Amount is how much must go before the ask is let through; what is zero or less
	// does not matter.
	Amount resources.Vector
}

// ReducedBy reports whether y is among those whose leaving makes w lower.
func (w *QuotaShortfall) ReducedBy(y *Allocation) bool {
	if w.queue != nil {
		return w.queue.IsSelfOrAncestorOf(y.app.queue)
	}
	return y.app.memberOf(w.account)
}

// Source is the queue whose quota it is, or that has the limit, and who is limited; the zero
// Holder: it is a quota.
func (w *QuotaShortfall) Source() (*Queue, UserOrGroup) {
	if w.queue != nil {
		return w.queue, UserOrGroup{}
	}
	return w.account.queue, w.account.userOrGroup
}

// ReducibleOnAnyNode reports whether somebody who runs anywhere could lower w; else it is the size of
// the cluster, and whoever makes room on a node lowers it as much as need be.
func (w *QuotaShortfall) ReducibleOnAnyNode() bool { return w.queue == nil || w.queue.parent != nil }

// QuotaShortfalls are what is in the way of x: where it would not fit although all had gone who were
// told to leave, when the other nominees that are as important are placed. None: it is let
// through.
func (p *Partition) QuotaShortfalls(x *Allocation) (shortfalls []QuotaShortfall) {
	v, outranked := x.shape.vector, p.outrankedNominees(x)
	for q := x.app.queue; q != nil; q = q.parent {
		used := slices.Clone(q.allocated)
		used.Sub(q.expectedRelease)
		used.Add(q.nominated)
		for _, y := range outranked {
			if q.IsSelfOrAncestorOf(y.app.queue) {
				used.Sub(y.shape.vector)
			}
		}
		if q.parent != nil {
			if !q.max.Allows(used, v) {
				shortfalls = append(shortfalls, QuotaShortfall{queue: q, Amount: shortfallOf(q.max, used, v)})
			}
		} else if !p.capacity.CoversAfter(used, v) {
			var missing resources.Vector
			missing.Difference(v, p.capacity, nil)
			missing.Add(used)
			shortfalls = append(shortfalls, QuotaShortfall{queue: q, Amount: restrictKinds(missing, v)})
		}
	}
	for _, s := range x.app.memberships {
		if len(s.account.max) == 0 {
			continue
		}
		if used := p.usedAfterPreemption(s.account, x); !s.account.max.Allows(used, v) {
			shortfalls = append(shortfalls, QuotaShortfall{account: s.account, Amount: shortfallOf(s.account.max, used, v)})
		}
	}
	return shortfalls
}

// outrankedNominees are the nominees whose promises are not in the way of x: x itself, and those that
// are less important, whose place it may take.
func (p *Partition) outrankedNominees(x *Allocation) (outranked []*Allocation) {
	for _, y := range p.nominees {
		if y == x || y.ask.Priority < x.ask.Priority {
			outranked = append(outranked, y)
		}
	}
	return outranked
}

// shortfallOf is by how much used and v together are above a bound, in what v has.
func shortfallOf(max resources.LimitVector, used, v resources.Vector) (missing resources.Vector) {
	missing = make(resources.Vector, len(v))
	for k, n := range v {
		if bound, ok := max.At(resources.Index(k)); ok && n > 0 {
			missing[k] = resources.SubSaturated(n, resources.SubSaturated(bound, used.At(resources.Index(k))))
		}
	}
	return missing
}

// restrictKinds is a without what b has nothing of.
func restrictKinds(a, b resources.Vector) resources.Vector {
	for k := range a {
		if b.At(resources.Index(k)) <= 0 {
			a[k] = 0
		}
	}
	return a
}

// usedAfterPreemption is what a will hold, beside x, when those have gone who were told to leave,
// and the other nominees are placed.
func (p *Partition) usedAfterPreemption(a *account, x *Allocation) resources.Vector {
	used := slices.Clone(a.allocated)
	for y, d := range p.preempting {
		if !d.overdue && y.app.memberOf(a) {
			used.Sub(y.shape.vector)
		}
	}
	for _, y := range p.nominees {
		if y != x && y.ask.Priority >= x.ask.Priority && y.app.memberOf(a) {
			used.Add(y.shape.vector)
		}
	}
	return used
}

func (a *Application) memberOf(x *account) bool {
	return slices.ContainsFunc(a.memberships, func(s membership) bool { return s.account == x })
}
