package objects

import (
	"time"

	"github.com/canopy-scheduler/canopy/pkg/lifecycle"
	"github.com/canopy-scheduler/canopy/pkg/quota"
)

// The journal passes every change of the ledger to everything that is derived from the state: masks and orders,
// unschedulable asks, freed nodes, quota enforcement, preemption, snapshots, events. The code that changes something
// posts the change, once and after it is made; it knows no consumer (ADR 51).

// change states what changed: a kind, and the objects that the comment of the kind names. The other fields are zero.
type change struct {
	kind     changeKind
	position groupPosition
	to       QueueChange
	end      ReservationEnd
	ask      *Allocation // or an allocation
	group    *AskGroup
	node     *Node
	foreign  *Foreign
	queue    *Queue
	app      *Application
	ended    *lifecycle.Ended
	account  *quota.Account
	since    time.Time
	entered  lifecycle.Change
}

// groupPosition is how an ask was added to its group.
type groupPosition uint8

const (
	firstOfNewGroup groupPosition = iota
	lastOfGroup                   // behind an ask without a nomination
	insideGroup                   // any other position: it may be the first without a nomination
)

// changeKind is a kind of change. TestJournal_EveryConsumerDecidesAboutEveryKind holds which consumer wants which.
type changeKind uint8

// The kinds of changes of pending asks, their nominations and their reservations.
const (
	askAdded          changeKind = iota // ask is pending in its group, at position
	askRemoved                          // ask is no longer pending; it was in group
	nominationAdded                     // resources of node are held for ask
	nominationRemoved                   // they no longer are; also at the end of a dry run
	nominationEnded                     // ask is pending without its nomination for node since then
	reservationAdded                    // node is reserved for ask
	// node, reserved since then, no longer is; ask is pending, or is being bound or removed
	reservationEnded
	waitingStateChanged // another waiting state of ask is reported to the RM

	// Changes of allocations.
	allocationPosted   // ask counts in its node, application, accounts and queues
	allocationUnposted // ask counts there no longer
	allocationResized  // the ask or allocation has other amounts
	allocationTagged   // the tags of ask changed
	preemptionMarked   // ask is marked for preemption, or its mark is overdue
	preemptionUnmarked // ask is no longer marked so

	// Changes of gangs.
	placeholderEnding // the release of the placeholder ask is ordered, other than by preemption
	replacementAdded  // ask will be placed when the release of its placeholder is confirmed
	replacementEnded  // it will not, or is being placed
	replaced          // ask was placed because a placeholder has ended
	gangCountsChanged // the counts of a task group of app
	gangRefused       // the members of app cannot be placed together now
	askGroupHeld      // the asks of group wait for placeholders, or no longer

	// Changes of nodes.
	nodeAdded
	nodeRemoved
	nodeUsageChanged      // a quantity changed: the capacity, what is used, or what is held; or node was cordoned
	nodeFreed             // node may have more free resources than before
	nodeRestored          // as nodeFreed, at the end of a dry run: the state is as before it
	schedulabilityChanged // node became unschedulable, or schedulable
	nodeAttributesChanged // node has other labels or taints, so other constraints admit it
	nodeBudgetsChanged    // other budgets select an allocation of node
	foreignAdded          // foreign is on node
	foreignRemoved        // foreign no longer is on node
	capacityChanged       // the sum of all nodes changed; queue is root

	// Changes of queues.
	queueUsageChanged      // what is allocated in queue and in each queue above
	queuePreemptingChanged // what is preempting in queue and in each queue above
	queueRunningChanged    // the number of running applications of queue
	queueSettingsChanged   // queue is new, or its settings changed
	queueChanged           // queue was removed, or something else that REST shows of it changed
	queueStateChanged      // queue was created, removed, drained or restored: to
	quotasChanged          // tags of an application changed the quotas of the dynamic leaf queue
	queueTreeChanged       // queues were added to the tree

	// Changes of what users and groups use.
	accountMembersChanged
	accountUsageChanged   // what is allocated in account
	accountRunningChanged // the number of running applications of account

	// Changes of applications.
	applicationAdded
	applicationRemoved
	applicationStateChanged // app has entered a state
	applicationExpired      // the entry ended of the history was removed: it has entered a state
	runningChanged          // app counts, or no longer counts, among the running applications
	firstStartingChanged    // another application may start in the StateAware leaf of app
	mayBeAllocatedChanged   // an operator holds app or its leaf, or no longer
	applicationMoved        // app, with all that it has, was in queue and is in another leaf
	mayPreemptChanged       // it may have changed whether the settings let the asks of app preempt

	// Changes that are not about one object.
	configurationChanged // a configuration is in force
	settingsApplied      // the settings of all queues that differ, and what depends on them, are applied
	rebuilding           // all masks, orders and accounts are built anew after this
	resourceAdded        // a resource got an index
	refusalsMayEnd       // the resource manager may accept what it refused

	changeKinds = iota // how many there are
)

// changeSet is a set of kinds, one bit each.
type changeSet uint64

const everyChange changeSet = 1<<changeKinds - 1

func (s changeSet) has(k changeKind) bool { return s>>k&1 != 0 }

// consumer is derived from the state of a partition. It gets each change of a kind that it wants, at once. It posts
// none itself, does not keep the pointer, and allocates nothing but space in its own lists.
type consumer interface {
	wants() changeSet
	on(c *change)
}

// journal holds the consumers.
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

	wanting [][]consumer // by kind; nil: no change was posted yet
	posted  change       // the last change, in a place that is reused
	posting bool
}

// consumers returns all consumers. Their order has no meaning but for the first: masks and orders are right when
// another consumer reads them.
func (j *journal) consumers() []consumer {
	return []consumer{
		&j.order, &j.routine, &j.retries, &j.enforcement, &j.preemption, &j.snapshots, &j.events, &j.gangs, &j.waiting,
		&j.answers, &j.reserving, &j.affinity, &j.topology,
	}
}

// post passes c to every consumer that wants its kind.
func (j *journal) post(c change) {
	if j.posting {
		panic("objects: a consumer of changes posts a change")
	}
	if j.wanting == nil {
		j.attach()
	}
	j.posted, j.posting = c, true
	for _, x := range j.wanting[c.kind] {
		x.on(&j.posted)
	}
	j.posting = false
}

// attach lists the consumers by the kinds that they want.
func (j *journal) attach() {
	j.wanting = make([][]consumer, changeKinds)
	for _, x := range j.consumers() {
		for k := range j.wanting {
			if x.wants().has(changeKind(k)) {
				j.wanting[k] = append(j.wanting[k], x)
			}
		}
	}
}

// take empties a list and returns what was on it, which is valid until something is added.
func take[T any](list *[]T) []T {
	all := *list
	*list = all[:0]
	return all
}
