package reservation

import (
	"time"

	"github.com/canopy-scheduler/canopy/pkg/objects"
)

// changes has what an Engine needs to know of changes of its partition: which reservations have ended, and whether more
// asks might reserve a node, or be placed by their reservation, than when that was last examined.
type changes struct {
	ended     []EndedReservation // since they were last reported, in that order
	mayPlace  bool               // an ask with a reservation may be feasible that was not
	mayChange bool               // an ask may reserve that could not, or a reservation may be of no use any more
}

// EndedReservation is a reservation that has ended.
type EndedReservation struct {
	Ask   *objects.Allocation // pending, bound, or removed
	Node  *objects.Node       // may be removed
	Since time.Time
	End   objects.ReservationEnd
}

// watch returns the changes of p from now on.
func watch(p *objects.Partition) *changes {
	c := &changes{}
	objects.Attach(p, c)
	return c
}

// more records that more may be possible than before, for asks with a reservation and for others.
func (c *changes) more() { c.mayPlace, c.mayChange = true, true }

// Wants leaves out the changes that free nothing and block no ask by themselves.
func (*changes) Wants() objects.ChangeSet {
	return 1<<objects.ReservationEnded | 1<<objects.AskAdded | 1<<objects.AskRemoved | 1<<objects.NominationEnded |
		1<<objects.ReservationAdded | 1<<objects.AllocationPosted | 1<<objects.AllocationUnposted |
		1<<objects.ReplacementEnded | 1<<objects.AskGroupHeld | 1<<objects.NodeAdded | 1<<objects.NodeRemoved |
		1<<objects.NodeUsageChanged | 1<<objects.NodeFreed | 1<<objects.SchedulabilityChanged |
		1<<objects.NodeAttributesChanged | 1<<objects.CapacityChanged | 1<<objects.QuotasChanged |
		1<<objects.QueueSettingsChanged | 1<<objects.ApplicationStateChanged | 1<<objects.RunningChanged |
		1<<objects.FirstStartingChanged | 1<<objects.ConfigurationChanged | 1<<objects.SettingsApplied |
		1<<objects.Rebuilding | 1<<objects.RefusalsMayEnd | 1<<objects.NodesOpened |
		1<<objects.AccountMembersChanged | 1<<objects.ApplicationMoved | 1<<objects.MayBeAllocatedChanged
}

// On implements objects.Consumer.
func (c *changes) On(was *objects.Change) {
	switch was.Kind {
	// a gang that has lost a member may fit where it did not
	case objects.AskAdded, objects.AskRemoved, objects.AllocationPosted, objects.NodeRemoved, objects.NodeUsageChanged:
		c.mayChange = true
	case objects.ReservationEnded:
		c.ended = append(c.ended, EndedReservation{was.Ask, was.Node, was.Since, was.End})
		c.more()
	default: // an application that has entered a state may be ramped up; a new reservation may have ended another
		c.more()
	}
}
