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

// wants leaves out what changes neither which asks wait for a node nor a constraint: an ask that has reserved a node
// waits like any other. What counts within a max or a limit may change, but an application that has one is never
// settled.
func (*waitingChanges) wants() changeSet {
	return 1<<askAdded | 1<<askRemoved | 1<<nominationAdded | 1<<nominationEnded | 1<<askGroupHeld | 1<<replacementAdded |
		1<<replacementEnded | 1<<mayBeAllocatedChanged | 1<<applicationMoved | 1<<applicationRemoved |
		1<<accountMembersChanged | 1<<queueSettingsChanged | 1<<quotasChanged | 1<<queueTreeChanged |
		1<<configurationChanged | 1<<settingsApplied | 1<<rebuilding
}

func (w *waitingChanges) on(c *change) {
	switch c.kind {
	case askRemoved: // a settled application is independent, so the states of its other asks stay
		if c.group != nil {
			c.group.allowed = allowedUnknown
		}
	case askAdded, nominationAdded, nominationEnded, replacementAdded, replacementEnded:
		w.unsettle(c.ask.group)
	case askGroupHeld:
		w.unsettle(c.group)
	case mayBeAllocatedChanged, applicationMoved:
		w.unsettleApplication(c.app)
	case applicationRemoved:
		w.applicationRemoved(c.app)
	case accountMembersChanged, queueSettingsChanged, quotasChanged, queueTreeChanged, configurationChanged,
		settingsApplied, rebuilding: // the constraints of an application may be others
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
