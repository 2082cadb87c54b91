package objects

// snapshotChanges records what changed while snapshots are watched. Without a watch a change costs a
// comparison.
type snapshotChanges struct {
	watch *Changes // nil: changes are not recorded
}

// maxUntakenChanges is how many changes of allocations are recorded, at least, before recording
// ends.
const maxUntakenChanges = 10_000

// allocation records that x was added, changed or removed. Its application, leaf and node changed with it.
func (s *snapshotChanges) allocation(x *Allocation) {
	c := s.watch
	if _, listed := c.recorded[x]; !listed {
		if len(c.allocations) > 2*c.p.allocations.len()+maxUntakenChanges {
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

// wants leaves out the changes that show in no view, or in that of an object that changes with them: the node of a
// reservation has other quantities.
func (*snapshotChanges) wants() changeSet {
	return 1<<askAdded | 1<<askRemoved | 1<<nominationAdded | 1<<nominationRemoved | 1<<reservationAdded |
		1<<reservationEnded | 1<<waitingStateChanged | 1<<allocationPosted | 1<<allocationUnposted | 1<<allocationResized |
		1<<allocationTagged | 1<<preemptionMarked | 1<<preemptionUnmarked | 1<<placeholderEnding | 1<<replacementAdded |
		1<<replacementEnded | 1<<gangCountsChanged | 1<<nodeAdded | 1<<nodeRemoved | 1<<nodeUsageChanged |
		1<<schedulabilityChanged | 1<<nodeAttributesChanged | 1<<nodeBudgetsChanged | 1<<capacityChanged |
		1<<queueSettingsChanged | 1<<queueChanged | 1<<quotasChanged | 1<<accountMembersChanged | 1<<accountUsageChanged |
		1<<accountRunningChanged | 1<<applicationAdded | 1<<applicationRemoved | 1<<applicationStateChanged |
		1<<applicationMoved | 1<<mayBeAllocatedChanged | 1<<rebuilding
}

func (s *snapshotChanges) on(c *change) {
	if s.watch == nil {
		return
	}
	switch c.kind {
	case nodeAdded, nodeRemoved, nodeUsageChanged, schedulabilityChanged, nodeAttributesChanged, nodeBudgetsChanged:
		s.watch.addNode(c.node)
	case askAdded, askRemoved, nominationAdded, nominationRemoved, reservationAdded, reservationEnded,
		waitingStateChanged, allocationPosted, allocationUnposted, allocationResized, allocationTagged, preemptionMarked,
		preemptionUnmarked, placeholderEnding, replacementAdded, replacementEnded:
		s.allocation(c.ask)
	case queueSettingsChanged, queueChanged, quotasChanged, capacityChanged: // REST shows the capacity as the max of root
		s.watch.addQueue(c.queue)
	case accountMembersChanged, accountUsageChanged, accountRunningChanged:
		s.watch.addAccount(c.account)
	case gangCountsChanged, applicationAdded, applicationRemoved, applicationStateChanged, mayBeAllocatedChanged:
		s.watch.addApp(c.app)
		s.watch.addQueue(c.app.queue)
	case applicationMoved:
		s.watch.addApp(c.app)
		s.watch.addQueue(c.app.queue)
		s.watch.addQueue(c.queue)
	case rebuilding: // all accounts are others now, and anything may have changed
		s.unwatch()
	}
}
