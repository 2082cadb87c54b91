package twin

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/budgets"
	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/priorities"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// Backfill (RES-12 to RES-18). What is stored is which allocations are backfilled.

// hasAffinity reports whether an ask has constraints on other allocations.
func (t *Twin) hasAffinity(ask *objects.Ask) bool { return t.affinityOf(ask) != nil }

func (t *Twin) backfills() bool { return t.reservation.Backfill == configs.BackfillBounded }

// goneAt returns when an allocation has ended at the latest; zero: nothing says when.
func (t *Twin) goneAt(w *allocation) (at time.Time) {
	if w.ending {
		at = w.goneAsAsked
	} else if w.runBound > 0 && !(w.preempting && !w.runDue.After(t.now)) {
		at = w.runDue.Add(priorities.GracePeriodOf(w.ask.Tags()))
		if w.preempting {
			at = w.goneIfAsked(w.preemptingSince)
		}
	}
	if at.Before(t.now) {
		return time.Time{} // it is overdue
	}
	return at
}

// goneIfAsked returns when an allocation has ended at the latest that is asked to end at a time; zero: nothing says.
func (w *allocation) goneIfAsked(at time.Time) time.Time {
	grace := priorities.GracePeriodOf(w.ask.Tags())
	switch {
	case w.runBound == 0:
		return time.Time{}
	case at.Before(w.runDue):
		return at.Add(grace)
	}
	return w.runDue.Add(grace)
}

// wouldBeGone returns when a pending ask has ended at the latest if it is bound now; zero: nothing says when.
func (t *Twin) wouldBeGone(w *allocation) (at time.Time) {
	conf, bound := t.queue(t.app(w.ask.App).leaf).conf.RunTime, t.maxRunTime(w)
	if conf.Enforced && bound > 0 {
		at = t.now.Add(bound + conf.Grace + priorities.GracePeriodOf(w.ask.Tags()))
	}
	return at
}

// placements are asks, and for each the node that it has reserved or may reserve.
type placements struct {
	asks []*allocation
	on   []objects.NodeID
}

// reservations returns the reservations, the oldest first; those of a gang are one.
func (t *Twin) reservations() (all []placements) {
	together := false
	for _, w := range t.reserving {
		switch {
		case !w.together:
			all = append(all, placements{[]*allocation{w}, []objects.NodeID{w.reserved}})
		case !together:
			together = true
			var p placements
			for _, x := range t.reservedTogether() {
				p.asks, p.on = append(p.asks, x), append(p.on, x.reserved)
			}
			all = append(all, p)
		}
	}
	return all
}

// fitTogether reports whether all of p fit their nodes once everything has ended that is gone at a time.
func (t *Twin) fitTogether(c *totals, p placements, at time.Time) bool {
	return !slices.ContainsFunc(p.on, func(id objects.NodeID) bool {
		return t.missing(c, p, id, t.goneBy(at)) != nil
	})
}

// missing returns the names of the resources that p lacks on a node beside what is held there for others, once those
// have ended for which gone returns true.
func (t *Twin) missing(c *totals, p placements, on objects.NodeID, gone func(*allocation) bool) []string {
	var requested resources.Amounts
	for i, w := range p.asks {
		if p.on[i] == on {
			requested = requested.Add(w.ask.Amounts)
		}
	}
	return t.missingOf(c, requested, on, func(w *allocation) bool { return slices.Contains(p.asks, w) }, gone)
}

// missingOf is missing of what is requested on the node, where what is held for own asks does not count.
func (t *Twin) missingOf(c *totals, requested resources.Amounts, on objects.NodeID, own,
	gone func(*allocation) bool) (names []string) {
	free := t.freeBesideReserved(c, t.node(on))
	for _, w := range t.reservedOn(on) {
		if !own(w) {
			free = free.Sub(w.ask.Amounts)
		}
	}
	for _, y := range t.allocations {
		if y.node == on && gone(y) {
			free = free.Add(y.ask.Amounts)
		}
	}
	for name, wanted := range requested.All() {
		if wanted > 0 && wanted > free.Get(name) {
			names = append(names, name)
		}
	}
	return names
}

// goneBy returns what has ended at a time.
func (t *Twin) goneBy(at time.Time) func(*allocation) bool {
	return func(y *allocation) bool { return !t.goneAt(y).IsZero() && !t.goneAt(y).After(at) }
}

// never is later than any end.
var never = time.Unix(1<<40, 0)

// latestOn returns when what is requested of a node is free at the latest; zero: now.
func (t *Twin) latestOn(c *totals, requested resources.Amounts, on objects.NodeID,
	own func(*allocation) bool) time.Time {
	t.updateRunTimes() // of what was bound by this run
	if t.missingOf(c, requested, on, own, t.goneBy(time.Time{})) == nil {
		return time.Time{}
	}
	var times []time.Time
	for _, y := range t.allocations {
		if end := t.goneAt(y); !end.IsZero() && y.node == on {
			times = append(times, end)
		}
	}
	slices.SortFunc(times, time.Time.Compare)
	for _, end := range times {
		if t.missingOf(c, requested, on, own, t.goneBy(end)) == nil {
			return end
		}
	}
	return never
}

// freeBesideReserved returns what n has beside what is held for nominated asks and replacements.
func (t *Twin) freeBesideReserved(c *totals, n *node) resources.Amounts {
	free := c.available(n).Sub(c.nominatedOnNode[n.id])
	for _, x := range t.reservedOn(n.id) {
		free = free.Add(x.ask.Amounts)
	}
	return free
}

// latest returns when all of p fit at the latest; zero: now. known is false if nothing says when.
func (t *Twin) latest(c *totals, p placements) (at time.Time, known bool) {
	t.updateRunTimes() // of what was bound by this run
	if t.fitTogether(c, p, at) {
		return at, true
	}
	var times []time.Time
	for _, y := range t.allocations {
		if end := t.goneAt(y); !end.IsZero() && slices.Contains(p.on, y.node) {
			times = append(times, end)
		}
	}
	slices.SortFunc(times, time.Time.Compare)
	for _, end := range times {
		if t.fitTogether(c, p, end) {
			return end, true
		}
	}
	return at, false
}

// reservedNodes returns the reserved nodes that are looked at, by the age of their reservations.
func (t *Twin) reservedNodes() (nodes []*node) {
	for _, p := range t.reservations() {
		for _, id := range p.on {
			if n := t.node(id); !slices.Contains(nodes, n) && len(nodes) < t.reservation.BackfillNodes {
				nodes = append(nodes, n)
			}
		}
	}
	return nodes
}

// backfill binds the first ask that may use what is reserved. The law is told as it is: no reservation can be used
// later with the ask on the node than without it.
func (t *Twin) backfill() bool {
	if !t.backfills() || slices.ContainsFunc(t.reserving, func(w *allocation) bool { return t.hasAffinity(w.ask) }) {
		return false
	}
	c := t.total()
	for _, w := range t.backfillCandidates(c) {
		if !t.mayBeBackfilled(w) {
			continue
		}
		n := find(t.reservedNodes(), func(n *node) bool {
			return n.admits(w.ask) && t.freeBesideReserved(c, n).Covers(w.ask.Amounts) && t.delaysNone(w, n)
		})
		if n != nil && t.leavesRoom(w) && t.predicatesPass(n, w.ask) {
			w.backfilled = true
			t.bind(w, n.id)
			return true
		}
	}
	return false
}

// backfillCandidates returns the first asks, in order, that fit a reserved node but for reservations, and no other.
func (t *Twin) backfillCandidates(c *totals) []*allocation {
	nodes := t.reservedNodes()
	asks := t.inSelectionOrder(c, filter(t.allocations, func(w *allocation) bool {
		_, limited := t.limitObstacle(c, w)
		return w.node == "" && w.nominated == "" && w.reserved == "" && !t.heldBack(w) && t.replaces(w) == nil &&
			!limited && t.withinQuota(c, w) && t.applicationMayStart(c, w) &&
			find(t.nodes, func(n *node) bool { return c.fits(n, w.ask) }) == nil &&
			find(nodes, func(n *node) bool {
				return n.admits(w.ask) && t.freeBesideReserved(c, n).Covers(w.ask.Amounts)
			}) != nil
	}))
	return asks[:min(len(asks), t.reservation.BackfillAsks)]
}

// mayBeBackfilled reports whether an ask has a bound, may be released early, and no other allocation minds where it is.
func (t *Twin) mayBeBackfilled(w *allocation) bool {
	if may, _ := mayBackfill(w.ask.Tags()); !may {
		return false
	}
	selected := slices.ContainsFunc(t.budgets, func(b budgets.Budget) bool { return budgetSelects(&b, w.ask.Tags()) })
	return !t.wouldBeGone(w).IsZero() && w.ask.RequiredNode() == "" && w.ask.Policy.AllowPreemptSelf() && !selected &&
		!t.hasAffinity(w.ask)
}

// mayBackfill reads whether an ask may be backfilled; it may unless it says otherwise.
func mayBackfill(tags map[string]string) (may, readable bool) {
	for _, tag := range []string{"canopy.scheduler/backfill", "kubernetes.io/label/canopy.scheduler/backfill"} {
		if text, sent := tags[tag]; sent {
			may, err := strconv.ParseBool(text)
			return may, err == nil
		}
	}
	return true, true
}

// delaysNone reports whether every reservation of n has a known time, which stays the same with w on n.
func (t *Twin) delaysNone(w *allocation, n *node) bool {
	c := t.total()
	of := slices.DeleteFunc(t.reservations(), func(p placements) bool { return !slices.Contains(p.on, n.id) })
	before := make([]time.Time, len(of))
	for i, p := range of {
		at, known := t.latest(c, p)
		if !known {
			return false
		}
		before[i] = at
	}
	with := *w
	with.node, with.boundAt, with.runBound = n.id, t.now, t.maxRunTime(w)
	conf := t.queue(t.app(w.ask.App).leaf).conf.RunTime
	with.runDue = t.now.Add(with.runBound + conf.Grace)
	t.allocations = append(t.allocations, &with)
	defer func() { t.allocations = t.allocations[:len(t.allocations)-1] }()
	c = t.total()
	for i, p := range of {
		if at, known := t.latest(c, p); !known || !at.Equal(before[i]) {
			return false
		}
	}
	return true
}

// leavesRoom reports whether the quotas and limits of w have room for it beside all reserved asks.
func (t *Twin) leavesRoom(w *allocation) bool {
	c := t.total()
	for _, x := range t.reserving {
		a := t.app(x.ask.App)
		defer func(askedAgain bool) { a.askedAgain = askedAgain }(a.askedAgain)
		t.countAsPlaced(c, x)
		a.askedAgain = false
	}
	_, limited := t.limitObstacle(c, w)
	return !limited && t.withinQuotaOfQueues(c, w)
}

// releaseBackfilled orders the end of the backfilled allocations without which the oldest reservation could be used.
func (t *Twin) releaseBackfilled() bool {
	for _, p := range t.reservations() {
		if ending := t.inTheWayOf(p); len(ending) > 0 {
			for _, y := range ending {
				y.goneAsAsked = y.goneIfAsked(t.now)
				y.ending = true
				t.emit(scheduler.Released{Key: y.ask.Key, App: y.ask.App, Type: scheduler.PreemptedByScheduler,
					Message: fmt.Sprintf("backfilled: reserved ask %s of application %s fits without it", p.asks[0].ask.Key,
						p.asks[0].ask.App)})
			}
			return true
		}
	}
	return false
}

// inTheWayOf returns the backfilled allocations that have to end so that all of p fit; none if they do, or if they
// could not be placed then.
func (t *Twin) inTheWayOf(p placements) (ending []*allocation) {
	c, a := t.total(), t.app(p.asks[0].ask.App)
	switch {
	case !t.applicationMayStart(c, p.asks[0]):
		return nil
	case p.asks[0].together && t.quotaBlocksTogether(a, t.byShape(c, slices.Clone(p.asks)), false, resources.Amounts{}):
		return nil
	case !p.asks[0].together && !t.withinQuotaOfQueues(c, p.asks[0]):
		return nil
	}
	gone := func(y *allocation) bool {
		return y.backfilled && (y.ending || y.preempting) || slices.Contains(ending, y)
	}
	for _, id := range slices.Compact(slices.Sorted(slices.Values(p.on))) {
		on := filter(t.allocations, func(y *allocation) bool { return y.node == id && y.backfilled && !gone(y) })
		slices.SortFunc(on, func(x, y *allocation) int {
			return cmp.Or(y.boundAt.Compare(x.boundAt), cmp.Compare(x.ask.Key, y.ask.Key))
		})
		before := len(ending)
		for _, y := range on {
			lacks := t.missing(c, p, id, gone)
			if slices.ContainsFunc(lacks, func(name string) bool { return y.ask.Amounts.Get(name) > 0 }) {
				ending = append(ending, y)
			}
		}
		if t.missing(c, p, id, gone) != nil {
			return nil
		}
		for i := len(ending) - 1; i >= before; i-- {
			all := ending
			ending = slices.Delete(slices.Clone(all), i, i+1)
			if t.missing(c, p, id, gone) != nil {
				ending = all
			}
		}
	}
	slices.SortStableFunc(ending, func(x, y *allocation) int {
		return cmp.Compare(slices.Index(p.on, x.node), slices.Index(p.on, y.node))
	})
	for i, w := range p.asks {
		if !t.affinityAllows(t.node(p.on[i]), w.ask, ending) {
			return nil
		}
	}
	return ending
}

// backfillKeeps reports whether a reservation does not time out, because it is known when it can be used.
func (t *Twin) backfillKeeps(w *allocation) bool {
	for _, p := range t.reservations() {
		if t.backfills() && slices.Contains(p.asks, w) {
			_, known := t.latest(t.total(), p)
			return known
		}
	}
	return false
}
