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

// Preemption once more, from the principles P1 to P11. What cannot be counted is remembered:
// who was told to leave, who waits for which node, and who looked in vain, and when.

// retry is how long one that looked in vain does not look again.
const retry = 5 * time.Second

// kindOfAsk is all that decides what an ask could take.
func kindOfAsk(ask *objects.Ask) string {
	return fmt.Sprint(ask.App, ask.Priority, ask.RequiredNode, ask.Amounts, ask.Policy.Other(), ask.TaskGroup)
}

// forgetKinds forgets who looked in vain and is not pending any more.
func (t *Twin) forgetKinds() {
	t.loseNominations()
	maps.DeleteFunc(t.refused, func(kind string, _ work) bool {
		return !slices.ContainsFunc(t.work, func(w *work) bool { return w.node == "" && kindOfAsk(w.ask) == kind })
	})
	for kind := range t.tried {
		if !slices.ContainsFunc(t.work, func(w *work) bool { return w.node == "" && kindOfAsk(w.ask) == kind }) {
			delete(t.tried, kind)
		}
	}
}

// nominee is the first, of those who wait for a node, that may have it now.
func (t *Twin) nominee() (*work, objects.NodeID) {
	c := t.count()
	for _, w := range t.nominees {
		_, limited := t.limited(c, w)
		if t.fitsThere(c, w) && !limited && t.withinQuota(c, w) && t.mayStart(c, w) && t.accepts(t.node(w.nominated), w.ask) {
			return w, w.nominated
		}
	}
	return nil, ""
}

func (t *Twin) mayStart(c *counts, w *work) bool {
	a := t.app(w.ask.App)
	return find(t.appsInOrder(c, t.queue(a.leaf)), func(x *app) bool { return x == a }) != nil
}

func (t *Twin) fitsThere(c *counts, w *work) bool {
	n := t.node(w.nominated)
	return n.accepts(w.ask) && t.roomFor(c, w, n).Covers(w.ask.Amounts)
}

// roomFor is what w may use of n beside the nominees that are as important.
func (t *Twin) roomFor(c *counts, w *work, n *node) resources.Amounts {
	room := c.available(n)
	for _, other := range t.nominees {
		if other != w && other.nominated == n.id && other.ask.Priority >= w.ask.Priority {
			room = room.Sub(other.ask.Amounts)
		}
	}
	return room
}

func (t *Twin) unnominate(w *work) {
	w.nominated = ""
	t.nominees = slices.DeleteFunc(t.nominees, func(x *work) bool { return x == w })
}

// loseNominations forgets those of whom is pending no more, or whose node is not to be had.
func (t *Twin) loseNominations() {
	t.nominees = slices.DeleteFunc(t.nominees, func(w *work) bool {
		n := t.node(w.nominated)
		lost := !slices.Contains(t.work, w) || w.node != "" || n == nil || !n.accepts(w.ask)
		if lost {
			w.nominated = ""
		}
		return lost
	})
}

// preempt tells those to leave whom the first ask may take that may take anybody.
func (t *Twin) preempt() bool {
	c := t.count()
	stale := false
	for _, w := range slices.Clone(t.nominees) { // one that gives up may make room for the next
		if len(t.leavingOn(w.nominated)) > 0 || t.promising(c, w) {
			continue
		}
		stale = true
		t.giveUp(w)
	}
	if stale {
		return true
	}
	for _, w := range t.firstOfEachKind(c) {
		if at, ok := t.tried[kindOfAsk(w.ask)]; ok && t.now.Before(at.Add(retry)) && len(t.delaysEnd(w, at, t.now)) == 0 {
			continue
		}
		if !t.mayClaim(w) {
			continue
		}
		if t.gang(w) {
			if t.preemptTogether(c, w) {
				delete(t.tried, kindOfAsk(w.ask))
				return true
			}
			delete(t.refused, kindOfAsk(w.ask))
		} else if t.preemptForKind(c, kindOfAsk(w.ask)) {
			delete(t.tried, kindOfAsk(w.ask))
			return true
		}
		t.tried[kindOfAsk(w.ask)] = t.now
	}
	return false
}

// preemptForKind tries the asks of a kind, one after the other as long as the RM refuses them, but
// not more of these than there may be: then it goes on behind them the next time (ADR 43).
func (t *Twin) preemptForKind(c *counts, kind string) bool {
	asks := filter(t.work, func(w *work) bool { return w.node == "" && w.nominated == "" && kindOfAsk(w.ask) == kind })
	slices.SortFunc(asks, t.compareAsks)
	if last, ok := t.refused[kind]; ok {
		behind := filter(asks, func(w *work) bool { return t.compareAsks(w, &last) > 0 })
		asks = append(behind, filter(asks, func(w *work) bool { return t.compareAsks(w, &last) <= 0 })...)
	}
	for i, w := range asks {
		if i == t.refusals {
			t.refused[kind] = *asks[i-1]
			t.wentOn++
			return false
		}
		t.saidNo = false
		if p, right, ok := t.planAny(c, w); ok {
			t.carryOut(w, p, right)
			if i > 0 {
				t.refused[kind] = *asks[i-1]
			}
			if _, behind := t.refused[kind]; behind {
				t.behindRefused++
			}
			return true
		}
		if !t.saidNo {
			break
		}
	}
	delete(t.refused, kind)
	return false
}

// planAny tries one right after the other.
func (t *Twin) planAny(c *counts, w *work) (p plan, right string, ok bool) {
	for _, right := range t.rights(c, w) {
		if p, ok := t.bestPlan(c, w, right); ok {
			return p, right, true
		}
		if p, ok := t.planAcross(c, w, right); ok {
			return p, right, true
		}
	}
	return plan{}, "", false
}

// promising says whether w can have the node it waits for, now or when those have left who
// are in the way of its quotas.
func (t *Twin) promising(c *counts, w *work) bool {
	barrier, limited := t.limited(c, w)
	barred := limited && barrier != scheduler.OverLimit
	return t.fitsThere(c, w) && !barred && t.mayStart(c, w) && t.allowedWithout(c, w, nil) && t.accepts(t.node(w.nominated), w.ask)
}

// firstOfEachKind are the asks that wait for no node yet, in turn, one of each kind.
func (t *Twin) firstOfEachKind(c *counts) (firsts []*work) {
	for _, q := range t.leavesInOrder(c, t.root) {
		apps := filter(t.apps, func(a *app) bool { return a.leaf == q.path && len(c.apps[a.id].asks) > 0 })
		for _, a := range sorted(apps, func(a *app) policies.AppKey { return t.appKey(c, a) }, func(a, b *policies.AppKey) int {
			return compareApps(a, b, q.conf.Sort, t.by(q))
		}) {
			asks := slices.Clone(c.apps[a.id].asks)
			slices.SortFunc(asks, t.compareAsks)
			var kinds []string
			found := map[string]*work{}
			for _, w := range asks {
				kind := kindOfAsk(w.ask)
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

func (t *Twin) leavesInOrder(c *counts, q *queue) (leaves []*queue) {
	if !q.conf.Parent {
		return []*queue{q}
	}
	for _, child := range t.childrenInOrder(c, q) {
		leaves = append(leaves, t.leavesInOrder(c, child)...)
	}
	return leaves
}

// onlyWaits reports whether w will be placed as soon as those have left who were told to.
func (t *Twin) onlyWaits(c *counts, w *work) bool {
	return t.allowedWithout(c, w, nil) && find(t.nodes, func(n *node) bool { return c.hasRoom(n, w.ask) && t.accepts(n, w.ask) }) != nil
}

// mayClaim says whether the configuration gives w any right.
func (t *Twin) mayClaim(w *work) bool {
	leaf := t.queue(t.app(w.ask.App).leaf)
	if t.even {
		return w.ask.RequiredNode != ""
	}
	if w.ask.RequiredNode != "" || !t.preemption || leaf.conf.PrioritySwap != policies.PrioritySwapNone {
		return w.ask.RequiredNode != "" || t.preemption
	}
	for _, q := range slices.Backward(t.along(leaf.path)) {
		if len(q.conf.Guaranteed.Map()) > 0 {
			return true
		}
		if q.conf.Preemption == policies.PreemptFence {
			break
		}
	}
	return false
}

// rights are the reasons for which w may take somebody's place (P2, P8).
func (t *Twin) rights(c *counts, w *work) (rights []string) {
	leaf := t.queue(t.app(w.ask.App).leaf)
	barrier, limited := t.limited(c, w)
	switch {
	case limited && barrier != scheduler.OverLimit || !t.mayStart(c, w) || t.onlyWaits(c, w):
		return nil
	case !w.ask.Policy.Other() || t.even:
		return nil
	case w.ask.RequiredNode != "":
		return []string{"required node"}
	case !t.preemption:
		return nil
	}
	if t.owed(c, w) != nil && !t.now.Before(w.created.Add(leaf.conf.PreemptionDelay)) {
		rights = append(rights, "guarantee")
	}
	if leaf.conf.PrioritySwap != policies.PrioritySwapNone && !t.now.Before(w.created.Add(leaf.conf.PriorityDelay)) {
		rights = append(rights, "priority")
	}
	return rights
}

// owed is the queue by whose guarantee w is entitled.
func (t *Twin) owed(c *counts, w *work) *queue {
	for _, q := range slices.Backward(t.along(t.app(w.ask.App).leaf)) {
		about, within := false, true
		used := t.usedIn(c, q, nil).Add(w.ask.Amounts)
		for name, n := range w.ask.Amounts.All() {
			if g, ok := q.conf.Guaranteed.Get(name); ok && n > 0 {
				about = true
				within = within && used.Get(name) <= g
			}
		}
		if about && within {
			return q
		}
		if about || q.conf.Preemption == policies.PreemptFence {
			return nil
		}
	}
	return nil
}

// usedIn is what q holds without those who leave and with those who wait for a node.
func (t *Twin) usedIn(c *counts, q *queue, victims []*work) resources.Amounts {
	used := c.allocated[q.path]
	for _, w := range t.work {
		if w.leaving && !w.overdue && q.within(t.app(w.ask.App).leaf) {
			used = used.Sub(w.ask.Amounts)
		}
	}
	for _, w := range t.nominees {
		if q.within(t.app(w.ask.App).leaf) {
			used = used.Add(w.ask.Amounts)
		}
	}
	for _, w := range victims {
		if q.within(t.app(w.ask.App).leaf) {
			used = used.Sub(w.ask.Amounts)
		}
	}
	return used
}

// allowedWithout asks all quotas and limits about the time when the victims have gone.
func (t *Twin) allowedWithout(c *counts, w *work, victims []*work) bool {
	return len(t.stillMissing(c, w, victims)) == 0
}

// stillMissing is what quotas and limits lack then, by whose it is and by resource.
func (t *Twin) stillMissing(c *counts, w *work, victims []*work) map[string]resources.Quantity {
	missing := map[string]resources.Quantity{}
	note := func(whose any, most resources.Limit, used resources.Amounts) {
		for name, n := range w.ask.Amounts.All() {
			if bound, ok := most.Get(name); ok && n > 0 && n > max(0, resources.Less(bound, used.Get(name))) {
				missing[fmt.Sprint(whose, name)] = resources.Less(n, resources.Less(bound, used.Get(name)))
			}
		}
	}
	for _, q := range t.along(t.app(w.ask.App).leaf) {
		used := t.usedIn(c, q, victims)
		for _, x := range t.nominees { // not beside itself, and before the less important
			if x == w || x.ask.Priority < w.ask.Priority && q.within(t.app(x.ask.App).leaf) {
				used = used.Sub(x.ask.Amounts)
			}
		}
		if q != t.root {
			note(q.path, q.conf.Max, used)
			continue
		}
		for name, n := range w.ask.Amounts.All() {
			if left := c.capacity.Sub(used).Get(name); n > 0 && n > left {
				missing["cluster "+name] = resources.Less(n, left)
			}
		}
	}
	for i, b := range c.apps[w.ask.App].bounds {
		held := t.holds(c, b).held
		is := func(x *work) bool {
			a := t.app(x.ask.App)
			return b.q.within(a.leaf) && t.isOf(c, a, b.holder)
		}
		for _, x := range t.work {
			if x.leaving && !x.overdue && is(x) || slices.Contains(victims, x) && is(x) {
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

func (t *Twin) carryOut(w *work, p plan, right string) {
	t.unnominate(w)
	for _, other := range slices.Clone(t.nominees) {
		if other.nominated == p.n.id && other.ask.Priority < w.ask.Priority {
			t.unnominate(other)
		}
	}
	w.nominated, w.waits = p.n.id, t.now
	t.nominees = append(t.nominees, w)
	for _, y := range p.victims {
		y.leaving, y.told = true, t.now
		t.emit(scheduler.Released{Key: y.ask.Key, App: y.ask.App, Type: scheduler.PreemptedByScheduler, Message: fmt.Sprintf("preempted by right of %s for ask %s of application %s", right, w.ask.Key, w.ask.App)})
	}
	t.took(w, p.victims)
}
