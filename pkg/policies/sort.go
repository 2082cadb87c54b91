package policies

import (
	"cmp"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// AppSort is how the applications of a leaf take turns (application.sort.policy).
// Children of a parent queue are always ordered by CompareQueues.
type AppSort uint8

// The sort policies.
const (
	FIFO       AppSort = iota // oldest submission first
	Fair                      // least served first
	StateAware                // FIFO, but applications that are new start one at a time
)

// ParseAppSort reads application.sort.policy; names are case-sensitive (behaviour.md
// 2.1). ok is false for a name that does not exist, which then means FIFO.
func ParseAppSort(s string) (policy AppSort, ok bool) {
	switch s {
	case "fifo":
		return FIFO, true
	case "fair":
		return Fair, true
	case "stateaware":
		return StateAware, true
	}
	return FIFO, false
}

func (s AppSort) String() string { return [...]string{"fifo", "fair", "stateaware"}[s] }

// PrioritySort says whether priority comes before the rest of an order
// (application.sort.priority). It is inherited only as PriorityIgnored.
type PrioritySort uint8

// The ways priority takes part in an order.
const (
	PriorityFirst   PrioritySort = iota // priority, then share or submission
	PriorityIgnored                     // share or submission, priority only breaks the tie
)

func (p PrioritySort) String() string { return [...]string{"enabled", "disabled"}[p] }

// QueueKey is all a policy may know about a queue.
type QueueKey struct {
	Path     string
	Priority CurrentPriority    // what the queue shows its parent
	Share    resources.Share    // how well it is served (behaviour.md 3.10)
	Pending  resources.Quantity // the sum of what it asks for, over all resources (performance.md Q2)
}

// CompareQueues orders two siblings: by priority, then the less served, then the
// one that asks for more, then by path; with PriorityIgnored the first two change
// places (behaviour.md 3.10).
func CompareQueues(a, b *QueueKey, by PrioritySort) int {
	priority, share := b.Priority.Compare(a.Priority), a.Share.Compare(b.Share)
	if by == PriorityIgnored {
		priority, share = share, priority
	}
	if priority != 0 {
		return priority
	}
	if share != 0 {
		return share
	}
	return cmp.Or(cmp.Compare(b.Pending, a.Pending), cmp.Compare(a.Path, b.Path))
}

// AppKey is all a policy may know about an application.
type AppKey struct {
	ID        string
	Priority  CurrentPriority
	Submitted int64            // of its oldest ask, if that is older than itself; nanoseconds since 1970 (behaviour.md 3.11)
	Shares    resources.Shares // per resource, largest first; used by Fair only
	Started   bool             // it has had its first allocation; used by StateAware only
}

// CompareApps orders two applications of the same leaf: by priority and then by
// submission (FIFO, StateAware) or service (Fair), or with PriorityIgnored the other
// way round, and last by name (behaviour.md 3.11).
func (s AppSort) CompareApps(a, b *AppKey, by PrioritySort) int {
	priority := b.Priority.Compare(a.Priority)
	if by == PriorityFirst && priority != 0 {
		return priority
	}
	turn := 0
	if s == Fair {
		turn = a.Shares.Compare(b.Shares)
	} else {
		turn = cmp.Compare(a.Submitted, b.Submitted)
	}
	if turn != 0 {
		return turn
	}
	return cmp.Or(priority, cmp.Compare(a.ID, b.ID))
}

// CompareStateAware orders the applications of a StateAware leaf that have not ramped up;
// only the first of them is considered. With priority the most important is first.
// Then one that has its first allocation comes before one that has none, then the
// oldest, then by name (seed 004, "Extended application sorting").
func CompareStateAware(a, b *AppKey, by PrioritySort) int {
	if by == PriorityFirst {
		if c := b.Priority.Compare(a.Priority); c != 0 {
			return c
		}
	}
	if a.Started != b.Started {
		if a.Started {
			return -1
		}
		return 1
	}
	return cmp.Or(cmp.Compare(a.Submitted, b.Submitted), cmp.Compare(a.ID, b.ID))
}

// An application of a StateAware leaf has ramped up when RampAllocations were made
// for it, or RampTime after the first of them.
const (
	RampAllocations = 2
	RampTime        = 5 * time.Minute
)

// AskKey is all a policy may know about an ask.
type AskKey struct {
	Priority int32
	ClassID  uint32 // for whoever keeps the key, where padding would be; it has no say
	Created  int64  // creationTime tag, or arrival; nanoseconds since 1970
	Arrival  uint64 // counts up with every ask of the partition; unique
}

// CompareAsks orders the asks of one application: by priority, then the oldest, then
// the first to arrive (behaviour.md 3.12).
func CompareAsks(a, b *AskKey) int {
	if c := cmp.Compare(b.Priority, a.Priority); c != 0 {
		return c
	}
	if c := cmp.Compare(a.Created, b.Created); c != 0 {
		return c
	}
	return cmp.Compare(a.Arrival, b.Arrival)
}
