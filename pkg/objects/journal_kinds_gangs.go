package objects

// The methods of journal for the kinds of changes of gangs.

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
	j.affinity.placeholderEnding(y)
	j.topology.placeholderEnding(y)
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
	j.affinity.replacementAdded(x, y)
	j.topology.replacementAdded(x, y)
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
	j.affinity.replacementEnded(x, y)
	j.topology.replacementEnded(x, y)
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
	j.affinity.replaced(x)
	j.topology.replaced(x)
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
	j.affinity.gangCountsChanged(a)
	j.topology.gangCountsChanged(a)
}

func (j *journal) gangRefused(a *Application, members []MemberGroup) {
	j.order.gangRefused(a, members)
	j.routine.gangRefused(a, members)
	j.retries.gangRefused(a, members)
	j.enforcement.gangRefused(a, members)
	j.preemption.gangRefused(a, members)
	j.snapshots.gangRefused(a, members)
	j.events.gangRefused(a, members)
	j.gangs.gangRefused(a, members)
	j.waiting.gangRefused(a, members)
	j.answers.gangRefused(a, members)
	j.reserving.gangRefused(a, members)
	j.affinity.gangRefused(a, members)
	j.topology.gangRefused(a, members)
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
	j.affinity.askGroupHeld(group)
	j.topology.askGroupHeld(group)
}
