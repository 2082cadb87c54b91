package objects

import (
	"github.com/canopy-scheduler/canopy/pkg/lifecycle"
	"github.com/canopy-scheduler/canopy/pkg/quota"
)

// reservationChanges is what package reservation needs to know of changes: which reservations have ended, and whether
// more asks might reserve a node, or be placed by their reservation, than when that was last examined.
type reservationChanges struct {
	ignoreAccountChanges

	ended     []EndedReservation // since TakeEnded
	mayPlace  bool               // an ask with a reservation may be feasible that was not
	mayChange bool               // an ask may reserve that could not, or a reservation may be of no use any more
}

// TakeEnded returns the reservations that ended since the last call, in that order. The list is valid until
// the next one ends.
func (l ReservationLedger) TakeEnded() []EndedReservation {
	c := &l.p.journal.reserving
	out := c.ended
	c.ended = c.ended[:0]
	return out
}

// TakeMayPlace reports whether an ask with a reservation may be feasible that was not at the last call.
func (l ReservationLedger) TakeMayPlace() bool {
	c := &l.p.journal.reserving
	may := c.mayPlace && len(l.p.marks.reservations.asks) > 0
	c.mayPlace = false
	return may
}

// Retry makes the next TakeMayPlace true.
func (l ReservationLedger) Retry() { l.p.journal.reserving.mayPlace = true }

// MayChange reports whether an ask may reserve that could not at the last ForgetChanges, or a
// reservation may be of no use any more.
func (l ReservationLedger) MayChange() bool { return l.p.journal.reserving.mayChange }

// ForgetChanges makes MayChange false until the next change.
func (l ReservationLedger) ForgetChanges() { l.p.journal.reserving.mayChange = false }

// more records that more may be possible than before, for asks with a reservation and for others.
func (c *reservationChanges) more() { c.mayPlace, c.mayChange = true, true }

func (*reservationChanges) waitingStateChanged(*Allocation) {}

func (c *reservationChanges) reservationEnded(_ *Allocation, e EndedReservation) {
	c.ended = append(c.ended, e)
	c.more()
}

func (c *reservationChanges) askAdded(*Allocation, groupPosition)          { c.mayChange = true }
func (c *reservationChanges) nominationEnded(*Allocation, EndedNomination) { c.more() }
func (c *reservationChanges) reservationAdded(*Allocation, *Node)          { c.more() } // it may have ended another
func (c *reservationChanges) allocationPosted(*Allocation)                 { c.mayChange = true }
func (c *reservationChanges) allocationUnposted(*Allocation)               { c.more() }
func (c *reservationChanges) replacementEnded(*Allocation, *Allocation)    { c.more() }
func (c *reservationChanges) askGroupHeld(*AskGroup)                       { c.more() }
func (c *reservationChanges) nodeAdded(*Node)                              { c.more() }
func (c *reservationChanges) nodeRemoved(*Node)                            { c.mayChange = true }
func (c *reservationChanges) nodeUsageChanged(*Node)                       { c.mayChange = true }
func (c *reservationChanges) nodeFreed(*Node)                              { c.more() }
func (c *reservationChanges) schedulabilityChanged(*Node)                  { c.more() }
func (c *reservationChanges) nodeAttributesChanged(*Node)                  { c.more() }
func (c *reservationChanges) capacityChanged(*Queue)                       { c.more() }
func (c *reservationChanges) quotasChanged(*Queue)                         { c.more() }
func (c *reservationChanges) queueSettingsChanged(*Queue)                  { c.more() }
func (c *reservationChanges) applicationStateChanged(*Application, lifecycle.Change) {
	c.more() // it may be ramped up
}
func (c *reservationChanges) runningChanged(*Application)       { c.more() }
func (c *reservationChanges) firstStartingChanged(*Application) { c.more() }
func (c *reservationChanges) configurationChanged()             { c.more() }
func (c *reservationChanges) settingsApplied()                  { c.more() }
func (c *reservationChanges) rebuilding()                       { c.more() }
func (c *reservationChanges) refusalsMayEnd()                   { c.more() }
func (c *reservationChanges) accountMembersChanged(*quota.Account) {
	c.more()
}

// The other changes free nothing and block no ask by themselves.

func (*reservationChanges) askRemoved(*Allocation, *AskGroup)                     {}
func (*reservationChanges) nominationAdded(*Allocation, *Node)                    {}
func (*reservationChanges) nominationRemoved(*Allocation, *Node)                  {}
func (*reservationChanges) allocationResized(*Allocation)                         {}
func (*reservationChanges) allocationTagged(*Allocation)                          {}
func (*reservationChanges) preemptionMarked(*Allocation)                          {}
func (*reservationChanges) preemptionUnmarked(*Allocation)                        {}
func (*reservationChanges) placeholderEnding(*Allocation)                         {}
func (*reservationChanges) replacementAdded(*Allocation, *Allocation)             {}
func (*reservationChanges) replaced(*Allocation)                                  {}
func (*reservationChanges) gangCountsChanged(*Application)                        {}
func (*reservationChanges) gangRefused(*Application, []MemberGroup)               {}
func (*reservationChanges) nodeRestored(*Node)                                    {}
func (*reservationChanges) nodeBudgetsChanged(*Node)                              {}
func (*reservationChanges) foreignAdded(*Node, *Foreign)                          {}
func (*reservationChanges) foreignRemoved(*Node, *Foreign)                        {}
func (*reservationChanges) queueUsageChanged(*Queue)                              {}
func (*reservationChanges) queuePreemptingChanged(*Queue)                         {}
func (*reservationChanges) queueRunningChanged(*Queue)                            {}
func (*reservationChanges) queueChanged(*Queue)                                   {}
func (*reservationChanges) queueStateChanged(*Queue, QueueChange)                 {}
func (*reservationChanges) queueTreeChanged()                                     {}
func (*reservationChanges) applicationAdded(*Application)                         {}
func (*reservationChanges) applicationRemoved(*Application)                       {}
func (*reservationChanges) applicationExpired(*lifecycle.Ended, lifecycle.Change) {}
func (c *reservationChanges) applicationMoved(*Application, *Queue)               { c.more() }
func (*reservationChanges) mayPreemptChanged(*Application)                        {}
func (c *reservationChanges) mayBeAllocatedChanged(*Application)                  { c.more() }
func (*reservationChanges) resourceAdded()                                        {}
