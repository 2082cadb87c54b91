package objects

import "github.com/canopy-scheduler/canopy/pkg/quota"

// The methods of journal for changes of queues, accounts and the configuration.

func (j *journal) queueUsageChanged(q *Queue) {
	j.order.queueUsageChanged(q)
	j.routine.queueUsageChanged(q)
	j.retries.queueUsageChanged(q)
	j.enforcement.queueUsageChanged(q)
	j.preemption.queueUsageChanged(q)
	j.snapshots.queueUsageChanged(q)
	j.events.queueUsageChanged(q)
	j.gangs.queueUsageChanged(q)
	j.waiting.queueUsageChanged(q)
	j.answers.queueUsageChanged(q)
	j.reserving.queueUsageChanged(q)
	j.affinity.queueUsageChanged(q)
	j.topology.queueUsageChanged(q)
}

func (j *journal) queuePreemptingChanged(q *Queue) {
	j.order.queuePreemptingChanged(q)
	j.routine.queuePreemptingChanged(q)
	j.retries.queuePreemptingChanged(q)
	j.enforcement.queuePreemptingChanged(q)
	j.preemption.queuePreemptingChanged(q)
	j.snapshots.queuePreemptingChanged(q)
	j.events.queuePreemptingChanged(q)
	j.gangs.queuePreemptingChanged(q)
	j.waiting.queuePreemptingChanged(q)
	j.answers.queuePreemptingChanged(q)
	j.reserving.queuePreemptingChanged(q)
	j.affinity.queuePreemptingChanged(q)
	j.topology.queuePreemptingChanged(q)
}

func (j *journal) queueRunningChanged(q *Queue) {
	j.order.queueRunningChanged(q)
	j.routine.queueRunningChanged(q)
	j.retries.queueRunningChanged(q)
	j.enforcement.queueRunningChanged(q)
	j.preemption.queueRunningChanged(q)
	j.snapshots.queueRunningChanged(q)
	j.events.queueRunningChanged(q)
	j.gangs.queueRunningChanged(q)
	j.waiting.queueRunningChanged(q)
	j.answers.queueRunningChanged(q)
	j.reserving.queueRunningChanged(q)
	j.affinity.queueRunningChanged(q)
	j.topology.queueRunningChanged(q)
}

func (j *journal) queueSettingsChanged(q *Queue) {
	j.order.queueSettingsChanged(q)
	j.routine.queueSettingsChanged(q)
	j.retries.queueSettingsChanged(q)
	j.enforcement.queueSettingsChanged(q)
	j.preemption.queueSettingsChanged(q)
	j.snapshots.queueSettingsChanged(q)
	j.events.queueSettingsChanged(q)
	j.gangs.queueSettingsChanged(q)
	j.waiting.queueSettingsChanged(q)
	j.answers.queueSettingsChanged(q)
	j.reserving.queueSettingsChanged(q)
	j.affinity.queueSettingsChanged(q)
	j.topology.queueSettingsChanged(q)
}

func (j *journal) queueChanged(q *Queue) {
	j.order.queueChanged(q)
	j.routine.queueChanged(q)
	j.retries.queueChanged(q)
	j.enforcement.queueChanged(q)
	j.preemption.queueChanged(q)
	j.snapshots.queueChanged(q)
	j.events.queueChanged(q)
	j.gangs.queueChanged(q)
	j.waiting.queueChanged(q)
	j.answers.queueChanged(q)
	j.reserving.queueChanged(q)
	j.affinity.queueChanged(q)
	j.topology.queueChanged(q)
}

func (j *journal) queueStateChanged(q *Queue, to QueueChange) {
	j.order.queueStateChanged(q, to)
	j.routine.queueStateChanged(q, to)
	j.retries.queueStateChanged(q, to)
	j.enforcement.queueStateChanged(q, to)
	j.preemption.queueStateChanged(q, to)
	j.snapshots.queueStateChanged(q, to)
	j.events.queueStateChanged(q, to)
	j.gangs.queueStateChanged(q, to)
	j.waiting.queueStateChanged(q, to)
	j.answers.queueStateChanged(q, to)
	j.reserving.queueStateChanged(q, to)
	j.affinity.queueStateChanged(q, to)
	j.topology.queueStateChanged(q, to)
}

func (j *journal) quotasChanged(q *Queue) {
	j.order.quotasChanged(q)
	j.routine.quotasChanged(q)
	j.retries.quotasChanged(q)
	j.enforcement.quotasChanged(q)
	j.preemption.quotasChanged(q)
	j.snapshots.quotasChanged(q)
	j.events.quotasChanged(q)
	j.gangs.quotasChanged(q)
	j.waiting.quotasChanged(q)
	j.answers.quotasChanged(q)
	j.reserving.quotasChanged(q)
	j.affinity.quotasChanged(q)
	j.topology.quotasChanged(q)
}

func (j *journal) queueTreeChanged() {
	j.order.queueTreeChanged()
	j.routine.queueTreeChanged()
	j.retries.queueTreeChanged()
	j.enforcement.queueTreeChanged()
	j.preemption.queueTreeChanged()
	j.snapshots.queueTreeChanged()
	j.events.queueTreeChanged()
	j.gangs.queueTreeChanged()
	j.waiting.queueTreeChanged()
	j.answers.queueTreeChanged()
	j.reserving.queueTreeChanged()
	j.affinity.queueTreeChanged()
	j.topology.queueTreeChanged()
}

func (j *journal) accountMembersChanged(x *quota.Account) {
	j.order.accountMembersChanged(x)
	j.routine.accountMembersChanged(x)
	j.retries.accountMembersChanged(x)
	j.enforcement.accountMembersChanged(x)
	j.preemption.accountMembersChanged(x)
	j.snapshots.accountMembersChanged(x)
	j.events.accountMembersChanged(x)
	j.gangs.accountMembersChanged(x)
	j.waiting.accountMembersChanged(x)
	j.answers.accountMembersChanged(x)
	j.reserving.accountMembersChanged(x)
	j.affinity.accountMembersChanged(x)
	j.topology.accountMembersChanged(x)
}

func (j *journal) accountUsageChanged(x *quota.Account) {
	j.order.accountUsageChanged(x)
	j.routine.accountUsageChanged(x)
	j.retries.accountUsageChanged(x)
	j.enforcement.accountUsageChanged(x)
	j.preemption.accountUsageChanged(x)
	j.snapshots.accountUsageChanged(x)
	j.events.accountUsageChanged(x)
	j.gangs.accountUsageChanged(x)
	j.waiting.accountUsageChanged(x)
	j.answers.accountUsageChanged(x)
	j.reserving.accountUsageChanged(x)
	j.affinity.accountUsageChanged(x)
	j.topology.accountUsageChanged(x)
}

func (j *journal) accountRunningChanged(x *quota.Account) {
	j.order.accountRunningChanged(x)
	j.routine.accountRunningChanged(x)
	j.retries.accountRunningChanged(x)
	j.enforcement.accountRunningChanged(x)
	j.preemption.accountRunningChanged(x)
	j.snapshots.accountRunningChanged(x)
	j.events.accountRunningChanged(x)
	j.gangs.accountRunningChanged(x)
	j.waiting.accountRunningChanged(x)
	j.answers.accountRunningChanged(x)
	j.reserving.accountRunningChanged(x)
	j.affinity.accountRunningChanged(x)
	j.topology.accountRunningChanged(x)
}

func (j *journal) configurationChanged() {
	j.order.configurationChanged()
	j.routine.configurationChanged()
	j.retries.configurationChanged()
	j.enforcement.configurationChanged()
	j.preemption.configurationChanged()
	j.snapshots.configurationChanged()
	j.events.configurationChanged()
	j.gangs.configurationChanged()
	j.waiting.configurationChanged()
	j.answers.configurationChanged()
	j.reserving.configurationChanged()
	j.affinity.configurationChanged()
	j.topology.configurationChanged()
}

func (j *journal) settingsApplied() {
	j.order.settingsApplied()
	j.routine.settingsApplied()
	j.retries.settingsApplied()
	j.enforcement.settingsApplied()
	j.preemption.settingsApplied()
	j.snapshots.settingsApplied()
	j.events.settingsApplied()
	j.gangs.settingsApplied()
	j.waiting.settingsApplied()
	j.answers.settingsApplied()
	j.reserving.settingsApplied()
	j.affinity.settingsApplied()
	j.topology.settingsApplied()
}

func (j *journal) rebuilding() {
	j.order.rebuilding()
	j.routine.rebuilding()
	j.retries.rebuilding()
	j.enforcement.rebuilding()
	j.preemption.rebuilding()
	j.snapshots.rebuilding()
	j.events.rebuilding()
	j.gangs.rebuilding()
	j.waiting.rebuilding()
	j.answers.rebuilding()
	j.reserving.rebuilding()
	j.affinity.rebuilding()
	j.topology.rebuilding()
}

func (j *journal) resourceAdded() {
	j.order.resourceAdded()
	j.routine.resourceAdded()
	j.retries.resourceAdded()
	j.enforcement.resourceAdded()
	j.preemption.resourceAdded()
	j.snapshots.resourceAdded()
	j.events.resourceAdded()
	j.gangs.resourceAdded()
	j.waiting.resourceAdded()
	j.answers.resourceAdded()
	j.reserving.resourceAdded()
	j.affinity.resourceAdded()
	j.topology.resourceAdded()
}

func (j *journal) refusalsMayEnd() {
	j.order.refusalsMayEnd()
	j.routine.refusalsMayEnd()
	j.retries.refusalsMayEnd()
	j.enforcement.refusalsMayEnd()
	j.preemption.refusalsMayEnd()
	j.snapshots.refusalsMayEnd()
	j.events.refusalsMayEnd()
	j.gangs.refusalsMayEnd()
	j.waiting.refusalsMayEnd()
	j.answers.refusalsMayEnd()
	j.reserving.refusalsMayEnd()
	j.affinity.refusalsMayEnd()
	j.topology.refusalsMayEnd()
}
