package twin

import (
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/limits"
	"github.com/canopy-scheduler/canopy/pkg/persistent"
	"github.com/canopy-scheduler/canopy/pkg/quota"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// applicableLimit is a limit that counts for an application in one queue: of its user or its group.
type applicableLimit struct {
	limits.Limit
	queue  *queue
	holder quota.UserOrGroup
}

// applicableLimits returns the limits that count for a, from its leaf up (LIM-1, LIM-6, LIM-11).
func (t *Twin) applicableLimits(a *app, h *appTotals) (all []applicableLimit) {
	for _, q := range slices.Backward(t.pathQueues(a.leaf)) {
		named, wild := rulesFor(q, a.user.Name, false), rulesFor(q, limits.Wildcard, false)
		if len(named) == 0 {
			named = wild
		}
		for _, r := range named[:min(1, len(named))] {
			all = append(all, applicableLimit{r, q, quota.UserOrGroup{Name: a.user.Name}})
		}
		if of := rulesFor(q, h.group, true); h.hasGroup && len(of) > 0 {
			all = append(all, applicableLimit{of[0], q, quota.UserOrGroup{Group: true, Name: h.group}})
		}
	}
	return all
}

// limitedGroup returns the one group whose limits count for a: the first of the user's groups with a limit,
// from the leaf up, or the wildcard there (LIM-6, LIM-8).
func (t *Twin) limitedGroup(a *app) (string, bool) {
	for _, q := range slices.Backward(t.pathQueues(a.leaf)) {
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

func rulesFor(q *queue, name string, group bool) (rules []limits.Limit) {
	for _, r := range q.conf.Limits {
		if slices.Contains(r.Users, name) && !group || slices.Contains(r.Groups, name) && group {
			rules = append(rules, r)
		}
	}
	return rules
}

// usage holds what the applications of a user or group use in a queue, how many of them run, and how many
// there are.
type usage struct {
	resources             resources.Amounts
	running, applications int
}

// usageOf adds up the applications of b.
func (t *Twin) usageOf(c *totals, b applicableLimit) (u usage) {
	for _, a := range t.apps {
		if t.countsFor(c, a, b.holder) && b.queue.contains(a.leaf) {
			u.resources = u.resources.Add(c.apps[a.id].allocated).Add(c.apps[a.id].placeholders)
			u.running += boolToInt(c.apps[a.id].counts && !a.askedAgain)
			u.applications++
		}
	}
	return u
}

func (t *Twin) countsFor(c *totals, a *app, h quota.UserOrGroup) bool {
	of := c.apps[a.id]
	return h.Group && of.hasGroup && of.group == h.Name || !h.Group && a.user.Name == h.Name
}

// limitObstacle reports whether a limit, or a bound on running applications, prevents the placement of
// an ask (QUO-26, LIM-11, LIM-17). A running application does not count again, unless it had no asks
// left and has a new one: then a limit counts it from its next allocation.
// nothing left and has asked again: then a limit counts it from what it is given next.
func (t *Twin) limitObstacle(c *totals, w *allocation) (scheduler.PendingReason, bool) {
	a := t.app(w.ask.App)
	starts := !c.apps[a.id].counts
	for _, b := range c.apps[a.id].limits {
		if (starts || a.askedAgain) && b.MaxApplications > 0 && uint64(t.usageOf(c, b).running)+1 > b.MaxApplications {
			return scheduler.LimitMaxApplications, true
		}
	}
	for _, q := range t.pathQueues(a.leaf) {
		if most := q.conf.MaxApplications; starts && most > 0 && t.runningApps(c, q)+1 > most {
			return scheduler.QueueMaxApplications, true
		}
	}
	for _, b := range c.apps[a.id].limits {
		if !b.MaxResources.Headroom(t.usageOf(c, b).resources).Allows(w.ask.Amounts) {
			return scheduler.NoLimitHeadroom, true
		}
	}
	return 0, false
}

// runningApps returns the number of running applications in q and below.
func (t *Twin) runningApps(c *totals, q *queue) (n uint64) {
	for _, a := range t.apps {
		n += uint64(boolToInt(c.apps[a.id].counts && q.contains(a.leaf)))
	}
	return n
}

// limits compares the accounts of a queue.
func (d *comparison) limits(q *queue, views persistent.List[quota.LimitUsage]) {
	want := map[quota.UserOrGroup]applicableLimit{}
	for _, a := range d.t.apps {
		for _, b := range d.c.apps[a.id].limits {
			if b.queue == q {
				want[b.holder] = b
			}
		}
	}
	same(d, string(q.path), "limited users and groups", len(want), views.Len())
	for v := range views.All() {
		holderName := v.UserOrGroup.String() + " in " + string(q.path)
		b, ok := want[v.UserOrGroup]
		if !same(d, holderName, "limited", ok, true) {
			continue
		}
		u := d.t.usageOf(d.c, b)
		sameAmounts(d, holderName, "allocated", u.resources, v.Allocated)
		sameAmounts(d, holderName, "max", b.MaxResources, v.Max)
		same(d, holderName, "max running", b.MaxApplications, v.MaxApplications)
		same(d, holderName, "running", u.running, v.Running)
		same(d, holderName, "applications", u.applications, v.Applications)
	}
}
