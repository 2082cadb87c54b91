package objects

// The methods of journal for changes of nodes; see journal_kinds.go.

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
	j.affinity.nodeAdded(n)
	j.topology.nodeAdded(n)
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
	j.affinity.nodeRemoved(n)
	j.topology.nodeRemoved(n)
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
	j.affinity.nodeUsageChanged(n)
	j.topology.nodeUsageChanged(n)
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
	j.affinity.nodeFreed(n)
	j.topology.nodeFreed(n)
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
	j.affinity.nodeRestored(n)
	j.topology.nodeRestored(n)
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
	j.affinity.schedulabilityChanged(n)
	j.topology.schedulabilityChanged(n)
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
	j.affinity.nodeAttributesChanged(n)
	j.topology.nodeAttributesChanged(n)
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
	j.affinity.nodeBudgetsChanged(n)
	j.topology.nodeBudgetsChanged(n)
}

func (j *journal) foreignAdded(n *Node, f *Foreign) {
	j.order.foreignAdded(n, f)
	j.routine.foreignAdded(n, f)
	j.retries.foreignAdded(n, f)
	j.enforcement.foreignAdded(n, f)
	j.preemption.foreignAdded(n, f)
	j.snapshots.foreignAdded(n, f)
	j.events.foreignAdded(n, f)
	j.gangs.foreignAdded(n, f)
	j.waiting.foreignAdded(n, f)
	j.answers.foreignAdded(n, f)
	j.reserving.foreignAdded(n, f)
	j.affinity.foreignAdded(n, f)
	j.topology.foreignAdded(n, f)
}

func (j *journal) foreignRemoved(n *Node, f *Foreign) {
	j.order.foreignRemoved(n, f)
	j.routine.foreignRemoved(n, f)
	j.retries.foreignRemoved(n, f)
	j.enforcement.foreignRemoved(n, f)
	j.preemption.foreignRemoved(n, f)
	j.snapshots.foreignRemoved(n, f)
	j.events.foreignRemoved(n, f)
	j.gangs.foreignRemoved(n, f)
	j.waiting.foreignRemoved(n, f)
	j.answers.foreignRemoved(n, f)
	j.reserving.foreignRemoved(n, f)
	j.affinity.foreignRemoved(n, f)
	j.topology.foreignRemoved(n, f)
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
	j.affinity.capacityChanged(root)
	j.topology.capacityChanged(root)
}
