package scheduler

import (
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/objects"
)

// allowedUnknown is the number of allowed asks of a group whose asks have changed.
const allowedUnknown = -1

// waitingChanges has what the waiting states need to know of changes: in which groups other asks wait for a
// node, and whether quotas may bound applications that they did not.
type waitingChanges struct {
	quotasSettled bool                   // the constraints of settled applications are as at the last evaluation
	unsettled     []*objects.Application // in no order; every application with pending asks that is not settled
	removed       int                    // number of those of unsettled that were removed from the partition
}

// Wants leaves out what changes neither which asks wait for a node nor a constraint: an ask that has reserved a node
// waits like any other. What counts within a max or a limit may change, but an application that has one is never
// settled.
func (*waitingChanges) Wants() objects.ChangeSet {
	return 1<<objects.AskAdded | 1<<objects.AskRemoved | 1<<objects.NominationAdded | 1<<objects.NominationEnded |
		1<<objects.AskGroupHeld | 1<<objects.ReplacementAdded | 1<<objects.ReplacementEnded |
		1<<objects.MayBeAllocatedChanged | 1<<objects.ApplicationMoved | 1<<objects.ApplicationRemoved |
		1<<objects.AccountMembersChanged | 1<<objects.QueueSettingsChanged | 1<<objects.QuotasChanged |
		1<<objects.QueueTreeChanged | 1<<objects.ConfigurationChanged | 1<<objects.SettingsApplied |
		1<<objects.Rebuilding
}

// On implements objects.Consumer.
func (w *waitingChanges) On(c *objects.Change) {
	switch c.Kind {
	case objects.AskRemoved: // a settled application is independent, so the states of its other asks stay
		if c.Group != nil {
			c.Group.Allowed = allowedUnknown
		}
	case objects.AskAdded, objects.NominationAdded, objects.NominationEnded, objects.ReplacementAdded,
		objects.ReplacementEnded:
		w.unsettle(c.Ask.AskGroup())
	case objects.AskGroupHeld:
		w.unsettle(c.Group)
	case objects.MayBeAllocatedChanged, objects.ApplicationMoved:
		w.unsettleApplication(c.App)
	case objects.ApplicationRemoved:
		w.applicationRemoved(c.App)
	case objects.AccountMembersChanged, objects.QueueSettingsChanged, objects.QuotasChanged, objects.QueueTreeChanged,
		objects.ConfigurationChanged, objects.SettingsApplied, objects.Rebuilding:
		// the constraints of an application may be others
		w.quotasSettled = false
	}
}

// unsettle has the states of the asks of g evaluated again. g may be nil: the ask was placed, or has ended.
func (w *waitingChanges) unsettle(g *objects.AskGroup) {
	if g != nil {
		g.Allowed = allowedUnknown
		w.unsettleApplication(g.Application())
	}
}

func (w *waitingChanges) unsettleApplication(a *objects.Application) {
	if !a.Unsettled {
		a.Unsettled = true
		w.unsettled = append(w.unsettled, a)
	}
}

// takeUnsettled empties the list of unsettled applications and returns those with pending asks. Each has to be settled,
// or unsettled again.
func (w *waitingChanges) takeUnsettled() (apps []*objects.Application) {
	apps = make([]*objects.Application, 0, len(w.unsettled)-w.removed)
	for _, a := range w.unsettled {
		a.Unsettled = a.Unsettled && a.PendingAskCount() > 0
		if a.Unsettled {
			apps = append(apps, a)
		}
	}
	clear(w.unsettled)
	w.unsettled, w.removed = w.unsettled[:0], 0
	return apps
}

// applicationRemoved keeps a busy cluster, in which nothing is evaluated, from collecting applications that have ended.
func (w *waitingChanges) applicationRemoved(a *objects.Application) {
	if !a.Unsettled {
		return
	}
	a.Unsettled = false
	w.removed++
	if 2*w.removed > len(w.unsettled) {
		w.unsettled = slices.DeleteFunc(w.unsettled, func(a *objects.Application) bool { return !a.Unsettled })
		w.removed = 0
	}
}
