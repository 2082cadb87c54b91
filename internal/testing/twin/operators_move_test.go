package twin

import (
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/lifecycle"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/policies"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// move moves an application to another leaf.
func (t *Twin) move(c scheduler.Operate) {
	a, to := t.app(c.App), t.queue(c.Queue)
	switch {
	case a == nil || to == nil || a.leaf != to.path && t.mayNotMove(a, to):
		t.refuse("move", "unknown, or not allowed")
		return
	case a.leaf == to.path:
		return
	}
	c.From = a.leaf
	t.emit(scheduler.OperatorActed(c))
	for _, w := range t.allocationsOf(a.id) {
		t.unlink(w)
		if w.node == "" {
			t.unnominate(w)
			w.victimLeaves = nil
			if w.reserved != "" {
				t.unreserve(w)
			}
			delete(t.backedOff, t.askGroupKey(w.ask))
			delete(t.resumeAfter, t.askGroupKey(w.ask))
		}
	}
	a.leaf, a.moved = to.path, true
	t.prune(t.root)
	t.forgetGroups()
}

// mayNotMove reports whether a queue cannot take an application that is in another.
func (t *Twin) mayNotMove(a *app, to *queue) bool {
	if to.conf.Parent || to.draining || t.isDrained(to.path) || a.state == lifecycle.Failing ||
		!t.maySubmit(to.path, a.user) {
		return true
	}
	if !a.gang.Requested.IsZero() {
		if appSort(to) == policies.Fair {
			return true
		}
		for _, q := range t.pathQueues(to.path)[1:] {
			if !q.conf.Max.Allows(a.gang.Requested) {
				return true
			}
		}
	}
	c := t.total()
	h := c.apps[a.id]
	used := h.allocated.Add(h.placeholders)
	for _, q := range t.pathQueues(to.path)[1:] {
		if q.contains(a.leaf) {
			continue
		}
		if most := q.conf.MaxApplications; h.counts && most > 0 && t.runningApps(c, q) >= most ||
			!q.max().Headroom(c.allocated[q.path]).Allows(used) {
			return true
		}
	}
	return t.limitForbidsMove(c, a, to, used) || t.classQuotaForbidsMove(a, to)
}

// limitForbidsMove reports whether a limit that does not count for a now would be exceeded in another leaf.
func (t *Twin) limitForbidsMove(c *totals, a *app, to *queue, used resources.Amounts) bool {
	moved := *a
	moved.leaf = to.path
	group, has := t.limitedGroup(&moved)
	for _, b := range t.applicableLimits(&moved, &appTotals{group: group, hasGroup: has}) {
		if slices.ContainsFunc(c.apps[a.id].limits,
			func(x applicableLimit) bool { return x.queue == b.queue && x.holder == b.holder }) {
			continue
		}
		u := t.usageOf(c, b)
		if c.apps[a.id].counts && !a.askedAgain && b.MaxApplications > 0 && uint64(u.running) >= b.MaxApplications ||
			!b.MaxResources.Headroom(u.resources).Allows(used) {
			return true
		}
	}
	return false
}

// classQuotaForbidsMove reports whether what a has would exceed a class quota of another leaf, or is not covered there.
func (t *Twin) classQuotaForbidsMove(a *app, to *queue) bool {
	moved := *a
	moved.leaf = to.path
	used, hard := t.quotaUsage(), map[quotaAccount]map[string]resources.Quantity{}
	more := map[quotaAccount]classUse{}
	for _, w := range t.allocationsOf(a.id) {
		places := t.quotaAccounts(&moved, w.class)
		for _, s := range t.needQuota {
			if len(places) == 0 && selectorMatches(s, w.class) {
				return true
			}
		}
		for at, most := range places {
			if !t.queue(at.queue).contains(a.leaf) {
				hard[at], more[at] = most, classUse{more[at].amounts.Add(w.ask.Amounts), more[at].pods + 1}
			}
		}
	}
	for at, most := range hard {
		for name, n := range most {
			wants, has := more[at].amounts.Get(name), used[at].amounts.Get(name)
			if name == "pods" {
				wants, has = resources.Quantity(more[at].pods), resources.Quantity(used[at].pods)
			}
			if wants > max(0, n-has) {
				return true
			}
		}
	}
	return false
}

// movedLeaf returns the leaf to which an application was moved before it came back; empty: none, or it does not take
// it.
func (t *Twin) movedLeaf(c scheduler.AddApplication) objects.QueuePath {
	path, moved := t.movedTo[c.App]
	q := t.queue(path)
	if !moved || q == nil || !t.accepts(q, c.App) || !t.maySubmit(path, c.User) {
		return ""
	}
	return path
}
