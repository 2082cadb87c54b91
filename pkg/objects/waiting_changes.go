package objects

import (
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/lifecycle"
	"github.com/canopy-scheduler/canopy/pkg/quota"
)

// allowedUnknown is the number of allowed asks of a group whose asks have changed.
const allowedUnknown = -1

// waitingChanges is what the waiting states need to know of changes: in which groups other asks wait for a
// node, and whether quotas may bound applications that they did not.
type waitingChanges struct {
	ignoreAllocationChanges
	ignoreNodeChanges

	quotasSettled bool           // the constraints of settled applications are as at the last evaluation
	unsettled     []*Application // in no order; every application with pending asks that is not settled
	removed       int            // number of those of unsettled that were removed from the partition
}

func (w *waitingChanges) askAdded(x *Allocation, _ groupPosition)          { w.unsettle(x.group) }
func (w *waitingChanges) nominationAdded(x *Allocation, _ *Node)           { w.unsettle(x.group) }
func (w *waitingChanges) nominationEnded(x *Allocation, _ EndedNomination) { w.unsettle(x.group) }
func (w *waitingChanges) askGroupHeld(group *AskGroup)                     { w.unsettle(group) }
func (w *waitingChanges) replacementAdded(x, _ *Allocation)                { w.unsettle(x.group) }
func (w *waitingChanges) replacementEnded(x, _ *Allocation)                { w.unsettle(x.group) }
func (w *waitingChanges) mayBeAllocatedChanged(a *Application)             { w.unsettleApplication(a) }
func (w *waitingChanges) applicationMoved(a *Application, _ *Queue)        { w.unsettleApplication(a) }

// askRemoved unsettles no application: a settled one is independent, so the states of its other asks stay.
func (w *waitingChanges) askRemoved(_ *Allocation, from *AskGroup) {
	if from != nil {
		from.allowed = allowedUnknown
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

// The constraints of an application change with the configuration, its accounts and its leaf.

func (w *waitingChanges) accountMembersChanged(*quota.Account) { w.quotasSettled = false }
func (w *waitingChanges) queueSettingsChanged(*Queue)          { w.quotasSettled = false }
func (w *waitingChanges) quotasChanged(*Queue)                 { w.quotasSettled = false }
func (w *waitingChanges) queueTreeChanged()                    { w.quotasSettled = false }
func (w *waitingChanges) configurationChanged()                { w.quotasSettled = false }
func (w *waitingChanges) settingsApplied()                     { w.quotasSettled = false }
func (w *waitingChanges) rebuilding()                          { w.quotasSettled = false }

// The other changes are no changes of which asks wait for a node, and of no constraint: an ask that has reserved a node
// waits like any other. What counts within a max or a limit may change, but an application that has one is never
// settled.

func (*waitingChanges) waitingStateChanged(*Allocation)                        {}
func (*waitingChanges) nominationRemoved(*Allocation, *Node)                   {}
func (*waitingChanges) reservationAdded(*Allocation, *Node)                    {}
func (*waitingChanges) reservationEnded(*Allocation, EndedReservation)         {}
func (*waitingChanges) placeholderEnding(*Allocation)                          {}
func (*waitingChanges) replaced(*Allocation)                                   {}
func (*waitingChanges) gangCountsChanged(*Application)                         {}
func (*waitingChanges) gangRefused(*Application, []MemberGroup)                {}
func (*waitingChanges) queueUsageChanged(*Queue)                               {}
func (*waitingChanges) queuePreemptingChanged(*Queue)                          {}
func (*waitingChanges) queueRunningChanged(*Queue)                             {}
func (*waitingChanges) queueChanged(*Queue)                                    {}
func (*waitingChanges) queueStateChanged(*Queue, QueueChange)                  {}
func (*waitingChanges) accountUsageChanged(*quota.Account)                     {}
func (*waitingChanges) accountRunningChanged(*quota.Account)                   {}
func (*waitingChanges) applicationAdded(*Application)                          {}
func (*waitingChanges) applicationStateChanged(*Application, lifecycle.Change) {}
func (*waitingChanges) applicationExpired(*lifecycle.Ended, lifecycle.Change)  {}
func (*waitingChanges) runningChanged(*Application)                            {}
func (*waitingChanges) firstStartingChanged(*Application)                      {}
func (*waitingChanges) mayPreemptChanged(*Application)                         {}
func (*waitingChanges) resourceAdded()                                         {}
func (*waitingChanges) refusalsMayEnd()                                        {}
