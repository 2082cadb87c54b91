package objects

import (
	"time"

	"github.com/canopy-scheduler/canopy/pkg/lifecycle"
	"github.com/canopy-scheduler/canopy/pkg/quota"
)

// The journal passes every change of the ledger to everything that is derived from the state: masks and orders,
// unschedulable asks, snapshots and events here, and what the features above this package keep (ADR 51, 86). The code
// that changes something posts the change, once and after it is made; it knows no consumer.

// Change states what changed: a kind, and the objects that the comment of the kind names. The other fields are zero.
type Change struct {
	Kind     ChangeKind
	Position GroupPosition
	To       QueueChange
	End      ReservationEnd
	Ask      *Allocation // or an allocation
	Group    *AskGroup
	Node     *Node
	Foreign  *Foreign
	Queue    *Queue
	App      *Application
	Ended    *lifecycle.Ended
	Account  *quota.Account
	Since    time.Time
	Entered  lifecycle.Change
}

// GroupPosition says how an ask was added to its group.
type GroupPosition uint8

// The positions.
const (
	FirstOfNewGroup GroupPosition = iota
	LastOfGroup                   // behind an ask without a nomination
	InsideGroup                   // any other position: it may be the first without a nomination
)

// ChangeKind is a kind of change. TestJournal_EveryConsumerDecidesAboutEveryKind of package scheduler holds which
// consumer wants which. The comment of a kind names the fields of the Change that it sets.
type ChangeKind uint8

// The kinds of changes of pending asks, their nominations and their reservations.
const (
	AskAdded          ChangeKind = iota // ask is pending in its group, at position
	AskRemoved                          // ask is no longer pending; it was in group
	NominationAdded                     // resources of node are held for ask
	NominationRemoved                   // they no longer are; also at the end of a dry run
	NominationEnded                     // ask is pending without its nomination for node since then
	ReservationAdded                    // node is reserved for ask
	// node, reserved since then, no longer is; ask is pending, or is being bound or removed
	ReservationEnded
	WaitingStateChanged // another waiting state of ask is reported to the RM

	// Changes of allocations.
	AllocationPosted   // ask counts in its node, application, accounts and queues
	AllocationUnposted // ask counts there no longer
	AllocationResized  // the ask or allocation has other amounts
	AllocationTagged   // the tags of ask changed
	PreemptionMarked   // ask is marked for preemption, or its mark is overdue
	PreemptionUnmarked // ask is no longer marked so
	EndOrdered         // the release of ask is ordered, other than by preemption

	// Changes of gangs.
	ReplacementAdded  // ask will be placed when the release of its placeholder is confirmed
	ReplacementEnded  // it will not, or is being placed
	Replaced          // ask was placed because a placeholder has ended
	GangCountsChanged // the counts of a task group of app
	GangRefused       // the members of app cannot be placed together now
	AskGroupHeld      // the asks of group wait for placeholders, or no longer

	// Changes of nodes.
	NodeAdded
	NodeRemoved
	NodeUsageChanged      // a quantity changed: the capacity, what is used, or what is held; or node was cordoned
	NodeFreed             // node may have more free resources than before
	NodeRestored          // as NodeFreed, at the end of a dry run: the state is as before it
	SchedulabilityChanged // node became unschedulable, or schedulable
	NodeAttributesChanged // node has other labels or taints, so other constraints admit it
	NodeBudgetsChanged    // other budgets select an allocation of node
	ForeignAdded          // foreign is on node
	ForeignRemoved        // foreign no longer is on node
	CapacityChanged       // the sum of all nodes changed; queue is root

	// Changes of queues.
	QueueUsageChanged      // what is allocated in queue and in each queue above
	QueuePreemptingChanged // what is preempting in queue and in each queue above
	QueueRunningChanged    // the number of running applications of queue
	QueueSettingsChanged   // queue is new, or its settings changed
	RunTimesChanged        // how long its allocations may run
	QueueChanged           // queue was removed, or something else that REST shows of it changed
	QueueStateChanged      // queue was created, removed, drained or restored: to
	QuotasChanged          // tags of an application or other nodes changed the quotas of queue
	QueueTreeChanged       // queues were added to the tree

	// Changes of what users and groups use.
	AccountMembersChanged
	AccountUsageChanged   // what is allocated in account
	AccountRunningChanged // the number of running applications of account

	// Changes of applications.
	ApplicationAdded
	ApplicationRemoved
	ApplicationStateChanged // app has entered a state
	ApplicationExpired      // the entry ended of the history was removed: it has entered a state
	RunningChanged          // app counts, or no longer counts, among the running applications
	FirstStartingChanged    // another application may start in the StateAware leaf of app
	MayBeAllocatedChanged   // an operator holds app or its leaf, or no longer
	ApplicationMoved        // app, with all that it has, was in queue and is in another leaf
	TurnChanged             // app has another place in selection order by ageing or by usage over time
	MayPreemptChanged       // it may have changed whether the settings let the asks of app preempt

	// Changes that are not about one object.
	ConfigurationChanged // a configuration is in force
	SettingsApplied      // the settings of all queues that differ, and what depends on them, are applied
	Rebuilding           // all masks, orders and accounts are built anew after this
	ResourceAdded        // a resource got an index
	RefusalsMayEnd       // the resource manager may accept what it refused
	NodesOpened          // other allocations may leave nodes to asks to which they did not

	ChangeKinds = iota // how many there are
)

// ChangeSet is a set of kinds, one bit each.
type ChangeSet uint64

// EveryChange is the set of all kinds.
const EveryChange ChangeSet = 1<<ChangeKinds - 1

// Has reports whether k is in s.
func (s ChangeSet) Has(k ChangeKind) bool { return s>>k&1 != 0 }

// Consumer is derived from the state of a partition. It gets each change of a kind that it wants, at once. It
// changes nothing in the partition, does not keep the pointer, and allocates nothing but space in its own lists.
type Consumer interface {
	Wants() ChangeSet
	On(c *Change)
}

// Checker is a Consumer that verifies what it keeps, in Partition.Check and, unless all, in each Audit: then it must
// cost little.
type Checker interface {
	Check(all bool) error
}

// journal holds the consumers.
type journal struct {
	order     ordering
	routine   routineChanges
	retries   retries
	snapshots snapshotChanges
	events    stateEvents

	attached []Consumer // in the order in which they get a change
	wanting  [ChangeKinds][]Consumer
	posted   Change // the last change, in a place that is reused
	posting  bool
}

// consumers returns the consumers of this package. Masks and orders come first: they are right when another consumer
// reads them.
func (j *journal) consumers() []Consumer {
	return []Consumer{&j.order, &j.routine, &j.retries, &j.snapshots, &j.events}
}

// post passes c to every consumer that wants its kind.
func (j *journal) post(c Change) {
	if j.posting {
		panic("objects: a consumer of changes posts a change")
	}
	j.posted, j.posting = c, true
	for _, x := range j.wanting[c.Kind] {
		x.On(&j.posted)
	}
	j.posting = false
}

func (j *journal) attach(x Consumer) {
	j.attached = append(j.attached, x)
	wants := x.Wants()
	for k := range j.wanting {
		if wants.Has(ChangeKind(k)) {
			j.wanting[k] = append(j.wanting[k], x)
		}
	}
}

// Attach has x get the changes of p from now on, after those attached before.
func Attach(p *Partition, x Consumer) { p.journal.attach(x) }

// NoteQueueChanged posts that something that is shown of the queue with quota side x has changed, and returns the
// queue; nil: it was removed.
func NoteQueueChanged(p *Partition, x *quota.Queue) *Queue {
	q := p.queueOf(x)
	if q != nil {
		p.journal.post(Change{Kind: QueueChanged, Queue: q})
	}
	return q
}

// Consumers returns all that get the changes of p. Read-only.
func Consumers(p *Partition) []Consumer { return p.journal.attached }

// take empties a list and returns what was on it, which is valid until something is added.
func take[T any](list *[]T) []T {
	all := *list
	*list = all[:0]
	return all
}
