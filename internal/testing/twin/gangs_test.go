package twin

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/canopy-scheduler/canopy/internal/testing/randomrun"
	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/gangs"
	"github.com/canopy-scheduler/canopy/pkg/lifecycle"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/placement"
	"github.com/canopy-scheduler/canopy/pkg/policies"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// Gangs (GAN-1 to GAN-13). Which real asks wait is computed from the placeholders that there are; the counts of task
// groups are stored only because REST shows them.

// taskGroup counts the placeholders that a task group has had.
type taskGroup struct {
	name                      string
	count, replaced, timedOut int
}

// gangTooLarge reports whether the leaf of an application cannot take its gang: it is Fair, or too small.
func (t *Twin) gangTooLarge(c scheduler.AddApplication, path objects.QueuePath) bool {
	if c.Gang.Requested.IsZero() {
		return false
	}
	leaf := t.queue(path)
	if appSort(leaf) == policies.Fair {
		return true
	}
	most := leaf.conf.Max
	for tag, text := range c.Tags {
		if strings.EqualFold(tag, configs.TagMax) && !leaf.managed && path != placement.RecoveryQueue &&
			randomrun.QuotaTexts[text] != nil {
			most = resources.LimitFromMap(randomrun.QuotaTexts[text])
		}
	}
	for _, q := range t.pathQueues(path)[1:] {
		if q != leaf && !q.conf.Max.Allows(c.Gang.Requested) {
			return true
		}
	}
	return !most.Allows(c.Gang.Requested)
}

// isStandIn reports whether w is a placeholder of a task group.
func isStandIn(w *allocation) bool { return w.ask.Placeholder && w.ask.TaskGroup() != "" }

// heldBack reports whether a real ask waits for placeholders: its task group has one that has not timed out.
func (t *Twin) heldBack(w *allocation) bool {
	return !w.ask.Placeholder && w.ask.TaskGroup() != "" && t.liveStandIns(w.ask.App, w.ask.TaskGroup()) > 0
}

// liveStandIns counts the placeholders of an application, or of one of its task groups, that have not timed out.
func (t *Twin) liveStandIns(id objects.AppID, group string) int {
	virtual := 0
	for _, v := range t.app(id).gang.Virtual {
		if group == "" || v.Name == group {
			virtual += t.minMember(id, v.Name)
		}
	}
	return virtual + len(filter(t.allocations, func(y *allocation) bool {
		return y.ask.App == id && isStandIn(y) && !y.timedOut && (group == "" || y.ask.TaskGroup() == group)
	}))
}

// replaces returns the placeholder that w replaces; nil: none.
func (t *Twin) replaces(w *allocation) *allocation {
	return find(t.allocations, func(y *allocation) bool { return y.replacedBy == w })
}

// standInAdded counts a new placeholder and begins the timeout.
func (t *Twin) standInAdded(a *app, y *allocation) {
	if !isStandIn(y) {
		if t.minMember(a.id, y.ask.TaskGroup()) > 0 && !y.ask.Placeholder && a.gangDeadline.IsZero() {
			a.gangDeadline = t.gangTimeout(a)
		}
		return
	}
	t.group(a, y).count++
	if t.liveStandIns(a.id, "") == 1 || a.gangDeadline.IsZero() {
		a.gangDeadline, a.gangStarted = t.gangTimeout(a), false
	}
}

func (t *Twin) group(a *app, y *allocation) *taskGroup {
	for _, g := range a.groups {
		if g.name == y.ask.TaskGroup() {
			return g
		}
	}
	a.groups = append(a.groups, &taskGroup{name: y.ask.TaskGroup()})
	return a.groups[len(a.groups)-1]
}

// gangTimeout returns the end of a timeout that begins now.
func (t *Twin) gangTimeout(a *app) time.Time {
	timeout, from := a.gang.Timeout, t.now
	if timeout <= 0 {
		timeout = 15 * time.Minute
	}
	if !a.gang.Created.IsZero() && a.gang.Created.Before(t.now) {
		from = a.gang.Created
	}
	if at := from.Add(timeout); at.After(t.now.Add(time.Millisecond)) {
		return at
	}
	return t.now.Add(time.Millisecond)
}

// endTimeoutIfNoneLives ends the timeout with the last live placeholder.
func (t *Twin) endTimeoutIfNoneLives(a *app) {
	if t.liveStandIns(a.id, "") == 0 {
		a.gangDeadline = time.Time{}
	}
}

// onBound updates the state of the application of w, which has a node now.
func (t *Twin) onBound(a *app, w *allocation) {
	if !isStandIn(w) {
		if t.minMember(a.id, w.ask.TaskGroup()) > 0 && !w.ask.Placeholder {
			a.endWait(false)
			a.gangDeadline = time.Time{}
		}
		if a.state == lifecycle.Resuming {
			t.enterState(a, lifecycle.Accepted, lifecycle.ReasonAllocated)
		}
		if a.state == lifecycle.Accepted {
			t.enterState(a, lifecycle.Running, lifecycle.ReasonAllocated)
		}
		return
	}
	if a.state != lifecycle.Accepted {
		return
	}
	if want := a.gang.Requested; !want.IsZero() && t.total().apps[a.id].placeholders.Covers(want) {
		t.enterState(a, lifecycle.Running, lifecycle.ReasonGangAllocated)
	}
	if !a.gangStarted && !a.gangDeadline.IsZero() {
		a.gangStarted, a.gangDeadline = true, t.gangTimeout(a)
	}
}

// timeOut marks a placeholder that nothing replaces.
func (t *Twin) timeOut(y *allocation) {
	a := t.app(y.ask.App)
	y.ending, y.timedOut = true, true
	t.group(a, y).timedOut++
	t.endTimeoutIfNoneLives(a)
}

// unlink ends the replacement by w, and that of w.
func (t *Twin) unlink(w *allocation) {
	if y := t.replaces(w); y != nil {
		y.replacedBy = nil
	}
	w.replacedBy = nil
}

// unlinkOn ends replacements that were to be placed on a node.
func (t *Twin) unlinkOn(id objects.NodeID, ends func(w *allocation) bool) {
	for _, y := range t.allocations {
		if y.replacedBy != nil && y.replacedOn == id && ends(y.replacedBy) {
			y.replacedBy = nil
		}
	}
}

// standInRemoved binds the ask that replaces y, which is removed, and counts the end of y.
func (t *Twin) standInRemoved(y *allocation) {
	if !isStandIn(y) {
		return
	}
	a, w := t.app(y.ask.App), y.replacedBy
	if w != nil && (y.replacedOn == y.node || t.total().fits(t.node(y.replacedOn), w.ask)) {
		t.group(a, y).replaced++
		t.endTimeoutIfNoneLives(a)
		t.place(w, y.replacedOn)
		t.replacements = append(t.replacements, w)
		return
	}
	t.endTimeoutIfNoneLives(a)
}

// standInsEnded reports whether the application of a removed placeholder was waiting for it, and updates its state.
func (t *Twin) standInsEnded(a *app) bool {
	own := t.allocationsOf(a.id)
	switch {
	case a.state == lifecycle.Resuming:
		if find(own, func(w *allocation) bool { return w.ending && isStandIn(w) }) == nil {
			t.enterState(a, lifecycle.Accepted, lifecycle.ReasonPlaceholdersEnded)
		}
		return true
	case a.state == lifecycle.Failing:
		if find(own, func(w *allocation) bool { return w.node != "" }) == nil {
			t.endApp(a, lifecycle.Failed, a.failedBecause())
		}
		return true
	}
	return false
}

// failedBecause returns the reason for the failure of a, which was Failing.
func (a *app) failedBecause() lifecycle.Reason {
	if a.cancelled {
		return lifecycle.ReasonCancelled
	}
	return lifecycle.ReasonPlaceholdersEnded
}

// runGangTimers ends the timeouts that are due.
func (t *Twin) runGangTimers() {
	due := filter(t.apps, func(a *app) bool { return !a.gangDeadline.IsZero() && !t.now.Before(a.gangDeadline) })
	slices.SortFunc(due, func(a, b *app) int {
		return cmp.Or(a.gangDeadline.Compare(b.gangDeadline), cmp.Compare(a.id, b.id))
	})
	for _, a := range due {
		a.gangDeadline = time.Time{}
		incomplete := a.state == lifecycle.Accepted
		switch {
		case incomplete && a.gang.Style == gangs.Hard:
			t.enterState(a, lifecycle.Failing, lifecycle.ReasonReservationTimeout)
		case incomplete:
			t.enterState(a, lifecycle.Resuming, lifecycle.ReasonReservationTimeout)
		}
		var released, cancelled []*allocation
		for _, w := range byKey(t.allocationsOf(a.id)) {
			switch {
			case len(a.gang.Virtual) > 0 && (!incomplete || a.gang.Style != gangs.Hard):
			case w.node == "" && (incomplete || isStandIn(w)):
				cancelled = append(cancelled, w)
				if isStandIn(w) {
					t.timeOut(w)
				}
				t.unlink(w)
				t.allocations = slices.DeleteFunc(t.allocations, func(x *allocation) bool { return x == w })
			case w.node == "" || !isStandIn(w) || w.ending:
			case !w.preempting:
				released = append(released, w)
				t.timeOut(w)
			case incomplete:
				t.timeOut(w)
			}
		}
		if a.waits {
			a.endWait(true)
		}
		t.updateIdle(a, false)
		t.emitStates()
		for _, w := range released {
			t.emit(scheduler.Released{Key: w.ask.Key, App: a.id, Type: scheduler.TimedOut})
		}
		for _, w := range cancelled {
			t.emit(scheduler.AskTimedOut{Key: w.ask.Key, App: a.id,
				Message: "releasing allocated placeholders on placeholder timeout"})
		}
		t.forgetGroups()
	}
}

// replaceOne makes the first decision about placeholders, if there is one.
func (t *Twin) replaceOne() bool {
	apps := slices.Clone(t.apps)
	slices.SortFunc(apps, func(a, b *app) int { return cmp.Or(a.submitted.Compare(b.submitted), cmp.Compare(a.id, b.id)) })
	for _, a := range apps {
		if t.switchedOff(a) {
			continue
		}
		asks := filter(t.allocationsOf(a.id), func(w *allocation) bool {
			return w.node == "" && w.nominated == "" && t.heldBack(w) && t.replaces(w) == nil
		})
		slices.SortFunc(asks, t.compareAsks)
		standIns := byKey(filter(t.allocationsOf(a.id),
			func(y *allocation) bool { return y.node != "" && isStandIn(y) && !y.ending && !y.preempting }))
		if t.replaceInPlace(asks, standIns) || t.replaceOnOtherNode(asks, standIns) {
			return true
		}
	}
	return false
}

func (t *Twin) replaceInPlace(asks, standIns []*allocation) bool {
	for _, w := range asks {
		for _, y := range standIns {
			n := t.node(y.node)
			switch {
			case w.ask.TaskGroup() != y.ask.TaskGroup():
			case !y.ask.Amounts.Covers(w.ask.Amounts):
				t.timeOut(y)
				t.emit(scheduler.Released{Key: y.ask.Key, App: y.ask.App, Type: scheduler.TimedOut})
				return true
			case n.admits(w.ask) && t.predicatesPassWithout(n, w.ask, []*allocation{y}):
				t.replace(w, y, n)
				return true
			}
		}
	}
	return false
}

func (t *Twin) replaceOnOtherNode(asks, standIns []*allocation) bool {
	if len(asks) == 0 { // the usual case, in which nothing has to be added up
		return false
	}
	c := t.total()
	for _, w := range asks {
		y := find(standIns, func(y *allocation) bool { return y.ask.TaskGroup() == w.ask.TaskGroup() })
		for _, n := range t.inPreferenceOrder(t.nodesInOrder(c), w.ask, []*allocation{y}) {
			if y != nil && c.fits(n, w.ask) && t.predicatesPassWithout(n, w.ask, []*allocation{y}) {
				t.replace(w, y, n)
				return true
			}
		}
	}
	return false
}

func (t *Twin) replace(w, y *allocation, n *node) {
	y.ending, y.replacedBy, y.replacedOn = true, w, n.id
	t.emit(scheduler.Released{Key: y.ask.Key, App: y.ask.App, Type: scheduler.PlaceholderReplaced,
		Message: fmt.Sprintf("replacing allocationKey: %s", w.ask.Key)})
}

// gang compares the gang of an application.
func (d *comparison) gang(a *app, views []gangs.TaskGroup) {
	if !same(d, string(a.id), "task groups", len(a.groups), len(views)) {
		return
	}
	for i, g := range a.groups {
		v := views[i]
		same(d, string(a.id), "task group", *g, taskGroup{v.Name, v.Count, v.Replaced, v.TimedOut})
		same(d, string(a.id), "live placeholders", d.t.liveStandIns(a.id, g.name), v.Live())
	}
}
