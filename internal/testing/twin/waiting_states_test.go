package twin

import (
	"slices"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// waitingInterval is the time from a command to the evaluation of the waiting states.
const waitingInterval = time.Second

// onCommand evaluates the waiting states because of a command.
func (t *Twin) onCommand(cmd scheduler.Command) {
	_, woken := cmd.(scheduler.Wake)
	switch {
	case !slices.ContainsFunc(t.allocations, func(w *allocation) bool { return w.node == "" }):
		t.waitingDueAt, t.waitingDue = time.Time{}, false
	case t.waitingDueAt.IsZero() && !(woken && t.waitingDue):
		t.waitingDueAt = t.now.Add(waitingInterval)
	}
}

func (t *Twin) serveWaitingDeadline() {
	if !t.waitingDueAt.IsZero() && !t.now.Before(t.waitingDueAt) {
		t.waitingDueAt, t.waitingDue = time.Time{}, true
	}
}

// reportWaiting places ask after ask on a node without end, within the quotas, and says of each that was not said to be
// so whether it can be placed there (ASK-62, ASK-63).
func (t *Twin) reportWaiting() {
	if !t.waitingDue {
		return
	}
	t.waitingDue = false
	now, after := t.total(), t.total()
	var started []*app
	place := func(w *allocation) {
		a := t.app(w.ask.App)
		t.countAsPlaced(after, w)
		if a.askedAgain {
			a.askedAgain = false
			started = append(started, a)
		}
	}
	for _, w := range t.nominees {
		place(w)
	}
	for _, w := range t.allAsksByGroup(now) {
		together := t.waitsForMembers(w)
		if w.nominated != "" || t.replaces(w) != nil || t.heldBack(w) && !together {
			continue
		}
		blocked, alone := false, w.ask.Amounts
		a := t.app(w.ask.App)
		if isStandIn(w) {
			alone = larger(alone, a.gang.Requested)
		}
		if together {
			members, incomplete := t.members(now, a)
			if incomplete {
				continue
			}
			alone = resources.Amounts{}
			for _, x := range members {
				alone = alone.Add(x.ask.Amounts)
			}
			blocked = t.quotaBlocksTogether(a, members, false, alone)
		}
		_, limited := t.limitObstacle(after, w)
		state := objects.WaitFailed
		switch {
		case blocked || limited || !t.applicationMayStart(now, w) || !t.withinMax(after, w, alone):
			state = objects.WaitSkipped
		default:
			place(w)
			if w.ask.RequiredNode() != "" {
				state = objects.WaitUnreported
			}
		}
		if w.reported != state {
			w.reported = state
			if state == objects.WaitUnreported {
				continue
			}
			t.emit(scheduler.AsksWait{Asks: []scheduler.WaitingAsk{{Ask: w.ask, State: state}}})
		}
	}
	for _, a := range started {
		a.askedAgain = true
	}
}

// countAsPlaced adds w to the totals as if it was placed.
func (t *Twin) countAsPlaced(c *totals, w *allocation) {
	a := t.app(w.ask.App)
	c.apps[a.id].allocated = c.apps[a.id].allocated.Add(w.ask.Amounts)
	c.apps[a.id].counts = true
	for _, q := range t.pathQueues(a.leaf) {
		c.allocated[q.path] = c.allocated[q.path].Add(w.ask.Amounts)
	}
}

// withinMax checks the max of every queue; root, which is the cluster, has none. A percent that alone exceeds does not
// count (QUO-68).
func (t *Twin) withinMax(c *totals, w *allocation, alone resources.Amounts) bool {
	for _, q := range t.pathQueues(t.app(w.ask.App).leaf)[1:] {
		for name, most := range q.max().All() {
			_, percent := q.conf.Max.Percent(name)
			if left := most - c.allocated[q.path].Get(name); w.ask.Amounts.Get(name) > max(0, left) &&
				!(percent && alone.Get(name) > most) {
				return false
			}
		}
	}
	return true
}

// larger returns the larger quantity of each resource.
func larger(a, b resources.Amounts) resources.Amounts {
	out := a.Map()
	for name, n := range b.All() {
		out[name] = max(out[name], n)
	}
	return resources.FromMap(out)
}

// allAsksByGroup returns all pending asks in selection order; those of a group are together, at the place of the first.
func (t *Twin) allAsksByGroup(c *totals) (all []*allocation) {
	for _, first := range t.firstOfEachGroup(c) {
		asks := filter(c.apps[first.ask.App].asks,
			func(w *allocation) bool { return t.askGroupKey(w.ask) == t.askGroupKey(first.ask) })
		slices.SortFunc(asks, t.compareAsks)
		all = append(all, asks...)
	}
	return all
}
