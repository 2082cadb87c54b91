package twin

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/canopy-scheduler/canopy/pkg/lifecycle"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/placement"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

func (t *Twin) addApplication(c scheduler.AddApplication) {
	path, ok := t.placementQueue(c)
	moved := t.movedLeaf(c)
	if moved != "" {
		path, ok = moved, true
	}
	known := t.app(c.App) != nil
	taken := !known && c.Refused == "" && !t.draining && ok && t.createQueues(path, c.App)
	if taken && t.gangTooLarge(c, path) {
		t.compareQueues() // it may have been created for this application
		t.prune(t.root)
		taken = false
	}
	recovered := !taken && !known && c.Tags[forceTag] == "true"
	if recovered {
		path = placement.RecoveryQueue
		t.createQueues(path, c.App)
	} else if !taken {
		t.recordRejected(c)
		t.emit(scheduler.ApplicationRejected{App: c.App, Reason: "known already, or no queue takes it"})
		return
	}
	t.apps = append(t.apps, &app{id: c.App, leaf: path, user: c.User, tags: c.Tags, submitted: t.now,
		stateSince: t.now, gang: c.Gang})
	t.app(c.App).declareVirtual()
	delete(t.admitted, c.App)
	a := t.app(c.App)
	a.moved = t.movedTo[c.App] != "" && t.movedTo[c.App] == path
	delete(t.movedTo, c.App)
	t.emit(scheduler.ApplicationAccepted{App: c.App})
	if recovered {
		t.refuse("placement of application "+string(c.App), "no other queue takes it")
	}
	if text, ok := c.Tags[objects.TagGroupPriority]; ok {
		if n, err := strconv.ParseInt(text, 10, 32); err == nil {
			group := int32(n)
			t.app(c.App).groupPriority = &group
		} else {
			t.refuse("group of application "+string(c.App), "no number")
		}
	}
	if !a.moved {
		t.applyQuotaTags(c, path)
	}
	for _, f := range t.orphans(c.App, "") {
		t.report(*f.report)
	}
}

func (t *Twin) removeApplication(c scheduler.RemoveApplication) {
	a := t.app(c.App)
	if a == nil {
		t.releaseOrphans(scheduler.Release{App: c.App})
		return
	}
	for _, w := range byKey(t.allocationsOf(a.id)) {
		if w.node == "" {
			t.emit(scheduler.AskCancelled{Key: w.ask.Key, App: w.ask.App,
				Reason: fmt.Sprintf("application %s was removed", c.App)})
		}
	}
	for _, w := range byKey(t.allocationsOf(a.id)) {
		t.emitReleased(w, fmt.Sprintf("Application %s Removed", c.App))
	}
	t.releaseOrphans(scheduler.Release{App: c.App})
	t.allocations = slices.DeleteFunc(t.allocations, func(w *allocation) bool { return w.ask.App == c.App })
	switch a.state {
	case lifecycle.New:
	case lifecycle.Failing:
		t.endApp(a, lifecycle.Failed, lifecycle.ReasonRemoved)
		return
	default:
		t.complete(a, lifecycle.ReasonRemoved)
		return
	}
	t.apps = slices.DeleteFunc(t.apps, func(x *app) bool { return x == a })
	delete(t.held, a.id)
	t.prune(t.root)
}

// emitReleased emits the release of an allocation.
func (t *Twin) emitReleased(w *allocation, message string) {
	if w.node != "" {
		t.emit(scheduler.Released{
			Key: w.ask.Key, App: w.ask.App, Type: scheduler.StoppedByRM, Message: message,
		})
	}
}
