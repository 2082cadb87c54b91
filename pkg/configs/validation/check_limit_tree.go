package validation

import (
	"fmt"

	"github.com/canopy-scheduler/canopy/pkg/limits"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// effectiveLimit is the limit of a user or a group in a queue, combined with the limits of
// the queues above.
type effectiveLimit struct {
	max             resources.Limit
	maxApplications uint64 // 0: not limited
	setBy           *Queue
}

// checkInheritedLimits applies V20 and V21 (CFG-63, CFG-64). Requires: the parent was checked before.
func (r *Report) checkInheritedLimits(q *Queue) {
	if len(q.Children) > 0 && len(q.Limits) > 0 {
		q.effectiveLimits = map[limitHolder]effectiveLimit{}
	}
	for i := range q.Limits {
		l := &q.Limits[i]
		own := effectiveLimit{l.MaxResources, l.MaxApplications, q}
		for _, name := range l.Users {
			r.checkInherited(q, l, own, limitHolder{"user", name})
		}
		for _, name := range l.Groups {
			r.checkInherited(q, l, own, limitHolder{"group", name})
		}
	}
}

// limitHolder is a user, a group, or the wildcard of one of the two.
type limitHolder struct{ kind, name string }

func (l limitHolder) String() string { return l.kind + " " + Quote(l.name) }

// checkInherited compares the limit of one user or group with the effective limit in the
// queues above: that of the same name or, without one, that of the wildcard.
func (r *Report) checkInherited(q *Queue, l *limits.Limit, own effectiveLimit, holder limitHolder) {
	r.Yield()
	above, named := q.Above.inheritedLimit(holder)
	if !named {
		above, _ = q.Above.inheritedLimit(limitHolder{holder.kind, limits.Wildcard})
	}
	for name, most := range above.max.All() {
		if n, ok := l.MaxResources.Get(name); ok && n > most {
			r.Add(q.Subject, r.At(l, "maxresources", name), "V20",
				fmt.Sprintf("maxresources %s %s for %s is more than the %s of %s", name, resources.FormatQuantity(name, n),
					holder, resources.FormatQuantity(name, most), above.setBy.path()), "")
		}
	}
	if most := above.maxApplications; most != 0 && !r.IsMisread(&l.MaxApplications) {
		switch n := l.MaxApplications; {
		case n == 0:
			r.Add(q.Subject, r.applicationsAt(l), "V21",
				fmt.Sprintf("maxapplications for %s is unlimited, but %d in %s", holder, most, above.setBy.path()),
				fmt.Sprintf("set it to a number from 1 to %d", smallerBound(most, q.MaxApplications)))
		case n > most:
			r.Add(q.Subject, r.applicationsAt(l), "V21", fmt.Sprintf("maxapplications %d for %s is more than the %d of %s",
				n, holder, most, above.setBy.path()), "")
		}
	}
	if named {
		own.max = own.max.Tighten(above.max)
	}
	if q.effectiveLimits != nil {
		q.effectiveLimits[holder] = own
	}
}

// inheritedLimit is the effective limit of the nearest queue, from q upwards, that has one for the holder.
func (q *Queue) inheritedLimit(holder limitHolder) (effectiveLimit, bool) {
	for ; q != nil; q = q.Above {
		if a, ok := q.effectiveLimits[holder]; ok {
			return a, true
		}
	}
	return effectiveLimit{}, false
}

// smallerBound is the smaller of two bounds on applications, where 0 means unlimited. A hint must not
// suggest a value that breaks another rule: a limit is within the queue's own bound too (V18).
func smallerBound(a, b uint64) uint64 {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}
