package objects

// The methods of journal, one for each kind of change: it passes the change to every consumer. Those about queues,
// accounts, applications and the configuration are in journal_kinds_queues.go.

func (j *journal) askAdded(x *Allocation, in groupPosition) {
	j.order.askAdded(x, in)
	j.routine.askAdded(x, in)
	j.retries.askAdded(x, in)
	j.enforcement.askAdded(x, in)
	j.preemption.askAdded(x, in)
	j.snapshots.askAdded(x, in)
	j.events.askAdded(x, in)
	j.gangs.askAdded(x, in)
	j.waiting.askAdded(x, in)
	j.answers.askAdded(x, in)
	j.reserving.askAdded(x, in)
}

func (j *journal) askRemoved(x *Allocation, from *AskGroup) {
	j.order.askRemoved(x, from)
	j.routine.askRemoved(x, from)
	j.retries.askRemoved(x, from)
	j.enforcement.askRemoved(x, from)
	j.preemption.askRemoved(x, from)
	j.snapshots.askRemoved(x, from)
	j.events.askRemoved(x, from)
	j.gangs.askRemoved(x, from)
	j.waiting.askRemoved(x, from)
	j.answers.askRemoved(x, from)
	j.reserving.askRemoved(x, from)
}

func (j *journal) nominationAdded(x *Allocation, n *Node) {
	j.order.nominationAdded(x, n)
	j.routine.nominationAdded(x, n)
	j.retries.nominationAdded(x, n)
	j.enforcement.nominationAdded(x, n)
	j.preemption.nominationAdded(x, n)
	j.snapshots.nominationAdded(x, n)
	j.events.nominationAdded(x, n)
	j.gangs.nominationAdded(x, n)
	j.waiting.nominationAdded(x, n)
	j.answers.nominationAdded(x, n)
	j.reserving.nominationAdded(x, n)
}

func (j *journal) nominationRemoved(x *Allocation, n *Node) {
	j.order.nominationRemoved(x, n)
	j.routine.nominationRemoved(x, n)
	j.retries.nominationRemoved(x, n)
	j.enforcement.nominationRemoved(x, n)
	j.preemption.nominationRemoved(x, n)
	j.snapshots.nominationRemoved(x, n)
	j.events.nominationRemoved(x, n)
	j.gangs.nominationRemoved(x, n)
	j.waiting.nominationRemoved(x, n)
	j.answers.nominationRemoved(x, n)
	j.reserving.nominationRemoved(x, n)
}

func (j *journal) nominationEnded(x *Allocation, e EndedNomination) {
	j.order.nominationEnded(x, e)
	j.routine.nominationEnded(x, e)
	j.retries.nominationEnded(x, e)
	j.enforcement.nominationEnded(x, e)
	j.preemption.nominationEnded(x, e)
	j.snapshots.nominationEnded(x, e)
	j.events.nominationEnded(x, e)
	j.gangs.nominationEnded(x, e)
	j.waiting.nominationEnded(x, e)
	j.answers.nominationEnded(x, e)
	j.reserving.nominationEnded(x, e)
}

func (j *journal) reservationAdded(x *Allocation, n *Node) {
	j.order.reservationAdded(x, n)
	j.routine.reservationAdded(x, n)
	j.retries.reservationAdded(x, n)
	j.enforcement.reservationAdded(x, n)
	j.preemption.reservationAdded(x, n)
	j.snapshots.reservationAdded(x, n)
	j.events.reservationAdded(x, n)
	j.gangs.reservationAdded(x, n)
	j.waiting.reservationAdded(x, n)
	j.answers.reservationAdded(x, n)
	j.reserving.reservationAdded(x, n)
}

func (j *journal) reservationEnded(x *Allocation, e EndedReservation) {
	j.order.reservationEnded(x, e)
	j.routine.reservationEnded(x, e)
	j.retries.reservationEnded(x, e)
	j.enforcement.reservationEnded(x, e)
	j.preemption.reservationEnded(x, e)
	j.snapshots.reservationEnded(x, e)
	j.events.reservationEnded(x, e)
	j.gangs.reservationEnded(x, e)
	j.waiting.reservationEnded(x, e)
	j.answers.reservationEnded(x, e)
	j.reserving.reservationEnded(x, e)
}

func (j *journal) allocationPosted(x *Allocation) {
	j.order.allocationPosted(x)
	j.routine.allocationPosted(x)
	j.retries.allocationPosted(x)
	j.enforcement.allocationPosted(x)
	j.preemption.allocationPosted(x)
	j.snapshots.allocationPosted(x)
	j.events.allocationPosted(x)
	j.gangs.allocationPosted(x)
	j.waiting.allocationPosted(x)
	j.answers.allocationPosted(x)
	j.reserving.allocationPosted(x)
}

func (j *journal) allocationUnposted(x *Allocation) {
	j.order.allocationUnposted(x)
	j.routine.allocationUnposted(x)
	j.retries.allocationUnposted(x)
	j.enforcement.allocationUnposted(x)
	j.preemption.allocationUnposted(x)
	j.snapshots.allocationUnposted(x)
	j.events.allocationUnposted(x)
	j.gangs.allocationUnposted(x)
	j.waiting.allocationUnposted(x)
	j.answers.allocationUnposted(x)
	j.reserving.allocationUnposted(x)
}

func (j *journal) allocationResized(x *Allocation) {
	j.order.allocationResized(x)
	j.routine.allocationResized(x)
	j.retries.allocationResized(x)
	j.enforcement.allocationResized(x)
	j.preemption.allocationResized(x)
	j.snapshots.allocationResized(x)
	j.events.allocationResized(x)
	j.gangs.allocationResized(x)
	j.waiting.allocationResized(x)
	j.answers.allocationResized(x)
	j.reserving.allocationResized(x)
}

func (j *journal) allocationTagged(x *Allocation) {
	j.order.allocationTagged(x)
	j.routine.allocationTagged(x)
	j.retries.allocationTagged(x)
	j.enforcement.allocationTagged(x)
	j.preemption.allocationTagged(x)
	j.snapshots.allocationTagged(x)
	j.events.allocationTagged(x)
	j.gangs.allocationTagged(x)
	j.waiting.allocationTagged(x)
	j.answers.allocationTagged(x)
	j.reserving.allocationTagged(x)
}

func (j *journal) preemptionMarked(x *Allocation) {
	j.order.preemptionMarked(x)
	j.routine.preemptionMarked(x)
	j.retries.preemptionMarked(x)
	j.enforcement.preemptionMarked(x)
	j.preemption.preemptionMarked(x)
	j.snapshots.preemptionMarked(x)
	j.events.preemptionMarked(x)
	j.gangs.preemptionMarked(x)
	j.waiting.preemptionMarked(x)
	j.answers.preemptionMarked(x)
	j.reserving.preemptionMarked(x)
}

func (j *journal) preemptionUnmarked(x *Allocation) {
	j.order.preemptionUnmarked(x)
	j.routine.preemptionUnmarked(x)
	j.retries.preemptionUnmarked(x)
	j.enforcement.preemptionUnmarked(x)
	j.preemption.preemptionUnmarked(x)
	j.snapshots.preemptionUnmarked(x)
	j.events.preemptionUnmarked(x)
	j.gangs.preemptionUnmarked(x)
	j.waiting.preemptionUnmarked(x)
	j.answers.preemptionUnmarked(x)
	j.reserving.preemptionUnmarked(x)
}

func (j *journal) placeholderEnding(y *Allocation) {
	j.order.placeholderEnding(y)
	j.routine.placeholderEnding(y)
	j.retries.placeholderEnding(y)
	j.enforcement.placeholderEnding(y)
	j.preemption.placeholderEnding(y)
	j.snapshots.placeholderEnding(y)
	j.events.placeholderEnding(y)
	j.gangs.placeholderEnding(y)
	j.waiting.placeholderEnding(y)
	j.answers.placeholderEnding(y)
	j.reserving.placeholderEnding(y)
}

func (j *journal) replacementAdded(x, y *Allocation) {
	j.order.replacementAdded(x, y)
	j.routine.replacementAdded(x, y)
	j.retries.replacementAdded(x, y)
	j.enforcement.replacementAdded(x, y)
	j.preemption.replacementAdded(x, y)
	j.snapshots.replacementAdded(x, y)
	j.events.replacementAdded(x, y)
	j.gangs.replacementAdded(x, y)
	j.waiting.replacementAdded(x, y)
	j.answers.replacementAdded(x, y)
	j.reserving.replacementAdded(x, y)
}

func (j *journal) replacementEnded(x, y *Allocation) {
	j.order.replacementEnded(x, y)
	j.routine.replacementEnded(x, y)
	j.retries.replacementEnded(x, y)
	j.enforcement.replacementEnded(x, y)
	j.preemption.replacementEnded(x, y)
	j.snapshots.replacementEnded(x, y)
	j.events.replacementEnded(x, y)
	j.gangs.replacementEnded(x, y)
	j.waiting.replacementEnded(x, y)
	j.answers.replacementEnded(x, y)
	j.reserving.replacementEnded(x, y)
}

func (j *journal) replaced(x *Allocation) {
	j.order.replaced(x)
	j.routine.replaced(x)
	j.retries.replaced(x)
	j.enforcement.replaced(x)
	j.preemption.replaced(x)
	j.snapshots.replaced(x)
	j.events.replaced(x)
	j.gangs.replaced(x)
	j.waiting.replaced(x)
	j.answers.replaced(x)
	j.reserving.replaced(x)
}

func (j *journal) gangCountsChanged(a *Application) {
	j.order.gangCountsChanged(a)
	j.routine.gangCountsChanged(a)
	j.retries.gangCountsChanged(a)
	j.enforcement.gangCountsChanged(a)
	j.preemption.gangCountsChanged(a)
	j.snapshots.gangCountsChanged(a)
	j.events.gangCountsChanged(a)
	j.gangs.gangCountsChanged(a)
	j.waiting.gangCountsChanged(a)
	j.answers.gangCountsChanged(a)
	j.reserving.gangCountsChanged(a)
}

func (j *journal) askGroupHeld(group *AskGroup) {
	j.order.askGroupHeld(group)
	j.routine.askGroupHeld(group)
	j.retries.askGroupHeld(group)
	j.enforcement.askGroupHeld(group)
	j.preemption.askGroupHeld(group)
	j.snapshots.askGroupHeld(group)
	j.events.askGroupHeld(group)
	j.gangs.askGroupHeld(group)
	j.waiting.askGroupHeld(group)
	j.answers.askGroupHeld(group)
	j.reserving.askGroupHeld(group)
}

func (j *journal) nodeAdded(n *Node) {
	j.order.nodeAdded(n)
	j.routine.nodeAdded(n)
	j.retries.nodeAdded(n)
	j.enforcement.nodeAdded(n)
	j.preemption.nodeAdded(n)
	j.snapshots.nodeAdded(n)
	j.events.nodeAdded(n)
	j.gangs.nodeAdded(n)
	j.waiting.nodeAdded(n)
	j.answers.nodeAdded(n)
	j.reserving.nodeAdded(n)
}

func (j *journal) nodeRemoved(n *Node) {
	j.order.nodeRemoved(n)
	j.routine.nodeRemoved(n)
	j.retries.nodeRemoved(n)
	j.enforcement.nodeRemoved(n)
	j.preemption.nodeRemoved(n)
	j.snapshots.nodeRemoved(n)
	j.events.nodeRemoved(n)
	j.gangs.nodeRemoved(n)
	j.waiting.nodeRemoved(n)
	j.answers.nodeRemoved(n)
	j.reserving.nodeRemoved(n)
}

func (j *journal) nodeUsageChanged(n *Node) {
	j.order.nodeUsageChanged(n)
	j.routine.nodeUsageChanged(n)
	j.retries.nodeUsageChanged(n)
	j.enforcement.nodeUsageChanged(n)
	j.preemption.nodeUsageChanged(n)
	j.snapshots.nodeUsageChanged(n)
	j.events.nodeUsageChanged(n)
	j.gangs.nodeUsageChanged(n)
	j.waiting.nodeUsageChanged(n)
	j.answers.nodeUsageChanged(n)
	j.reserving.nodeUsageChanged(n)
}

func (j *journal) nodeFreed(n *Node) {
	j.order.nodeFreed(n)
	j.routine.nodeFreed(n)
	j.retries.nodeFreed(n)
	j.enforcement.nodeFreed(n)
	j.preemption.nodeFreed(n)
	j.snapshots.nodeFreed(n)
	j.events.nodeFreed(n)
	j.gangs.nodeFreed(n)
	j.waiting.nodeFreed(n)
	j.answers.nodeFreed(n)
	j.reserving.nodeFreed(n)
}

func (j *journal) nodeRestored(n *Node) {
	j.order.nodeRestored(n)
	j.routine.nodeRestored(n)
	j.retries.nodeRestored(n)
	j.enforcement.nodeRestored(n)
	j.preemption.nodeRestored(n)
	j.snapshots.nodeRestored(n)
	j.events.nodeRestored(n)
	j.gangs.nodeRestored(n)
	j.waiting.nodeRestored(n)
	j.answers.nodeRestored(n)
	j.reserving.nodeRestored(n)
}

func (j *journal) schedulabilityChanged(n *Node) {
	j.order.schedulabilityChanged(n)
	j.routine.schedulabilityChanged(n)
	j.retries.schedulabilityChanged(n)
	j.enforcement.schedulabilityChanged(n)
	j.preemption.schedulabilityChanged(n)
	j.snapshots.schedulabilityChanged(n)
	j.events.schedulabilityChanged(n)
	j.gangs.schedulabilityChanged(n)
	j.waiting.schedulabilityChanged(n)
	j.answers.schedulabilityChanged(n)
	j.reserving.schedulabilityChanged(n)
}

func (j *journal) nodeAttributesChanged(n *Node) {
	j.order.nodeAttributesChanged(n)
	j.routine.nodeAttributesChanged(n)
	j.retries.nodeAttributesChanged(n)
	j.enforcement.nodeAttributesChanged(n)
	j.preemption.nodeAttributesChanged(n)
	j.snapshots.nodeAttributesChanged(n)
	j.events.nodeAttributesChanged(n)
	j.gangs.nodeAttributesChanged(n)
	j.waiting.nodeAttributesChanged(n)
	j.answers.nodeAttributesChanged(n)
	j.reserving.nodeAttributesChanged(n)
}

func (j *journal) nodeBudgetsChanged(n *Node) {
	j.order.nodeBudgetsChanged(n)
	j.routine.nodeBudgetsChanged(n)
	j.retries.nodeBudgetsChanged(n)
	j.enforcement.nodeBudgetsChanged(n)
	j.preemption.nodeBudgetsChanged(n)
	j.snapshots.nodeBudgetsChanged(n)
	j.events.nodeBudgetsChanged(n)
	j.gangs.nodeBudgetsChanged(n)
	j.waiting.nodeBudgetsChanged(n)
	j.answers.nodeBudgetsChanged(n)
	j.reserving.nodeBudgetsChanged(n)
}

func (j *journal) capacityChanged(root *Queue) {
	j.order.capacityChanged(root)
	j.routine.capacityChanged(root)
	j.retries.capacityChanged(root)
	j.enforcement.capacityChanged(root)
	j.preemption.capacityChanged(root)
	j.snapshots.capacityChanged(root)
	j.events.capacityChanged(root)
	j.gangs.capacityChanged(root)
	j.waiting.capacityChanged(root)
	j.answers.capacityChanged(root)
	j.reserving.capacityChanged(root)
}
