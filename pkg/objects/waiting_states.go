package objects

import (
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/lifecycle"
	"github.com/canopy-scheduler/canopy/pkg/policies"
	"github.com/canopy-scheduler/canopy/pkg/quota"
)

// WaitingState is why a pending ask waits, as far as an autoscaler needs to know it: what was last
// reported to the resource manager (ASK-62). The numbers are those of the interface.
type WaitingState uint8

// The states.
const (
	WaitUnreported WaitingState = 0 // nothing was reported yet
	WaitSkipped    WaitingState = 1 // a quota keeps it from being placed, whatever nodes there are
	WaitReserved   WaitingState = 3 // its quotas allow it, and it has reserved a node
	WaitFailed     WaitingState = 4 // its quotas allow it, no node can take it, and it has reserved none
)

func (s WaitingState) String() string {
	switch s {
	case WaitSkipped:
		return "SKIPPED"
	case WaitReserved:
		return "RESERVED"
	case WaitFailed:
		return "FAILED"
	}
	return "UNREPORTED"
}

// WaitingState is what was last reported to the RM about x. Requires: x is pending.
func (x *Allocation) WaitingState() WaitingState { return WaitingState(x.boundAt) }

// SetWaitingState records what is reported to the RM about x. Requires: x is pending.
func (x *Allocation) SetWaitingState(s WaitingState) { x.boundAt = int64(s) }

// ReportWaitingState records what is reported to the RM about x, another state than before. Requires: x is pending in p.
func ReportWaitingState(p *Partition, x *Allocation, s WaitingState) {
	x.SetWaitingState(s)
	p.journal.waitingStateChanged(x)
}

// EachGroupToEvaluate yields the ask groups with pending asks whose waiting states may differ from those of the last
// evaluation, in selection order, whether or not they can be placed: the groups of an application by their first asks.
// Left out are those of a settled application: no max and no limit bounds it, it is neither in a gang nor in a StateAware
// leaf, and neither its asks nor the configuration have changed since. pending is the number of all groups, where a
// settled application counts as one.
func EachGroupToEvaluate(p *Partition, yield func(*AskGroup)) (pending int) {
	w := &p.journal.waiting
	e := groupEvaluation{all: !w.quotasSettled, yield: yield}
	w.quotasSettled = true
	e.visit(p.Root())
	return e.count
}

// groupEvaluation is one pass over the ask groups with pending asks.
type groupEvaluation struct {
	all    bool // visit settled applications, too
	yield  func(*AskGroup)
	count  int         // of pending groups
	groups []*AskGroup // scratch
}

func (e *groupEvaluation) visit(q *Queue) {
	for child := range q.children.All {
		e.visit(child)
	}
	for a := range q.apps.All {
		if a.statesSettled && !e.all {
			e.count++
			continue
		}
		a.statesSettled = a.gang == nil && q.policy.sort != policies.StateAware && a.Constraints().OnlyCapacity()
		e.visitGroups(a)
	}
}

func (e *groupEvaluation) visitGroups(a *Application) {
	e.groups = slices.DeleteFunc(append(e.groups[:0], a.askGroups.list...), (*AskGroup).empty)
	if len(e.groups) > 1 {
		slices.SortFunc(e.groups, func(a, b *AskGroup) int {
			return policies.CompareAsks(&a.PendingAsks()[0].key, &b.PendingAsks()[0].key)
		})
	}
	e.count += len(e.groups)
	for _, group := range e.groups {
		e.yield(group)
	}
}

// PendingCount is the number of pending asks of g.
func (g *AskGroup) PendingCount() int { return len(g.SchedulableAsks()) + len(g.unschedulableAsks()) }

// AllowedByQuotas records that the quotas allow the first n of the asks of g that wait for a node, counting from the
// first. It reports whether that is new: another number, or other asks than at the last call.
func (g *AskGroup) AllowedByQuotas(n int) (changed bool) {
	changed = g.allowed != int32(n)
	g.allowed = int32(n)
	return changed
}

// allowedUnknown is the number of allowed asks of a group whose asks have changed.
const allowedUnknown = -1

// waitingChanges is what the waiting states need to know of changes: in which groups other asks wait for a
// node, or have reserved one, and whether quotas may bound applications that they did not.
type waitingChanges struct {
	ignoreAllocationChanges
	ignoreNodeChanges

	quotasSettled bool // the constraints of settled applications are as at the last evaluation
}

func (*waitingChanges) askAdded(x *Allocation, _ groupPosition)            { x.group.unsettle() }
func (*waitingChanges) askRemoved(_ *Allocation, from *AskGroup)           { from.unsettle() }
func (*waitingChanges) nominationAdded(x *Allocation, _ *Node)             { x.group.unsettle() }
func (*waitingChanges) nominationEnded(x *Allocation, _ EndedNomination)   { x.group.unsettle() }
func (*waitingChanges) reservationAdded(x *Allocation, _ *Node)            { x.group.unsettle() }
func (*waitingChanges) reservationEnded(x *Allocation, _ EndedReservation) { x.group.unsettle() }
func (*waitingChanges) askGroupHeld(group *AskGroup)                       { group.unsettle() }
func (*waitingChanges) replacementAdded(x, _ *Allocation)                  { x.group.unsettle() }
func (*waitingChanges) replacementEnded(x, _ *Allocation)                  { x.group.unsettle() }
func (*waitingChanges) mayBeAllocatedChanged(a *Application)               { a.statesSettled = false }

// unsettle has the states of the asks of g evaluated again. g may be nil: the ask was placed, or has ended.
func (g *AskGroup) unsettle() {
	if g != nil {
		g.allowed = allowedUnknown
		g.app.statesSettled = false
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

// The other changes are no changes of which asks wait for a node, or have reserved one, and of no constraint. What counts
// within a max or a limit may change, but an application that has one is never settled.

func (*waitingChanges) waitingStateChanged(*Allocation)                        {}
func (*waitingChanges) nominationRemoved(*Allocation, *Node)                   {}
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
func (*waitingChanges) applicationRemoved(*Application)                        {}
func (*waitingChanges) applicationStateChanged(*Application, lifecycle.Change) {}
func (*waitingChanges) applicationExpired(*lifecycle.Ended, lifecycle.Change)  {}
func (*waitingChanges) runningChanged(*Application)                            {}
func (*waitingChanges) firstStartingChanged(*Application)                      {}
func (*waitingChanges) mayPreemptChanged(*Application)                         {}
func (*waitingChanges) resourceAdded()                                         {}
func (*waitingChanges) refusalsMayEnd()                                        {}
