package queuesyaml

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
	setBy           *queueDraft
}

// checkInheritedLimits applies V20 and V21 (CFG-63, CFG-64). Requires: the parent was checked before.
func (r *report) checkInheritedLimits(q *queueDraft) {
	if len(q.children) > 0 && len(q.limits) > 0 {
		q.effectiveLimits = map[limitHolder]effectiveLimit{}
	}
	for _, l := range q.limits {
		own := effectiveLimit{resources.LimitFromMap(l.max.n), l.maxApplications.n, q}
		for _, w := range l.users {
			r.checkInherited(q, l, own, limitHolder{"user", w.text})
		}
		for _, w := range l.groups {
			r.checkInherited(q, l, own, limitHolder{"group", w.text})
		}
	}
}

// limitHolder is a user, a group, or the wildcard of one of the two.
type limitHolder struct{ kind, name string }

func (l limitHolder) String() string { return l.kind + " " + quote(l.name) }

// checkInherited compares the limit of one user or group with the effective limit in the
// queues above: that of the same name or, without one, that of the wildcard.
func (r *report) checkInherited(q *queueDraft, l *limitDraft, own effectiveLimit, holder limitHolder) {
	above, named := q.parentQueue.inheritedLimit(holder)
	if !named {
		above, _ = q.parentQueue.inheritedLimit(limitHolder{holder.kind, limits.Wildcard})
	}
	for name, most := range above.max.All() {
		if n, ok := l.max.n[name]; ok && n > most {
			r.add(q, l.max.positions[name], "V20", fmt.Sprintf("maxresources %s %s for %s is more than the %s of %s",
				name, resources.FormatQuantity(name, n), holder, resources.FormatQuantity(name, most), above.setBy.path()), "")
		}
	}
	if most := above.maxApplications; most != 0 && l.maxApplications.ok {
		switch n := l.maxApplications.n; {
		case n == 0:
			r.add(q, positionOr(l.maxApplications.position, l.position), "V21",
				fmt.Sprintf("maxapplications for %s is unlimited, but %d in %s", holder, most, above.setBy.path()),
				fmt.Sprintf("set it to a number from 1 to %d", smallerBound(most, q.maxApplications.n)))
		case n > most:
			r.add(q, l.maxApplications.position, "V21", fmt.Sprintf("maxapplications %d for %s is more than the %d of %s",
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
func (q *queueDraft) inheritedLimit(holder limitHolder) (effectiveLimit, bool) {
	for ; q != nil; q = q.parentQueue {
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
