package objects

// The methods of journal, one for each kind of change: it passes the change to every consumer. Those about gangs are in
// journal_kinds_gangs.go, those about nodes in journal_kinds_nodes.go, those about queues, accounts and the
// configuration in journal_kinds_queues.go, those about applications in journal_kinds_applications.go.

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
	j.affinity.askAdded(x, in)
	j.topology.askAdded(x, in)
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
	j.affinity.askRemoved(x, from)
	j.topology.askRemoved(x, from)
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
	j.affinity.nominationAdded(x, n)
	j.topology.nominationAdded(x, n)
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
	j.affinity.nominationRemoved(x, n)
	j.topology.nominationRemoved(x, n)
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
	j.affinity.nominationEnded(x, e)
	j.topology.nominationEnded(x, e)
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
	j.affinity.reservationAdded(x, n)
	j.topology.reservationAdded(x, n)
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
	j.affinity.reservationEnded(x, e)
	j.topology.reservationEnded(x, e)
}

func (j *journal) waitingStateChanged(x *Allocation) {
	j.order.waitingStateChanged(x)
	j.routine.waitingStateChanged(x)
	j.retries.waitingStateChanged(x)
	j.enforcement.waitingStateChanged(x)
	j.preemption.waitingStateChanged(x)
	j.snapshots.waitingStateChanged(x)
	j.events.waitingStateChanged(x)
	j.gangs.waitingStateChanged(x)
	j.waiting.waitingStateChanged(x)
	j.answers.waitingStateChanged(x)
	j.reserving.waitingStateChanged(x)
	j.affinity.waitingStateChanged(x)
	j.topology.waitingStateChanged(x)
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
	j.affinity.allocationPosted(x)
	j.topology.allocationPosted(x)
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
	j.affinity.allocationUnposted(x)
	j.topology.allocationUnposted(x)
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
	j.affinity.allocationResized(x)
	j.topology.allocationResized(x)
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
	j.affinity.allocationTagged(x)
	j.topology.allocationTagged(x)
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
	j.affinity.preemptionMarked(x)
	j.topology.preemptionMarked(x)
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
	j.affinity.preemptionUnmarked(x)
	j.topology.preemptionUnmarked(x)
}
