package configs

import (
	"fmt"

	"github.com/canopy-scheduler/canopy/pkg/limits"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// allowance is what limits leave to a user or a group in a queue, the limits of the
// queues above included.
type allowance struct {
	max             resources.Limit
	maxApplications uint64 // 0: not limited
	by              *queueDraft
}

// checkInheritedLimits applies V20 and V21. Requires: the parent was checked before.
func (r *report) checkInheritedLimits(q *queueDraft) {
	q.carried = map[string]allowance{}
	for _, l := range q.limits {
		for _, w := range l.users {
			r.checkInherited(q, l, "user", w)
		}
		for _, w := range l.groups {
			r.checkInherited(q, l, "group", w)
		}
	}
}

// checkInherited compares the limit of one user or group with what the queues above
// leave them: under their own name, or else as one of all others.
func (r *report) checkInherited(q *queueDraft, l *limitDraft, kind string, w word) {
	own := allowance{resources.LimitFromMap(l.max.n), l.maxApplications.n, q}
	above, named := q.up.allowed(kind, w.text)
	if !named {
		above, _ = q.up.allowed(kind, limits.Wildcard)
	}
	who := kind + " " + quote(w.text)
	for _, name := range sortedKeys(l.max.n) {
		if most, ok := above.max.Get(name); ok && l.max.n[name] > most {
			r.add(q, l.max.places[name], "V20", fmt.Sprintf("maxresources %s %s for %s is more than the %s of %s",
				name, resources.Text(name, l.max.n[name]), who, resources.Text(name, most), above.by.path()), "")
		}
	}
	if most := above.maxApplications; most != 0 && l.maxApplications.ok {
		switch n := l.maxApplications.n; {
		case n == 0:
			r.add(q, placeOr(l.maxApplications.at, l.at), "V21",
				fmt.Sprintf("maxapplications for %s is unlimited, but %d in %s", who, most, above.by.path()),
				fmt.Sprintf("set it to something from 1 to %d", tighter(most, q.maxApplications.n)))
		case n > most:
			r.add(q, l.maxApplications.at, "V21", fmt.Sprintf("maxapplications %d for %s is more than the %d of %s",
				n, who, most, above.by.path()), "")
		}
	}
	if named {
		own.max = own.max.Tighten(above.max)
	}
	q.carried[kind+w.text] = own
}

// allowed finds the nearest queue, from q upwards, that limits somebody by that name.
func (q *queueDraft) allowed(kind, name string) (allowance, bool) {
	for ; q != nil; q = q.up {
		if a, ok := q.carried[kind+name]; ok {
			return a, true
		}
	}
	return allowance{}, false
}

// tighter is the smaller of two bounds on applications, where 0 is none. What a hint offers must
// not break another rule: a limit is within the queue's own bound, too (V18).
func tighter(a, b uint64) uint64 {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}
