package twin

import (
	"fmt"
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

func (t *Twin) addApplication(c scheduler.AddApplication) {
	path, ok := t.destination(c)
	if t.app(c.App) != nil || t.drains || !ok || !t.build(path) {
		t.emit(scheduler.ApplicationRejected{App: c.App, Reason: "known already, or no queue takes it"})
		return
	}
	t.apps = append(t.apps, &app{id: c.App, leaf: path, submitted: t.now})
	t.emit(scheduler.ApplicationAccepted{App: c.App})
}

func (t *Twin) removeApplication(c scheduler.RemoveApplication) {
	gone := t.remove(func(w *work) bool { return w.ask.App == c.App })
	t.apps = slices.DeleteFunc(t.apps, func(a *app) bool { return a.id == c.App })
	for _, w := range gone {
		t.tellReleased(w, fmt.Sprintf("Application %s Removed", c.App))
	}
	t.prune(t.root)
}

// reach moves an application on, through every state on the way.
func (t *Twin) reach(a *app, to objects.State) {
	for a.state < to {
		a.state++
		t.emit(scheduler.ApplicationUpdated{App: a.id, State: a.state, At: t.now})
	}
}

// tellReleased says that an allocation is gone. An ask goes without a word.
func (t *Twin) tellReleased(w *work, message string) {
	if w.node != "" {
		t.emit(scheduler.Released{
			Key: w.ask.Key, App: w.ask.App, Type: scheduler.StoppedByRM, Message: message,
		})
	}
}
