package objects

// snapshotChanges records what changed while snapshots are watched. Without a watch a change costs a
// comparison.
type snapshotChanges struct {
	watch *Changes // nil: changes are not recorded
}

// maxUntakenChanges is the number of changes of allocations that are recorded, at least, before recording
// ends.
const maxUntakenChanges = 10_000

// allocation records that x was added, changed or removed. Its application, leaf and node changed with it.
func (s *snapshotChanges) allocation(x *Allocation) {
	c := s.watch
	if _, listed := c.recorded[x]; !listed {
		if len(c.allocations) > 2*len(c.p.allocations)+maxUntakenChanges {
			s.unwatch() // not taken for long, and most are removed by now
			return
		}
		c.recorded[x] = struct{}{}
		c.allocations = append(c.allocations, x)
	}
	c.addApp(x.app)
	c.addQueue(x.app.queue)
	if x.node != nil {
		c.addNode(x.node)
	}
}

// Wants leaves out the changes that show in no view, or in that of an object that changes with them: the node of a
// reservation has other quantities.
func (*snapshotChanges) Wants() ChangeSet {
	return 1<<AskAdded | 1<<AskRemoved | 1<<NominationAdded | 1<<NominationRemoved | 1<<ReservationAdded |
		1<<ReservationEnded | 1<<WaitingStateChanged | 1<<AllocationPosted | 1<<AllocationUnposted | 1<<AllocationResized |
		1<<AllocationTagged | 1<<PreemptionMarked | 1<<PreemptionUnmarked | 1<<EndOrdered | 1<<ReplacementAdded |
		1<<ReplacementEnded | 1<<GangCountsChanged | 1<<NodeAdded | 1<<NodeRemoved | 1<<NodeUsageChanged |
		1<<SchedulabilityChanged | 1<<NodeAttributesChanged | 1<<NodeBudgetsChanged | 1<<CapacityChanged |
		1<<QueueSettingsChanged | 1<<QueueChanged | 1<<QuotasChanged | 1<<AccountMembersChanged | 1<<AccountUsageChanged |
		1<<AccountRunningChanged | 1<<ApplicationAdded | 1<<ApplicationRemoved | 1<<ApplicationStateChanged |
		1<<ApplicationMoved | 1<<MayBeAllocatedChanged | 1<<TurnChanged | 1<<Rebuilding
}

func (s *snapshotChanges) On(c *Change) {
	if s.watch == nil {
		return
	}
	switch c.Kind {
	case NodeAdded, NodeRemoved, NodeUsageChanged, SchedulabilityChanged, NodeAttributesChanged, NodeBudgetsChanged:
		s.watch.addNode(c.Node)
	case AskAdded, AskRemoved, NominationAdded, NominationRemoved, ReservationAdded, ReservationEnded,
		WaitingStateChanged, AllocationPosted, AllocationUnposted, AllocationResized, AllocationTagged, PreemptionMarked,
		PreemptionUnmarked, EndOrdered, ReplacementAdded, ReplacementEnded:
		s.allocation(c.Ask)
	case QueueSettingsChanged, QueueChanged, QuotasChanged, CapacityChanged: // REST shows the capacity as the max of root
		s.watch.addQueue(c.Queue)
	case AccountMembersChanged, AccountUsageChanged, AccountRunningChanged:
		s.watch.addAccount(c.Account)
	case GangCountsChanged, ApplicationAdded, ApplicationRemoved, ApplicationStateChanged, MayBeAllocatedChanged,
		TurnChanged:
		s.watch.addApp(c.App)
		s.watch.addQueue(c.App.queue)
	case ApplicationMoved:
		s.watch.addApp(c.App)
		s.watch.addQueue(c.App.queue)
		s.watch.addQueue(c.Queue)
	case Rebuilding: // all accounts are others now, and anything may have changed
		s.unwatch()
	}
}
