package objects

import (
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/policies"
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

// EachPendingGroup yields all ask groups with pending asks below q in selection order, whether or not they can be
// placed: the groups of an application by their first asks.
func (q *Queue) EachPendingGroup(yield func(*AskGroup) bool) { q.eachPendingGroup(yield) }

func (q *Queue) eachPendingGroup(yield func(*AskGroup) bool) (more bool) {
	for child := range q.children.All {
		if !child.eachPendingGroup(yield) {
			return false
		}
	}
	var groups []*AskGroup // scratch
	for a := range q.apps.All {
		groups = append(groups[:0], a.askGroups.list...)
		groups = slices.DeleteFunc(groups, (*AskGroup).empty)
		if len(groups) > 1 {
			slices.SortFunc(groups, func(a, b *AskGroup) int {
				return policies.CompareAsks(&a.PendingAsks()[0].key, &b.PendingAsks()[0].key)
			})
		}
		for _, group := range groups {
			if !yield(group) {
				return false
			}
		}
	}
	return true
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
// node, or have reserved one.
type waitingChanges struct {
	ignoreAllocationChanges
	ignoreNodeChanges
	ignoreAccountChanges
	ignoreApplicationChanges
	ignoreConfigurationChanges
}

func (*waitingChanges) askAdded(x *Allocation, _ groupPosition)  { x.group.allowed = allowedUnknown }
func (*waitingChanges) askRemoved(_ *Allocation, from *AskGroup) { from.allowed = allowedUnknown }
func (*waitingChanges) nominationAdded(x *Allocation, _ *Node)   { x.group.allowed = allowedUnknown }
func (*waitingChanges) nominationEnded(x *Allocation, _ EndedNomination) {
	x.group.allowed = allowedUnknown
}
func (*waitingChanges) reservationAdded(x *Allocation, _ *Node) { x.group.allowed = allowedUnknown }

// reservationEnded: the ask may have been placed, or have ended.
func (*waitingChanges) waitingStateChanged(*Allocation) {}

func (*waitingChanges) reservationEnded(x *Allocation, _ EndedReservation) {
	if x.group != nil {
		x.group.allowed = allowedUnknown
	}
}

func (*waitingChanges) askGroupHeld(group *AskGroup)      { group.allowed = allowedUnknown }
func (*waitingChanges) replacementAdded(x, _ *Allocation) { x.group.allowed = allowedUnknown }

// replacementEnded: the ask may have been placed.
func (*waitingChanges) replacementEnded(x, _ *Allocation) {
	if x.group != nil {
		x.group.allowed = allowedUnknown
	}
}

// The other changes are no changes of which asks wait for a node, or have reserved one.

func (*waitingChanges) nominationRemoved(*Allocation, *Node)    {}
func (*waitingChanges) placeholderEnding(*Allocation)           {}
func (*waitingChanges) replaced(*Allocation)                    {}
func (*waitingChanges) gangCountsChanged(*Application)          {}
func (*waitingChanges) gangRefused(*Application, []MemberGroup) {}
func (*waitingChanges) queueUsageChanged(*Queue)                {}
func (*waitingChanges) queuePreemptingChanged(*Queue)           {}
func (*waitingChanges) queueRunningChanged(*Queue)              {}
func (*waitingChanges) queueSettingsChanged(*Queue)             {}
func (*waitingChanges) queueChanged(*Queue)                     {}
func (*waitingChanges) queueStateChanged(*Queue, QueueChange)   {}
func (*waitingChanges) quotasChanged(*Queue)                    {}
func (*waitingChanges) queueTreeChanged()                       {}
