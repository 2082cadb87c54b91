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

// wants leaves out the changes that free nothing and block no ask by themselves.
func (*reservationChanges) wants() changeSet {
	return 1<<reservationEnded | 1<<askAdded | 1<<nominationEnded | 1<<reservationAdded | 1<<allocationPosted |
		1<<allocationUnposted | 1<<replacementEnded | 1<<askGroupHeld | 1<<nodeAdded | 1<<nodeRemoved |
		1<<nodeUsageChanged | 1<<nodeFreed | 1<<schedulabilityChanged | 1<<nodeAttributesChanged | 1<<capacityChanged |
		1<<quotasChanged | 1<<queueSettingsChanged | 1<<applicationStateChanged | 1<<runningChanged |
		1<<firstStartingChanged | 1<<configurationChanged | 1<<settingsApplied | 1<<rebuilding | 1<<refusalsMayEnd |
		1<<accountMembersChanged | 1<<applicationMoved | 1<<mayBeAllocatedChanged
}

func (r *reservationChanges) on(c *change) {
	switch c.kind {
	case askAdded, allocationPosted, nodeRemoved, nodeUsageChanged:
		r.mayChange = true
	case reservationEnded:
		r.ended = append(r.ended, EndedReservation{c.ask, c.node, c.since, c.end})
		r.more()
	default: // an application that has entered a state may be ramped up; a new reservation may have ended another
		r.more()
	}
}
