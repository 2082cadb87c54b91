package objects

// reservationChanges is what package reservation needs to know of changes: which reservations have ended, and whether
// more asks might reserve a node, or be placed by their reservation, than when that was last examined.
type reservationChanges struct {
	ended     []EndedReservation // since TakeEnded
	mayPlace  bool               // an ask with a reservation may be feasible that was not
	mayChange bool               // an ask may reserve that could not, or a reservation may be of no use any more
}

// TakeEnded returns the reservations that ended since the last call, in that order. The list is valid until
// the next one ends.
func (l ReservationLedger) TakeEnded() []EndedReservation {
	return take(&l.p.journal.reserving.ended)
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
func (r *reservationChanges) more() { r.mayPlace, r.mayChange = true, true }

// Wants leaves out the changes that free nothing and block no ask by themselves.
func (*reservationChanges) Wants() ChangeSet {
	return 1<<ReservationEnded | 1<<AskAdded | 1<<NominationEnded | 1<<ReservationAdded | 1<<AllocationPosted |
		1<<AllocationUnposted | 1<<ReplacementEnded | 1<<AskGroupHeld | 1<<NodeAdded | 1<<NodeRemoved |
		1<<NodeUsageChanged | 1<<NodeFreed | 1<<SchedulabilityChanged | 1<<NodeAttributesChanged | 1<<CapacityChanged |
		1<<QuotasChanged | 1<<QueueSettingsChanged | 1<<ApplicationStateChanged | 1<<RunningChanged |
		1<<FirstStartingChanged | 1<<ConfigurationChanged | 1<<SettingsApplied | 1<<Rebuilding | 1<<RefusalsMayEnd |
		1<<NodesOpened | 1<<AccountMembersChanged | 1<<ApplicationMoved | 1<<MayBeAllocatedChanged
}

func (r *reservationChanges) On(c *Change) {
	switch c.Kind {
	case AskAdded, AllocationPosted, NodeRemoved, NodeUsageChanged:
		r.mayChange = true
	case ReservationEnded:
		r.ended = append(r.ended, EndedReservation{c.Ask, c.Node, c.Since, c.End})
		r.more()
	default: // an application that has entered a state may be ramped up; a new reservation may have ended another
		r.more()
	}
}
