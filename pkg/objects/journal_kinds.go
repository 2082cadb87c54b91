package objects

import (
	"github.com/canopy-scheduler/canopy/pkg/lifecycle"
	"github.com/canopy-scheduler/canopy/pkg/quota"
)

// The methods of journal, one for each kind of change: it passes the change to every consumer.

func (j *journal) askAdded(x *Allocation, in groupPosition) {
	j.order.askAdded(x, in)
	j.retries.askAdded(x, in)
	j.enforcement.askAdded(x, in)
	j.preemption.askAdded(x, in)
	j.snapshots.askAdded(x, in)
	j.events.askAdded(x, in)
}

func (j *journal) askRemoved(x *Allocation, from *AskGroup) {
	j.order.askRemoved(x, from)
	j.retries.askRemoved(x, from)
	j.enforcement.askRemoved(x, from)
	j.preemption.askRemoved(x, from)
	j.snapshots.askRemoved(x, from)
	j.events.askRemoved(x, from)
}

func (j *journal) nominationAdded(x *Allocation, n *Node) {
	j.order.nominationAdded(x, n)
	j.retries.nominationAdded(x, n)
	j.enforcement.nominationAdded(x, n)
	j.preemption.nominationAdded(x, n)
	j.snapshots.nominationAdded(x, n)
	j.events.nominationAdded(x, n)
}

func (j *journal) nominationRemoved(x *Allocation, n *Node) {
	j.order.nominationRemoved(x, n)
	j.retries.nominationRemoved(x, n)
	j.enforcement.nominationRemoved(x, n)
	j.preemption.nominationRemoved(x, n)
	j.snapshots.nominationRemoved(x, n)
	j.events.nominationRemoved(x, n)
}

func (j *journal) nominationEnded(x *Allocation, e EndedNomination) {
	j.order.nominationEnded(x, e)
	j.retries.nominationEnded(x, e)
	j.enforcement.nominationEnded(x, e)
	j.preemption.nominationEnded(x, e)
	j.snapshots.nominationEnded(x, e)
	j.events.nominationEnded(x, e)
}

func (j *journal) allocationPosted(x *Allocation) {
	j.order.allocationPosted(x)
	j.retries.allocationPosted(x)
	j.enforcement.allocationPosted(x)
	j.preemption.allocationPosted(x)
	j.snapshots.allocationPosted(x)
	j.events.allocationPosted(x)
}

func (j *journal) allocationUnposted(x *Allocation) {
	j.order.allocationUnposted(x)
	j.retries.allocationUnposted(x)
	j.enforcement.allocationUnposted(x)
	j.preemption.allocationUnposted(x)
	j.snapshots.allocationUnposted(x)
	j.events.allocationUnposted(x)
}

func (j *journal) allocationResized(x *Allocation) {
	j.order.allocationResized(x)
	j.retries.allocationResized(x)
	j.enforcement.allocationResized(x)
	j.preemption.allocationResized(x)
	j.snapshots.allocationResized(x)
	j.events.allocationResized(x)
}

func (j *journal) allocationTagged(x *Allocation) {
	j.order.allocationTagged(x)
	j.retries.allocationTagged(x)
	j.enforcement.allocationTagged(x)
	j.preemption.allocationTagged(x)
	j.snapshots.allocationTagged(x)
	j.events.allocationTagged(x)
}

func (j *journal) preemptionMarked(x *Allocation) {
	j.order.preemptionMarked(x)
	j.retries.preemptionMarked(x)
	j.enforcement.preemptionMarked(x)
	j.preemption.preemptionMarked(x)
	j.snapshots.preemptionMarked(x)
	j.events.preemptionMarked(x)
}

func (j *journal) preemptionUnmarked(x *Allocation) {
	j.order.preemptionUnmarked(x)
	j.retries.preemptionUnmarked(x)
	j.enforcement.preemptionUnmarked(x)
	j.preemption.preemptionUnmarked(x)
	j.snapshots.preemptionUnmarked(x)
	j.events.preemptionUnmarked(x)
}

func (j *journal) nodeAdded(n *Node) {
	j.order.nodeAdded(n)
	j.retries.nodeAdded(n)
	j.enforcement.nodeAdded(n)
	j.preemption.nodeAdded(n)
	j.snapshots.nodeAdded(n)
	j.events.nodeAdded(n)
}

func (j *journal) nodeRemoved(n *Node) {
	j.order.nodeRemoved(n)
	j.retries.nodeRemoved(n)
	j.enforcement.nodeRemoved(n)
	j.preemption.nodeRemoved(n)
	j.snapshots.nodeRemoved(n)
	j.events.nodeRemoved(n)
}

func (j *journal) nodeUsageChanged(n *Node) {
	j.order.nodeUsageChanged(n)
	j.retries.nodeUsageChanged(n)
	j.enforcement.nodeUsageChanged(n)
	j.preemption.nodeUsageChanged(n)
	j.snapshots.nodeUsageChanged(n)
	j.events.nodeUsageChanged(n)
}

func (j *journal) nodeFreed(n *Node) {
	j.order.nodeFreed(n)
	j.retries.nodeFreed(n)
	j.enforcement.nodeFreed(n)
	j.preemption.nodeFreed(n)
	j.snapshots.nodeFreed(n)
	j.events.nodeFreed(n)
}

func (j *journal) nodeRestored(n *Node) {
	j.order.nodeRestored(n)
	j.retries.nodeRestored(n)
	j.enforcement.nodeRestored(n)
	j.preemption.nodeRestored(n)
	j.snapshots.nodeRestored(n)
	j.events.nodeRestored(n)
}

func (j *journal) schedulabilityChanged(n *Node) {
	j.order.schedulabilityChanged(n)
	j.retries.schedulabilityChanged(n)
	j.enforcement.schedulabilityChanged(n)
	j.preemption.schedulabilityChanged(n)
	j.snapshots.schedulabilityChanged(n)
	j.events.schedulabilityChanged(n)
}

func (j *journal) nodeBudgetsChanged(n *Node) {
	j.order.nodeBudgetsChanged(n)
	j.retries.nodeBudgetsChanged(n)
	j.enforcement.nodeBudgetsChanged(n)
	j.preemption.nodeBudgetsChanged(n)
	j.snapshots.nodeBudgetsChanged(n)
	j.events.nodeBudgetsChanged(n)
}

func (j *journal) capacityChanged(root *Queue) {
	j.order.capacityChanged(root)
	j.retries.capacityChanged(root)
	j.enforcement.capacityChanged(root)
	j.preemption.capacityChanged(root)
	j.snapshots.capacityChanged(root)
	j.events.capacityChanged(root)
}

func (j *journal) queueUsageChanged(q *Queue) {
	j.order.queueUsageChanged(q)
	j.retries.queueUsageChanged(q)
	j.enforcement.queueUsageChanged(q)
	j.preemption.queueUsageChanged(q)
	j.snapshots.queueUsageChanged(q)
	j.events.queueUsageChanged(q)
}

func (j *journal) queuePreemptingChanged(q *Queue) {
	j.order.queuePreemptingChanged(q)
	j.retries.queuePreemptingChanged(q)
	j.enforcement.queuePreemptingChanged(q)
	j.preemption.queuePreemptingChanged(q)
	j.snapshots.queuePreemptingChanged(q)
	j.events.queuePreemptingChanged(q)
}

func (j *journal) queueRunningChanged(q *Queue) {
	j.order.queueRunningChanged(q)
	j.retries.queueRunningChanged(q)
	j.enforcement.queueRunningChanged(q)
	j.preemption.queueRunningChanged(q)
	j.snapshots.queueRunningChanged(q)
	j.events.queueRunningChanged(q)
}

func (j *journal) queueSettingsChanged(q *Queue) {
	j.order.queueSettingsChanged(q)
	j.retries.queueSettingsChanged(q)
	j.enforcement.queueSettingsChanged(q)
	j.preemption.queueSettingsChanged(q)
	j.snapshots.queueSettingsChanged(q)
	j.events.queueSettingsChanged(q)
}

func (j *journal) queueChanged(q *Queue) {
	j.order.queueChanged(q)
	j.retries.queueChanged(q)
	j.enforcement.queueChanged(q)
	j.preemption.queueChanged(q)
	j.snapshots.queueChanged(q)
	j.events.queueChanged(q)
}

func (j *journal) queueStateChanged(q *Queue, to QueueChange) {
	j.order.queueStateChanged(q, to)
	j.retries.queueStateChanged(q, to)
	j.enforcement.queueStateChanged(q, to)
	j.preemption.queueStateChanged(q, to)
	j.snapshots.queueStateChanged(q, to)
	j.events.queueStateChanged(q, to)
}

func (j *journal) quotasChanged(q *Queue) {
	j.order.quotasChanged(q)
	j.retries.quotasChanged(q)
	j.enforcement.quotasChanged(q)
	j.preemption.quotasChanged(q)
	j.snapshots.quotasChanged(q)
	j.events.quotasChanged(q)
}

func (j *journal) queueTreeChanged() {
	j.order.queueTreeChanged()
	j.retries.queueTreeChanged()
	j.enforcement.queueTreeChanged()
	j.preemption.queueTreeChanged()
	j.snapshots.queueTreeChanged()
	j.events.queueTreeChanged()
}

func (j *journal) accountMembersChanged(x *quota.Account) {
	j.order.accountMembersChanged(x)
	j.retries.accountMembersChanged(x)
	j.enforcement.accountMembersChanged(x)
	j.preemption.accountMembersChanged(x)
	j.snapshots.accountMembersChanged(x)
	j.events.accountMembersChanged(x)
}

func (j *journal) accountUsageChanged(x *quota.Account) {
	j.order.accountUsageChanged(x)
	j.retries.accountUsageChanged(x)
	j.enforcement.accountUsageChanged(x)
	j.preemption.accountUsageChanged(x)
	j.snapshots.accountUsageChanged(x)
	j.events.accountUsageChanged(x)
}

func (j *journal) accountRunningChanged(x *quota.Account) {
	j.order.accountRunningChanged(x)
	j.retries.accountRunningChanged(x)
	j.enforcement.accountRunningChanged(x)
	j.preemption.accountRunningChanged(x)
	j.snapshots.accountRunningChanged(x)
	j.events.accountRunningChanged(x)
}

func (j *journal) applicationAdded(a *Application) {
	j.order.applicationAdded(a)
	j.retries.applicationAdded(a)
	j.enforcement.applicationAdded(a)
	j.preemption.applicationAdded(a)
	j.snapshots.applicationAdded(a)
	j.events.applicationAdded(a)
}

func (j *journal) applicationRemoved(a *Application) {
	j.order.applicationRemoved(a)
	j.retries.applicationRemoved(a)
	j.enforcement.applicationRemoved(a)
	j.preemption.applicationRemoved(a)
	j.snapshots.applicationRemoved(a)
	j.events.applicationRemoved(a)
}

func (j *journal) applicationStateChanged(a *Application, to lifecycle.Change) {
	j.order.applicationStateChanged(a, to)
	j.retries.applicationStateChanged(a, to)
	j.enforcement.applicationStateChanged(a, to)
	j.preemption.applicationStateChanged(a, to)
	j.snapshots.applicationStateChanged(a, to)
	j.events.applicationStateChanged(a, to)
}

func (j *journal) applicationExpired(e *lifecycle.Ended, to lifecycle.Change) {
	j.order.applicationExpired(e, to)
	j.retries.applicationExpired(e, to)
	j.enforcement.applicationExpired(e, to)
	j.preemption.applicationExpired(e, to)
	j.snapshots.applicationExpired(e, to)
	j.events.applicationExpired(e, to)
}

func (j *journal) runningChanged(a *Application) {
	j.order.runningChanged(a)
	j.retries.runningChanged(a)
	j.enforcement.runningChanged(a)
	j.preemption.runningChanged(a)
	j.snapshots.runningChanged(a)
	j.events.runningChanged(a)
}

func (j *journal) firstStartingChanged(a *Application) {
	j.order.firstStartingChanged(a)
	j.retries.firstStartingChanged(a)
	j.enforcement.firstStartingChanged(a)
	j.preemption.firstStartingChanged(a)
	j.snapshots.firstStartingChanged(a)
	j.events.firstStartingChanged(a)
}

func (j *journal) mayPreemptChanged(a *Application) {
	j.order.mayPreemptChanged(a)
	j.retries.mayPreemptChanged(a)
	j.enforcement.mayPreemptChanged(a)
	j.preemption.mayPreemptChanged(a)
	j.snapshots.mayPreemptChanged(a)
	j.events.mayPreemptChanged(a)
}

func (j *journal) configurationChanged() {
	j.order.configurationChanged()
	j.retries.configurationChanged()
	j.enforcement.configurationChanged()
	j.preemption.configurationChanged()
	j.snapshots.configurationChanged()
	j.events.configurationChanged()
}

func (j *journal) settingsApplied() {
	j.order.settingsApplied()
	j.retries.settingsApplied()
	j.enforcement.settingsApplied()
	j.preemption.settingsApplied()
	j.snapshots.settingsApplied()
	j.events.settingsApplied()
}

func (j *journal) rebuilding() {
	j.order.rebuilding()
	j.retries.rebuilding()
	j.enforcement.rebuilding()
	j.preemption.rebuilding()
	j.snapshots.rebuilding()
	j.events.rebuilding()
}

func (j *journal) resourceAdded() {
	j.order.resourceAdded()
	j.retries.resourceAdded()
	j.enforcement.resourceAdded()
	j.preemption.resourceAdded()
	j.snapshots.resourceAdded()
	j.events.resourceAdded()
}

func (j *journal) refusalsMayEnd() {
	j.order.refusalsMayEnd()
	j.retries.refusalsMayEnd()
	j.enforcement.refusalsMayEnd()
	j.preemption.refusalsMayEnd()
	j.snapshots.refusalsMayEnd()
	j.events.refusalsMayEnd()
}
