package preemption

import (
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// acrossNodes is for an ask that no single node can help, because a quota is in the way: the
// node is chosen as if there was none, and who else has to leave because of the quota is
// chosen wherever it runs (priority.md 4.1, step 7).
func (s *Search) acrossNodes(judge Judge) (Plan, bool) {
	t := &s.trim
	walls := t.walls
	t.walls, t.anywhere = nil, true
	plan, ok := s.oneNode(judge)
	t.walls, t.anywhere = walls, false
	if !ok {
		return plan, false
	}
	return t.widen(plan, s.from())
}

// walled reports whether there is a quota in the way that those on other nodes count for.
func (t *trim) walled() bool {
	return slices.ContainsFunc(t.walls, func(w wall) bool { return w.Elsewhere() })
}

// widen adds to a plan who has to leave elsewhere so that no quota is in the way: the least
// important first, and then those are put back who need not go, the most important first.
func (t *trim) widen(plan Plan, from *objects.Queue) (Plan, bool) {
	t.begin(t.hunt)
	for _, y := range plan.Victims {
		t.lower(y, 1)
	}
	t.victims = append(t.victims[:0], plan.Victims...)
	t.may, t.off = t.may[:0], t.off[:0]
	t.collect(from, map[*objects.Allocation]bool{})
	t.hunt.byImportance(t.may)
	t.spending.begin(t.hunt.part)
	for _, y := range plan.Victims {
		u := t.hunt.single(y) // whoever falls with it is in the plan too
		t.spending.spend(&u)
	}
	for i := len(t.may) - 1; i >= 0 && !t.through(); i-- {
		if u := &t.may[i]; t.lowers(u) && t.keeps(u) == MayBeTaken {
			t.off, t.victims = append(t.off, *u), append(t.victims, u.members()...)
			t.lowerAll(u, 1)
		}
	}
	if !t.through() {
		return Plan{}, false
	}
	slices.Reverse(t.off)
	plan.Victims = slices.Clone(plan.Victims)
	for i := range t.off {
		u := &t.off[i]
		if t.lowerAll(u, -1); !t.through() {
			t.lowerAll(u, 1)
			plan.Victims = append(plan.Victims, u.members()...)
		}
	}
	return plan, true
}

// collect finds the units below q who may be taken and would lower a wall. seen are the leads
// of the groups that were met already.
func (t *trim) collect(q *objects.Queue, seen map[*objects.Allocation]bool) {
	if q == t.hunt.owed || q.Bound() == 0 {
		return
	}
	for _, child := range q.Children() {
		t.collect(child, seen)
	}
	for y := range q.EachBound {
		if t.hunt.law(y) != MayBeTaken || slices.Contains(t.victims, y) {
			continue
		}
		u := t.hunt.unitOf(y)
		if u.group != nil && seen[u.lead] || !t.lowers(&u) {
			continue
		}
		if u.group != nil {
			seen[u.lead] = true
		}
		t.may = append(t.may, u)
	}
}

// lowers reports whether u holds something that a wall misses, and is counted there.
func (t *trim) lowers(u *unit) bool {
	for _, y := range u.members() {
		for i := range t.walls {
			w := &t.walls[i]
			if !w.Counts(y) {
				continue
			}
			for k, missing := range w.Missing {
				k := resources.Kind(k)
				if missing > w.gone.At(k) && missing > 0 && y.Shape().Vector().At(k) > 0 {
					return true
				}
			}
		}
	}
	return false
}

func (t *trim) lowerAll(u *unit, sign int) {
	for _, y := range u.members() {
		t.lower(y, sign)
	}
}

// lower notes at the walls that y goes, or that it stays after all.
func (t *trim) lower(y *objects.Allocation, sign int) {
	for i := range t.walls {
		w := &t.walls[i]
		switch {
		case !w.Counts(y):
		case sign > 0:
			w.gone.Add(y.Shape().Vector())
		default:
			w.gone.Sub(y.Shape().Vector())
		}
	}
}

// through reports whether no quota is in the way.
func (t *trim) through() bool {
	for i := range t.walls {
		if w := &t.walls[i]; !w.gone.Covers(w.Missing) {
			return false
		}
	}
	return true
}
