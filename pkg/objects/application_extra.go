package objects

import (
	"container/list"

	"github.com/canopy-scheduler/canopy/pkg/feasibility"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// appExtra is what few applications have at a time: those in a StateAware leaf, gangs, and those that complete.
type appExtra struct {
	startingEntry feasibility.Entry[*Application] // in queue.starting
	// in deadlines.newApps or completing; nil: in another state, or its time has passed
	deadlineEntry *list.Element
	placeholders  resources.Vector   // used by placeholders
	formerPeak    *resources.Amounts // Application.peak for names that lost their index since; nil: none
}

// noAppExtra is what the applications with nothing of it share. It is not changed.
var noAppExtra appExtra

// ownExtra is that of a, to change it.
func (a *Application) ownExtra() *appExtra {
	if a.extra == &noAppExtra {
		a.extra = &appExtra{}
	}
	return a.extra
}
