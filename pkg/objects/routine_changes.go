package objects

import (
	"github.com/canopy-scheduler/canopy/pkg/lifecycle"
	"github.com/canopy-scheduler/canopy/pkg/policies"
	"github.com/canopy-scheduler/canopy/pkg/quota"
)

// routineChanges records whether anything but routine placements has changed. A routine placement binds a pending ask
// that is in no gang, in a leaf that is not StateAware, and has no effect on what precedes decisions: nominations,
// reservations, placeholders, quota enforcement, and deadlines. Between routine placements a scheduler need examine
// none of these (ORD-6).
type routineChanges struct {
	other bool // something else has changed, or may not be routine
}

// Routine reports whether only routine placements have changed the partition since BeginRoutine returned true.
func (p *Partition) Routine() bool { return !p.journal.routine.other && !p.journal.requeueDue() }

// BeginRoutine reports whether nothing precedes the placement of the first feasible ask: there are no nominations,
// preempting allocations, reservations, placeholders to replace, gangs to try again, or queues above an enforced max,
// and all events and ended objects were taken. What becomes due with time is for the caller to examine.
func (p *Partition) BeginRoutine() bool {
	j := &p.journal
	routine := len(p.marks.nominees) == 0 && len(p.marks.preempting) == 0 && len(p.marks.reservations.asks) == 0 &&
		len(p.gangs.ending) == 0 && len(p.gangs.replacing) == 0 && len(j.gangs.candidates) == 0 &&
		len(j.gangs.refused) == 0 && len(j.gangs.replacedBy) == 0 &&
		j.enforcement.Idle() && j.preemption.idle() && len(j.reserving.ended) == 0 &&
		len(j.events.applications) == 0 && len(j.events.queues) == 0 &&
		!j.order.sharesStale && len(j.order.joining) == 0 && !j.retries.requeueRequested && !j.requeueDue()
	j.routine.other = !routine
	return routine
}

// allocationPosted: the application of a gang has a timeout, and a StateAware one may ramp up by time.
func (c *routineChanges) allocationPosted(x *Allocation) {
	if x.app.gang != nil || x.ask.Placeholder || x.app.queue.policy.sort == policies.StateAware {
		c.other = true
	}
}

// A routine placement makes these changes. The states that it changes are events, which are reported after each
// placement; max applications are masks.

func (*routineChanges) askRemoved(*Allocation, *AskGroup)                      {}
func (*routineChanges) nodeUsageChanged(*Node)                                 {}
func (*routineChanges) queueUsageChanged(*Queue)                               {}
func (*routineChanges) queueRunningChanged(*Queue)                             {}
func (*routineChanges) accountUsageChanged(*quota.Account)                     {}
func (*routineChanges) accountRunningChanged(*quota.Account)                   {}
func (*routineChanges) applicationStateChanged(*Application, lifecycle.Change) {}
func (*routineChanges) runningChanged(*Application)                            {}

func (c *routineChanges) askAdded(*Allocation, groupPosition)          { c.other = true }
func (c *routineChanges) nominationAdded(*Allocation, *Node)           { c.other = true }
func (c *routineChanges) nominationRemoved(*Allocation, *Node)         { c.other = true }
func (c *routineChanges) nominationEnded(*Allocation, EndedNomination) { c.other = true }
func (c *routineChanges) reservationAdded(*Allocation, *Node)          { c.other = true }
func (*routineChanges) waitingStateChanged(*Allocation)                {}

func (c *routineChanges) reservationEnded(*Allocation, EndedReservation)        { c.other = true }
func (c *routineChanges) allocationUnposted(*Allocation)                        { c.other = true }
func (c *routineChanges) allocationResized(*Allocation)                         { c.other = true }
func (c *routineChanges) allocationTagged(*Allocation)                          { c.other = true }
func (c *routineChanges) preemptionMarked(*Allocation)                          { c.other = true }
func (c *routineChanges) preemptionUnmarked(*Allocation)                        { c.other = true }
func (c *routineChanges) placeholderEnding(*Allocation)                         { c.other = true }
func (c *routineChanges) replacementAdded(*Allocation, *Allocation)             { c.other = true }
func (c *routineChanges) replacementEnded(*Allocation, *Allocation)             { c.other = true }
func (c *routineChanges) replaced(*Allocation)                                  { c.other = true }
func (c *routineChanges) gangCountsChanged(*Application)                        { c.other = true }
func (c *routineChanges) gangRefused(*Application, []MemberGroup)               { c.other = true }
func (c *routineChanges) askGroupHeld(*AskGroup)                                { c.other = true }
func (c *routineChanges) nodeAdded(*Node)                                       { c.other = true }
func (c *routineChanges) nodeRemoved(*Node)                                     { c.other = true }
func (c *routineChanges) nodeFreed(*Node)                                       { c.other = true }
func (c *routineChanges) nodeRestored(*Node)                                    { c.other = true }
func (c *routineChanges) schedulabilityChanged(*Node)                           { c.other = true }
func (c *routineChanges) nodeAttributesChanged(*Node)                           { c.other = true }
func (c *routineChanges) nodeBudgetsChanged(*Node)                              { c.other = true }
func (c *routineChanges) foreignAdded(*Node, *Foreign)                          { c.other = true }
func (c *routineChanges) foreignRemoved(*Node, *Foreign)                        { c.other = true }
func (c *routineChanges) capacityChanged(*Queue)                                { c.other = true }
func (c *routineChanges) queuePreemptingChanged(*Queue)                         { c.other = true }
func (c *routineChanges) queueSettingsChanged(*Queue)                           { c.other = true }
func (c *routineChanges) queueChanged(*Queue)                                   { c.other = true }
func (c *routineChanges) queueStateChanged(*Queue, QueueChange)                 { c.other = true }
func (c *routineChanges) quotasChanged(*Queue)                                  { c.other = true }
func (c *routineChanges) queueTreeChanged()                                     { c.other = true }
func (c *routineChanges) accountMembersChanged(*quota.Account)                  { c.other = true }
func (c *routineChanges) applicationAdded(*Application)                         { c.other = true }
func (c *routineChanges) applicationRemoved(*Application)                       { c.other = true }
func (c *routineChanges) applicationExpired(*lifecycle.Ended, lifecycle.Change) { c.other = true }
func (c *routineChanges) firstStartingChanged(*Application)                     { c.other = true }
func (c *routineChanges) applicationMoved(*Application, *Queue)                 { c.other = true }
func (c *routineChanges) mayPreemptChanged(*Application)                        { c.other = true }
func (c *routineChanges) mayBeAllocatedChanged(*Application)                    { c.other = true }
func (c *routineChanges) configurationChanged()                                 { c.other = true }
func (c *routineChanges) settingsApplied()                                      { c.other = true }
func (c *routineChanges) rebuilding()                                           { c.other = true }
func (c *routineChanges) resourceAdded()                                        { c.other = true }
func (c *routineChanges) refusalsMayEnd()                                       { c.other = true }
