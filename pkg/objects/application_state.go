package objects

import (
	"fmt"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/lifecycle"
)

// ApplicationStateChange is the entry of an application into a state.
type ApplicationStateChange struct {
	App   AppID
	Queue QueuePath // its leaf, or former leaf
	lifecycle.Change
}

// handleEvent applies e to a. An event that does not change the state has no effect (APP-11).
func (p *Partition) handleEvent(a *Application, e lifecycle.Event, reason lifecycle.Reason, now time.Time) {
	to, ok := a.state.After(e)
	switch {
	case !ok:
		panic(fmt.Sprintf("objects: application %s has no transition for %s in state %s", a.ID(), e, a.state))
	case to == a.state:
		return
	}
	p.deadlines.clear(a)
	entered := lifecycle.NewChange(to, reason, now)
	a.state = to
	if to == lifecycle.Completing {
		a.setDeadline(&p.deadlines.completing, now)
	}
	a.log = a.log.With(entered)
	p.journal.post(Change{Kind: ApplicationStateChanged, App: a, Entered: entered})
	p.updateRunning(a)
}

// onAskAdded updates the state of a after an ask was added (APP-4, APP-8).
func (p *Partition) onAskAdded(a *Application, now time.Time) {
	switch a.state {
	case lifecycle.New:
		p.handleEvent(a, lifecycle.RunApplication, lifecycle.ReasonFirstAsk, now)
	case lifecycle.Completing:
		a.quota.SetRestarting(true)
		p.handleEvent(a, lifecycle.RunApplication, lifecycle.ReasonAskWhileCompleting, now)
	}
}
