package objects

import (
	"github.com/canopy-scheduler/canopy/pkg/lifecycle"
	"github.com/canopy-scheduler/canopy/pkg/quota"
)

// The journal states every change of the ledger, by kind, to everything that is derived from the state:
// masks and orders, unschedulable asks, freed nodes, quota enforcement, preemption, snapshots, events.
// The code that changes something calls the method of the journal for the kind, once and after the change;
// it knows no consumer. A consumer decides about each kind: a kind that is added below does not compile
// until every consumer has a method for it (ADR 51).

// changeConsumer is derived from the state of a partition. Only the journal calls its methods.
type changeConsumer interface {
	askChanges
	allocationChanges
	gangChangeKinds
	nodeChanges
	queueChanges
	accountChanges
	applicationChanges
	configurationChanges
}

// askChanges are the kinds of changes of pending asks, their nominations and their reservations.
type askChanges interface {
	askAdded(x *Allocation, in groupPosition)         // x is pending in its group
	askRemoved(x *Allocation, from *AskGroup)         // x is no longer pending
	nominationAdded(x *Allocation, n *Node)           // resources of n are held for x
	nominationRemoved(x *Allocation, n *Node)         // they no longer are; also at the end of a dry run
	nominationEnded(x *Allocation, e EndedNomination) // x is pending without a nomination

	reservationAdded(x *Allocation, n *Node)            // n is reserved for x
	reservationEnded(x *Allocation, e EndedReservation) // it no longer is; x is pending, or is being bound or removed

	waitingStateChanged(x *Allocation) // another waiting state of x is reported to the RM
}

// groupPosition is how an ask was added to its group.
type groupPosition uint8

const (
	firstOfNewGroup groupPosition = iota
	lastOfGroup                   // behind an ask without a nomination
	insideGroup                   // any other position: it may be the first without a nomination
)

// allocationChanges are the kinds of changes of allocations.
type allocationChanges interface {
	allocationPosted(x *Allocation)   // x counts in its node, application, accounts and queues
	allocationUnposted(x *Allocation) // x counts there no longer
	allocationResized(x *Allocation)  // the ask or allocation x has other amounts
	allocationTagged(x *Allocation)   // the tags of x changed
	preemptionMarked(x *Allocation)   // x is marked for preemption, or its mark is overdue
	preemptionUnmarked(x *Allocation) // x is no longer marked so
}

// gangChangeKinds are the kinds of changes of gangs.
type gangChangeKinds interface {
	placeholderEnding(y *Allocation)                   // the release of placeholder y is ordered, other than by preemption
	replacementAdded(x, y *Allocation)                 // x will be placed when the release of placeholder y is confirmed
	replacementEnded(x, y *Allocation)                 // it will not, or is being placed
	replaced(x *Allocation)                            // x was placed because a placeholder has ended
	gangCountsChanged(a *Application)                  // the counts of a task group of a changed
	gangRefused(a *Application, members []MemberGroup) // the members of a cannot be placed together now
	askGroupHeld(group *AskGroup)                      // the asks of group wait for placeholders, or no longer
}

// nodeChanges are the kinds of changes of nodes.
type nodeChanges interface {
	nodeAdded(n *Node)
	nodeRemoved(n *Node)
	// a quantity of n changed: the capacity, what is used, or what is held; or it was cordoned
	nodeUsageChanged(n *Node)
	nodeFreed(n *Node)             // n may have more free resources than before
	nodeRestored(n *Node)          // as nodeFreed, at the end of a dry run: the state is as before it
	schedulabilityChanged(n *Node) // n became unschedulable, or schedulable
	nodeAttributesChanged(n *Node) // n has other labels or taints, so other constraints admit it
	nodeBudgetsChanged(n *Node)    // other budgets select an allocation of n
	foreignAdded(n *Node, f *Foreign)
	foreignRemoved(n *Node, f *Foreign)
	capacityChanged(root *Queue) // the sum of all nodes changed
}

// queueChanges are the kinds of changes of queues.
type queueChanges interface {
	queueUsageChanged(q *Queue)                 // what is allocated in q changed
	queuePreemptingChanged(q *Queue)            // what is preempting in q changed
	queueRunningChanged(q *Queue)               // the number of its running applications changed
	queueSettingsChanged(q *Queue)              // q is new, or its settings changed
	queueChanged(q *Queue)                      // q was removed, or something else that REST shows of it changed
	queueStateChanged(q *Queue, to QueueChange) // q was created, removed, drained or restored
	quotasChanged(q *Queue)                     // tags of an application changed the quotas of the dynamic leaf q
	queueTreeChanged()                          // queues were added to the tree
}

// accountChanges are the kinds of changes of what users and groups use.
type accountChanges interface {
	accountMembersChanged(x *quota.Account)
	accountUsageChanged(x *quota.Account)   // what is allocated changed
	accountRunningChanged(x *quota.Account) // the number of running applications changed
}

// applicationChanges are the kinds of changes of applications.
type applicationChanges interface {
	applicationAdded(a *Application)
	applicationRemoved(a *Application)
	applicationStateChanged(a *Application, to lifecycle.Change)
	applicationExpired(e *lifecycle.Ended, to lifecycle.Change) // an entry of the history was removed
	// a counts, or no longer counts, among the running applications
	runningChanged(a *Application)
	// another application may start in the StateAware leaf of a
	firstStartingChanged(a *Application)
	mayBeAllocatedChanged(a *Application)         // an operator holds a or its leaf, or no longer
	applicationMoved(a *Application, from *Queue) // a, with all that it has, is in another leaf
	// it may have changed whether the settings let the asks of a preempt
	mayPreemptChanged(a *Application)
}

// configurationChanges are the kinds of changes that are not about one object.
type configurationChanges interface {
	configurationChanged() // a configuration is in force
	settingsApplied()      // the settings of all queues that differ, and what depends on them, are applied
	rebuilding()           // all masks, orders and accounts are built anew after this
	resourceAdded()        // a resource got an index
	refusalsMayEnd()       // the resource manager may accept what it refused
}

// journal passes each change to every consumer. The order of the consumers has no meaning but for the first:
// masks and orders are right when another consumer reads them.
type journal struct {
	order       ordering
	routine     routineChanges
	retries     retries
	enforcement enforcement
	preemption  preemptionChanges
	snapshots   snapshotChanges
	events      stateEvents
	gangs       gangChanges
	waiting     waitingChanges
	answers     answerChanges
	reserving   reservationChanges
	affinity    affinityChanges
	topology    topologyChanges
}

var (
	_ changeConsumer = (*ordering)(nil)
	_ changeConsumer = (*routineChanges)(nil)
	_ changeConsumer = (*retries)(nil)
	_ changeConsumer = (*enforcement)(nil)
	_ changeConsumer = (*preemptionChanges)(nil)
	_ changeConsumer = (*snapshotChanges)(nil)
	_ changeConsumer = (*stateEvents)(nil)
	_ changeConsumer = (*gangChanges)(nil)
	_ changeConsumer = (*waitingChanges)(nil)
	_ changeConsumer = (*answerChanges)(nil)
	_ changeConsumer = (*reservationChanges)(nil)
	_ changeConsumer = (*affinityChanges)(nil)
	_ changeConsumer = (*topologyChanges)(nil)
)
