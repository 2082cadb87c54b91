package twin

import (
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/limits"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/persistent"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// bound is a limit that counts for an application in one queue: of its user or its group.
type bound struct {
	limits.Rule
	q      *queue
	holder objects.Holder
}

// bounds are the limits that count for a, from its leaf up (sheet 8.2 to 8.4).
func (t *Twin) bounds(a *app, h *held) (all []bound) {
	for _, q := range slices.Backward(t.along(a.leaf)) {
		named, wild := naming(q, a.user.Name, false), naming(q, limits.Wildcard, false)
		if len(named) == 0 {
			named = wild
		}
		for _, r := range named[:min(1, len(named))] {
			all = append(all, bound{r, q, objects.Holder{Name: a.user.Name}})
		}
		if of := naming(q, h.group, true); h.grouped && len(of) > 0 {
			all = append(all, bound{of[0], q, objects.Holder{Group: true, Name: h.group}})
		}
	}
	return all
}

// groupOf is the one group whose limits count for a: the first from its leaf up that is
// limited in a queue and that the user has, or there the wildcard (sheet 8.3).
func (t *Twin) groupOf(a *app) (string, bool) {
	for _, q := range slices.Backward(t.along(a.leaf)) {
		wild := false
		for _, r := range q.conf.Limits {
			for _, g := range r.Groups {
				if slices.Contains(a.user.Groups, g) && g != limits.Wildcard {
					return g, true
				}
				wild = wild || g == limits.Wildcard
			}
		}
		if wild {
			return limits.Wildcard, true
		}
	}
	return "", false
}

func naming(q *queue, name string, group bool) (rules []limits.Rule) {
	for _, r := range q.conf.Limits {
		if slices.Contains(r.Users, name) && !group || slices.Contains(r.Groups, name) && group {
			rules = append(rules, r)
		}
	}
	return rules
}

// usage is what the applications of a holder hold in a queue, how many of them run, and
// how many there are.
type usage struct {
	held         resources.Amounts
	running, all int
}

// holds counts what the applications of b have.
func (t *Twin) holds(c *counts, b bound) (u usage) {
	for _, a := range t.apps {
		if t.isOf(c, a, b.holder) && b.q.within(a.leaf) {
			u.held = u.held.Add(c.apps[a.id].allocated).Add(c.apps[a.id].placeholders)
			u.running += yes(a.state == objects.Running && !a.again)
			u.all++
		}
	}
	return u
}

func (t *Twin) isOf(c *counts, a *app, h objects.Holder) bool {
	of := c.apps[a.id]
	return h.Group && of.grouped && of.group == h.Name || !h.Group && a.user.Name == h.Name
}

// limited says whether a limit, or a bound on running applications, keeps an ask from
// being placed (sheet 3.8, 8.4, 8.5). One that runs already needs no further place, unless it had
// nothing left and has asked again: then a limit counts it from what it is given next.
func (t *Twin) limited(c *counts, w *work) (scheduler.Obstacle, bool) {
	a := t.app(w.ask.App)
	starts := a.state == objects.New || a.state == objects.Accepted
	for _, b := range c.apps[a.id].bounds {
		if (starts || a.again) && b.MaxApplications > 0 && uint64(t.holds(c, b).running)+1 > b.MaxApplications {
			return scheduler.HolderFull, true
		}
	}
	for _, q := range t.along(a.leaf) {
		if most := q.conf.MaxApplications; starts && most > 0 && t.running(q)+1 > most {
			return scheduler.QueueFull, true
		}
	}
	for _, b := range c.apps[a.id].bounds {
		if !b.MaxResources.Headroom(t.holds(c, b).held).Allows(w.ask.Amounts) {
			return scheduler.OverLimit, true
		}
	}
	return 0, false
}

// running is how many applications run in q and below.
func (t *Twin) running(q *queue) (n uint64) {
	for _, a := range t.apps {
		n += uint64(yes(a.state == objects.Running && q.within(a.leaf)))
	}
	return n
}

// limits compares the accounts of a queue.
func (d *comparison) limits(q *queue, views persistent.List[objects.Limited]) {
	want := map[objects.Holder]bound{}
	for _, a := range d.t.apps {
		for _, b := range d.c.apps[a.id].bounds {
			if b.q == q {
				want[b.holder] = b
			}
		}
	}
	same(d, string(q.path), "limited users and groups", len(want), views.Len())
	for v := range views.All() {
		who := v.Holder.String() + " in " + string(q.path)
		b, ok := want[v.Holder]
		if !same(d, who, "limited", ok, true) {
			continue
		}
		u := d.t.holds(d.c, b)
		alike(d, who, "allocated", u.held, v.Allocated)
		alike(d, who, "max", b.MaxResources, v.Max)
		same(d, who, "max running", b.MaxApplications, v.MaxRunning)
		same(d, who, "running", u.running, v.Running)
		same(d, who, "applications", u.all, v.Applications)
	}
}
