package twin

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/policies"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// Preemption (PRE-1 to PRE-91, PRE-126). Only history is stored: victims, nominations, and back-offs with their
// times.

// backOff is the back-off after an evaluation without victims.
const backOff = 5 * time.Second

// askGroupKey returns a key of everything that determines the possible victims of an ask.
func (t *Twin) askGroupKey(ask *objects.Ask) string {
	return fmt.Sprint(ask.App, ask.Priority, ask.RequiredNode(), ask.Amounts, ask.Policy.AllowPreemptOther(),
		ask.TaskGroup(), ask.Placeholder, constraintsOf(ask).Key(), ask.Constraints().Key(), t.affinityOf(ask).Key())
}

// forgetGroups removes the back-offs of ask groups without pending asks.
func (t *Twin) forgetGroups() {
	t.dropNominations()
	t.dropReservations()
	for key := range t.reservationRefused {
		if t.allocation(key) == nil {
			delete(t.reservationRefused, key)
		}
	}
	maps.DeleteFunc(t.resumeAfter, func(kind string, _ allocation) bool {
		return !slices.ContainsFunc(t.allocations,
			func(w *allocation) bool { return w.node == "" && t.askGroupKey(w.ask) == kind })
	})
	for kind := range t.backedOff {
		if !slices.ContainsFunc(t.allocations,
			func(w *allocation) bool { return w.node == "" && t.askGroupKey(w.ask) == kind }) {
			delete(t.backedOff, kind)
		}
	}
}

// bindableNominee returns the first nominated ask that can be bound now.
func (t *Twin) bindableNominee() (*allocation, objects.NodeID) {
	c := t.total()
	for _, w := range t.nominees {
		_, limited := t.limitObstacle(c, w)
		if t.fitsNominatedNode(c, w) && !limited && t.withinQuota(c, w) && t.applicationMayStart(c, w) &&
			t.predicatesPass(t.node(w.nominated), w.ask) {
			return w, w.nominated
		}
	}
	return nil, ""
}

func (t *Twin) applicationMayStart(c *totals, w *allocation) bool {
	a := t.app(w.ask.App)
	return find(t.appsInOrder(c, t.queue(a.leaf)), func(x *app) bool { return x == a }) != nil
}

func (t *Twin) fitsNominatedNode(c *totals, w *allocation) bool {
	n := t.node(w.nominated)
	return n.admits(w.ask) && t.availableFor(c, w, n).Covers(w.ask.Amounts)
}

// availableFor returns what w may use of n beside nominated asks of the same or higher priority.
func (t *Twin) availableFor(c *totals, w *allocation, n *node) resources.Amounts {
	free := c.available(n)
	for _, y := range t.allocations {
		if y.replacedBy != nil && y.replacedOn == n.id && y.node != n.id {
			free = free.Sub(y.replacedBy.ask.Amounts)
		}
	}
	for _, other := range t.nominees {
		if other != w && other.nominated == n.id && other.ask.Priority >= w.ask.Priority {
			free = free.Sub(other.ask.Amounts)
		}
	}
	return free
}

// preempt preempts for the first ask that finds victims.
func (t *Twin) preempt() bool {
	c := t.total()
	stale := false
	for _, w := range slices.Clone(t.nominees) { // an ended nomination may free space for the next
		if len(t.preemptingOn(w.nominated)) > 0 || t.nominationFeasible(c, w) {
			continue
		}
		stale = true
		t.abandonNomination(w)
	}
	if stale {
		return true
	}
	firsts := t.firstOfEachGroup(c)
	for _, w := range firsts { // also if a group before it preempts, and another ask of its group is the first then
		if at, ok := t.backedOff[t.askGroupKey(w.ask)]; ok && t.mayPreempt(w) && len(t.delayEnds(w, at, t.now)) > 0 {
			delete(t.backedOff, t.askGroupKey(w.ask))
		}
	}
	for _, w := range firsts {
		if at, ok := t.backedOff[t.askGroupKey(w.ask)]; ok && t.now.Before(at.Add(backOff)) {
			continue
		}
		if !t.mayPreempt(w) {
			continue
		}
		if t.preemptsAsGang(w) {
			if t.preemptGang(c, w) {
				delete(t.backedOff, t.askGroupKey(w.ask))
				return true
			}
			delete(t.resumeAfter, t.askGroupKey(w.ask))
		} else if t.preemptForGroup(c, t.askGroupKey(w.ask)) {
			delete(t.backedOff, t.askGroupKey(w.ask))
			return true
		}
		t.backedOff[t.askGroupKey(w.ask)] = t.now
	}
	return false
}

// preemptForGroup tries the asks of a group one after the other as long as the RM rejects them, up to a
// bound; the next evaluation continues after them (ADR 43).
func (t *Twin) preemptForGroup(c *totals, kind string) bool {
	asks := filter(t.allocations,
		func(w *allocation) bool { return w.node == "" && w.nominated == "" && t.askGroupKey(w.ask) == kind })
	slices.SortFunc(asks, t.compareAsks)
	if last, ok := t.resumeAfter[kind]; ok {
		behind := filter(asks, func(w *allocation) bool { return t.compareAsks(w, &last) > 0 })
		asks = append(behind, filter(asks, func(w *allocation) bool { return t.compareAsks(w, &last) <= 0 })...)
	}
	for i, w := range asks {
		if i == t.maxRefusals {
			t.resumeAfter[kind] = *asks[i-1]
			t.stoppedAtRefusalBound++
			return false
		}
		t.oracleRefused = false
		if p, reason, ok := t.planVictims(c, w); ok {
			t.preemptAndNominate(w, p, reason)
			if i > 0 {
				t.resumeAfter[kind] = *asks[i-1]
			}
			if _, behind := t.resumeAfter[kind]; behind {
				t.preemptedAfterRefused++
			}
			return true
		}
		if !t.oracleRefused {
			break
		}
	}
	delete(t.resumeAfter, kind)
	return false
}

// planVictims finds victims for the first reason that has any.
func (t *Twin) planVictims(c *totals, w *allocation) (p plan, reason string, ok bool) {
	for _, reason := range t.preemptionReasons(c, w) {
		if p, ok := t.bestPlan(c, w, reason); ok {
			return p, reason, true
		}
		if p, ok := t.planCrossNode(c, w, reason); ok {
			return p, reason, true
		}
	}
	return plan{}, "", false
}

// nominationFeasible reports whether w can be bound to its nominated node, now or after the victims
// that block its quotas are released.
func (t *Twin) nominationFeasible(c *totals, w *allocation) bool {
	obstacle, limited := t.limitObstacle(c, w)
	blocked := limited && obstacle != scheduler.NoLimitHeadroom
	return t.fitsNominatedNode(c, w) && !blocked && t.applicationMayStart(c, w) && t.quotasAllowWithout(c, w, nil) &&
		t.predicatesPass(t.node(w.nominated), w.ask)
}

// firstOfEachGroup returns the asks without a nomination, in order, one of each group.
func (t *Twin) firstOfEachGroup(c *totals) (firsts []*allocation) {
	for _, q := range t.leavesInOrder(c, t.root) {
		for _, a := range t.allAppsInOrder(c, q) {
			asks := slices.Clone(c.apps[a.id].asks)
			slices.SortFunc(asks, t.compareAsks)
			var kinds []string
			found := map[string]*allocation{}
			for _, w := range asks {
				kind := t.askGroupKey(w.ask)
				if !slices.Contains(kinds, kind) {
					kinds = append(kinds, kind)
				}
				if found[kind] == nil && w.nominated == "" {
					found[kind] = w
				}
			}
			for _, kind := range kinds {
				if w := found[kind]; w != nil {
					firsts = append(firsts, w)
				}
			}
		}
	}
	return firsts
}

func (t *Twin) leavesInOrder(c *totals, q *queue) (leaves []*queue) {
	if !q.conf.Parent {
		return []*queue{q}
	}
	for _, child := range t.childrenInOrder(c, q) {
		leaves = append(leaves, t.leavesInOrder(c, child)...)
	}
	return leaves
}

// waitsForVictims reports whether w will be placed once all victims are released.
func (t *Twin) waitsForVictims(c *totals, w *allocation) bool {
	return t.quotasAllowWithout(c, w, nil) &&
		find(t.nodes, func(n *node) bool { return c.fits(n, w.ask) && t.predicatesPass(n, w.ask) }) != nil
}

// mayPreempt reports whether the configuration allows w to preempt.
func (t *Twin) mayPreempt(w *allocation) bool {
	if t.heldBack(w) {
		return false
	}
	leaf := t.queue(t.app(w.ask.App).leaf)
	if t.ignorePriority {
		return w.ask.RequiredNode() != ""
	}
	if w.ask.RequiredNode() != "" || !t.preemption || leaf.conf.PriorityPreemption != policies.PriorityPreemptionDisabled {
		return w.ask.RequiredNode() != "" || t.preemption
	}
	for _, q := range slices.Backward(t.pathQueues(leaf.path)) {
		if len(q.guaranteed().Map()) > 0 || q.conf.FairShare {
			return true
		}
		if q.conf.PreemptionPolicy == policies.PreemptFence {
			break
		}
	}
	return false
}

// preemptionReasons returns the reasons for which w may preempt (PRE-7, PRE-8, PRE-126).
func (t *Twin) preemptionReasons(c *totals, w *allocation) (reasons []string) {
	leaf := t.queue(t.app(w.ask.App).leaf)
	obstacle, limited := t.limitObstacle(c, w)
	switch {
	case limited && obstacle != scheduler.NoLimitHeadroom || !t.applicationMayStart(c, w) || t.waitsForVictims(c, w):
		return nil
	case !w.ask.Policy.AllowPreemptOther() || t.ignorePriority:
		return nil
	case w.ask.RequiredNode() != "":
		return []string{"required node"}
	case !t.preemption:
		return nil
	}
	if !t.now.Before(w.created.Add(leaf.conf.PreemptionDelay)) {
		if t.entitlingQueue(c, w) != nil {
			reasons = append(reasons, "guarantee")
		}
		if len(t.belowFairShare(c, w)) > 0 {
			reasons = append(reasons, "fair share")
		}
	}
	if leaf.conf.PriorityPreemption != policies.PriorityPreemptionDisabled &&
		!t.now.Before(w.created.Add(leaf.conf.PriorityPreemptionDelay)) {
		reasons = append(reasons, "priority")
	}
	return reasons
}

// entitlingQueue returns the queue whose guarantee entitles w to preempt.
func (t *Twin) entitlingQueue(c *totals, w *allocation) *queue {
	for _, q := range slices.Backward(t.pathQueues(t.app(w.ask.App).leaf)) {
		within, beyond := t.againstGuarantee(c, q, w)
		switch {
		case len(within) > 0 && (len(beyond) == 0 || q.conf.PreemptionGuarantee == policies.PreemptionGuaranteeLacking):
			return q
		case len(within)+len(beyond) > 0 || q.conf.PreemptionPolicy == policies.PreemptFence:
			return nil
		}
	}
	return nil
}

// projectedUsage returns the usage of q without victims and with nominated asks.
func (t *Twin) projectedUsage(c *totals, q *queue, victims []*allocation) resources.Amounts {
	used := c.allocated[q.path]
	for _, w := range t.allocations {
		if w.preempting && !w.overdue && q.contains(t.app(w.ask.App).leaf) {
			used = used.Sub(w.ask.Amounts)
		}
	}
	for _, w := range t.nominees {
		if q.contains(t.app(w.ask.App).leaf) {
			used = used.Add(w.ask.Amounts)
		}
	}
	for _, w := range victims {
		if q.contains(t.app(w.ask.App).leaf) {
			used = used.Sub(w.ask.Amounts)
		}
	}
	return used
}

// quotasAllowWithout checks all quotas and limits without the victims.
func (t *Twin) quotasAllowWithout(c *totals, w *allocation, victims []*allocation) bool {
	return len(t.shortfalls(c, w, victims)) == 0
}

// shortfalls returns what quotas and limits lack then, by owner and resource.
func (t *Twin) shortfalls(c *totals, w *allocation, victims []*allocation) map[string]resources.Quantity {
	missing := map[string]resources.Quantity{}
	note := func(owner any, most resources.Limit, used resources.Amounts) {
		for name, n := range w.ask.Amounts.All() {
			if bound, ok := most.Get(name); ok && n > 0 && n > max(0, resources.SubSaturated(bound, used.Get(name))) {
				missing[fmt.Sprint(owner, name)] = resources.SubSaturated(n, resources.SubSaturated(bound, used.Get(name)))
			}
		}
	}
	for _, q := range t.pathQueues(t.app(w.ask.App).leaf) {
		used := t.projectedUsage(c, q, victims)
		for _, x := range t.nominees { // neither its own nomination, nor those of lower priority
			if x == w || x.ask.Priority < w.ask.Priority && q.contains(t.app(x.ask.App).leaf) {
				used = used.Sub(x.ask.Amounts)
			}
		}
		if q != t.root {
			note(q.path, q.max(), used)
			continue
		}
		for name, n := range w.ask.Amounts.All() {
			if left := c.free(used).Get(name); n > 0 && n > left {
				missing["cluster "+name] = resources.SubSaturated(n, left)
			}
		}
	}
	for i, b := range c.apps[w.ask.App].limits {
		held := t.usageOf(c, b).resources
		is := func(x *allocation) bool {
			a := t.app(x.ask.App)
			return b.queue.contains(a.leaf) && t.countsFor(c, a, b.holder)
		}
		for _, x := range t.allocations {
			if x.preempting && !x.overdue && is(x) || slices.Contains(victims, x) && is(x) {
				held = held.Sub(x.ask.Amounts)
			}
		}
		for _, x := range t.nominees {
			if x != w && x.ask.Priority >= w.ask.Priority && is(x) {
				held = held.Add(x.ask.Amounts)
			}
		}
		note(i, b.MaxResources, held)
	}
	return missing
}

func (t *Twin) preemptAndNominate(w *allocation, p plan, reason string) {
	t.unnominate(w)
	for _, other := range slices.Clone(t.nominees) {
		if other.nominated == p.node.id && other.ask.Priority < w.ask.Priority {
			t.unnominate(other)
		}
	}
	t.unreserve(w)
	for _, other := range t.reservedOn(p.node.id) {
		if other.ask.Priority <= w.ask.Priority {
			t.unreserve(other)
		}
	}
	w.nominated, w.nominatedAt = p.node.id, t.now
	t.nominees = append(t.nominees, w)
	for _, y := range p.victims {
		y.preempting, y.preemptingSince = true, t.now
		t.emit(scheduler.Released{Key: y.ask.Key, App: y.ask.App, Type: scheduler.PreemptedByScheduler,
			Message: fmt.Sprintf("preempted (%s) for ask %s of application %s", reason, w.ask.Key, w.ask.App)})
	}
	t.recordPreemption(w, p.victims)
}
