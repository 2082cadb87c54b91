package objects

import "slices"

// allowedUnknown is the number of allowed asks of a group whose asks have changed.
const allowedUnknown = -1

// waitingChanges is what the waiting states need to know of changes: in which groups other asks wait for a
// node, and whether quotas may bound applications that they did not.
type waitingChanges struct {
	quotasSettled bool           // the constraints of settled applications are as at the last evaluation
	unsettled     []*Application // in no order; every application with pending asks that is not settled
	removed       int            // number of those of unsettled that were removed from the partition
}

// Wants leaves out what changes neither which asks wait for a node nor a constraint: an ask that has reserved a node
// waits like any other. What counts within a max or a limit may change, but an application that has one is never
// settled.
func (*waitingChanges) Wants() ChangeSet {
	return 1<<AskAdded | 1<<AskRemoved | 1<<NominationAdded | 1<<NominationEnded | 1<<AskGroupHeld | 1<<ReplacementAdded |
		1<<ReplacementEnded | 1<<MayBeAllocatedChanged | 1<<ApplicationMoved | 1<<ApplicationRemoved |
		1<<AccountMembersChanged | 1<<QueueSettingsChanged | 1<<QuotasChanged | 1<<QueueTreeChanged |
		1<<ConfigurationChanged | 1<<SettingsApplied | 1<<Rebuilding
}

func (w *waitingChanges) On(c *Change) {
	switch c.Kind {
	case AskRemoved: // a settled application is independent, so the states of its other asks stay
		if c.Group != nil {
			c.Group.allowed = allowedUnknown
		}
	case AskAdded, NominationAdded, NominationEnded, ReplacementAdded, ReplacementEnded:
		w.unsettle(c.Ask.group)
	case AskGroupHeld:
		w.unsettle(c.Group)
	case MayBeAllocatedChanged, ApplicationMoved:
		w.unsettleApplication(c.App)
	case ApplicationRemoved:
		w.applicationRemoved(c.App)
	case AccountMembersChanged, QueueSettingsChanged, QuotasChanged, QueueTreeChanged, ConfigurationChanged,
		SettingsApplied, Rebuilding: // the constraints of an application may be others
		w.quotasSettled = false
	}
}

// unsettle has the states of the asks of g evaluated again. g may be nil: the ask was placed, or has ended.
func (w *waitingChanges) unsettle(g *AskGroup) {
	if g != nil {
		g.allowed = allowedUnknown
		w.unsettleApplication(g.app)
	}
}

func (w *waitingChanges) unsettleApplication(a *Application) {
	if !a.unsettled {
		a.unsettled = true
		w.unsettled = append(w.unsettled, a)
	}
}

// takeUnsettled empties the list of unsettled applications and returns those with pending asks. Each has to be settled,
// or unsettled again.
func (w *waitingChanges) takeUnsettled() (apps []*Application) {
	apps = make([]*Application, 0, len(w.unsettled)-w.removed)
	for _, a := range w.unsettled {
		a.unsettled = a.unsettled && a.entry.Indexed()
		if a.unsettled {
			apps = append(apps, a)
		}
	}
	clear(w.unsettled)
	w.unsettled, w.removed = w.unsettled[:0], 0
	return apps
}

// applicationRemoved keeps a busy cluster, in which nothing is evaluated, from collecting applications that have ended.
func (w *waitingChanges) applicationRemoved(a *Application) {
	if !a.unsettled {
		return
	}
	a.unsettled = false
	w.removed++
	if 2*w.removed > len(w.unsettled) {
		w.unsettled = slices.DeleteFunc(w.unsettled, func(a *Application) bool { return !a.unsettled })
		w.removed = 0
	}
}
