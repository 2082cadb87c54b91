package objects

import "github.com/canopy-scheduler/canopy/pkg/lifecycle"

// The methods of journal for changes of applications.

func (j *journal) applicationAdded(a *Application) {
	j.order.applicationAdded(a)
	j.routine.applicationAdded(a)
	j.retries.applicationAdded(a)
	j.enforcement.applicationAdded(a)
	j.preemption.applicationAdded(a)
	j.snapshots.applicationAdded(a)
	j.events.applicationAdded(a)
	j.gangs.applicationAdded(a)
	j.waiting.applicationAdded(a)
	j.answers.applicationAdded(a)
	j.reserving.applicationAdded(a)
	j.affinity.applicationAdded(a)
	j.topology.applicationAdded(a)
}

func (j *journal) applicationRemoved(a *Application) {
	j.order.applicationRemoved(a)
	j.routine.applicationRemoved(a)
	j.retries.applicationRemoved(a)
	j.enforcement.applicationRemoved(a)
	j.preemption.applicationRemoved(a)
	j.snapshots.applicationRemoved(a)
	j.events.applicationRemoved(a)
	j.gangs.applicationRemoved(a)
	j.waiting.applicationRemoved(a)
	j.answers.applicationRemoved(a)
	j.reserving.applicationRemoved(a)
	j.affinity.applicationRemoved(a)
	j.topology.applicationRemoved(a)
}

func (j *journal) applicationStateChanged(a *Application, to lifecycle.Change) {
	j.order.applicationStateChanged(a, to)
	j.routine.applicationStateChanged(a, to)
	j.retries.applicationStateChanged(a, to)
	j.enforcement.applicationStateChanged(a, to)
	j.preemption.applicationStateChanged(a, to)
	j.snapshots.applicationStateChanged(a, to)
	j.events.applicationStateChanged(a, to)
	j.gangs.applicationStateChanged(a, to)
	j.waiting.applicationStateChanged(a, to)
	j.answers.applicationStateChanged(a, to)
	j.reserving.applicationStateChanged(a, to)
	j.affinity.applicationStateChanged(a, to)
	j.topology.applicationStateChanged(a, to)
}

func (j *journal) applicationExpired(e *lifecycle.Ended, to lifecycle.Change) {
	j.order.applicationExpired(e, to)
	j.routine.applicationExpired(e, to)
	j.retries.applicationExpired(e, to)
	j.enforcement.applicationExpired(e, to)
	j.preemption.applicationExpired(e, to)
	j.snapshots.applicationExpired(e, to)
	j.events.applicationExpired(e, to)
	j.gangs.applicationExpired(e, to)
	j.waiting.applicationExpired(e, to)
	j.answers.applicationExpired(e, to)
	j.reserving.applicationExpired(e, to)
	j.affinity.applicationExpired(e, to)
	j.topology.applicationExpired(e, to)
}

func (j *journal) runningChanged(a *Application) {
	j.order.runningChanged(a)
	j.routine.runningChanged(a)
	j.retries.runningChanged(a)
	j.enforcement.runningChanged(a)
	j.preemption.runningChanged(a)
	j.snapshots.runningChanged(a)
	j.events.runningChanged(a)
	j.gangs.runningChanged(a)
	j.waiting.runningChanged(a)
	j.answers.runningChanged(a)
	j.reserving.runningChanged(a)
	j.affinity.runningChanged(a)
	j.topology.runningChanged(a)
}

func (j *journal) firstStartingChanged(a *Application) {
	j.order.firstStartingChanged(a)
	j.routine.firstStartingChanged(a)
	j.retries.firstStartingChanged(a)
	j.enforcement.firstStartingChanged(a)
	j.preemption.firstStartingChanged(a)
	j.snapshots.firstStartingChanged(a)
	j.events.firstStartingChanged(a)
	j.gangs.firstStartingChanged(a)
	j.waiting.firstStartingChanged(a)
	j.answers.firstStartingChanged(a)
	j.reserving.firstStartingChanged(a)
	j.affinity.firstStartingChanged(a)
	j.topology.firstStartingChanged(a)
}

func (j *journal) mayBeAllocatedChanged(a *Application) {
	j.order.mayBeAllocatedChanged(a)
	j.routine.mayBeAllocatedChanged(a)
	j.retries.mayBeAllocatedChanged(a)
	j.enforcement.mayBeAllocatedChanged(a)
	j.preemption.mayBeAllocatedChanged(a)
	j.snapshots.mayBeAllocatedChanged(a)
	j.events.mayBeAllocatedChanged(a)
	j.gangs.mayBeAllocatedChanged(a)
	j.waiting.mayBeAllocatedChanged(a)
	j.answers.mayBeAllocatedChanged(a)
	j.reserving.mayBeAllocatedChanged(a)
	j.affinity.mayBeAllocatedChanged(a)
	j.topology.mayBeAllocatedChanged(a)
}

func (j *journal) applicationMoved(a *Application, from *Queue) {
	j.order.applicationMoved(a, from)
	j.routine.applicationMoved(a, from)
	j.retries.applicationMoved(a, from)
	j.enforcement.applicationMoved(a, from)
	j.preemption.applicationMoved(a, from)
	j.snapshots.applicationMoved(a, from)
	j.events.applicationMoved(a, from)
	j.gangs.applicationMoved(a, from)
	j.waiting.applicationMoved(a, from)
	j.answers.applicationMoved(a, from)
	j.reserving.applicationMoved(a, from)
	j.affinity.applicationMoved(a, from)
	j.topology.applicationMoved(a, from)
}

func (j *journal) mayPreemptChanged(a *Application) {
	j.order.mayPreemptChanged(a)
	j.routine.mayPreemptChanged(a)
	j.retries.mayPreemptChanged(a)
	j.enforcement.mayPreemptChanged(a)
	j.preemption.mayPreemptChanged(a)
	j.snapshots.mayPreemptChanged(a)
	j.events.mayPreemptChanged(a)
	j.gangs.mayPreemptChanged(a)
	j.waiting.mayPreemptChanged(a)
	j.answers.mayPreemptChanged(a)
	j.reserving.mayPreemptChanged(a)
	j.affinity.mayPreemptChanged(a)
	j.topology.mayPreemptChanged(a)
}
