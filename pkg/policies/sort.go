package policies

import (
	"cmp"
	"strings"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/decay"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// AppSort is the order of the applications of a leaf (application.sort.policy). Children of a parent queue are
// always ordered by CompareQueues (ORD-16).
type AppSort uint8

// The sort policies.
const (
	FIFO       AppSort = iota // oldest submission first (ORD-25)
	Fair                      // smallest usage first (ORD-26)
	StateAware                // FIFO, but applications that have not ramped up are considered one at a time (ORD-32)
	OverTime                  // smallest usage over time first; set by fairness.halflife instead of FIFO or Fair (FAI-1)
)

// appSortNames are the values of application.sort.policy.
var appSortNames = [...]string{FIFO: "fifo", Fair: "fair", StateAware: "stateaware"}

func (s AppSort) String() string {
	if s == OverTime {
		return "usage over time"
	}
	return appSortNames[s]
}

// AppSorts returns the values of application.sort.policy, the default first.
func AppSorts() (all []AppSort) {
	for s := range appSortNames {
		all = append(all, AppSort(s))
	}
	return all
}

// PrioritySort says whether priority is compared first (application.sort.priority). It is inherited only as
// PriorityIgnored.
type PrioritySort uint8

// The values of application.sort.priority.
const (
	PriorityFirst   PrioritySort = iota // "enabled": priority, then share or submission time
	PriorityIgnored                     // "disabled": share or submission time, then priority (ORD-15, ORD-27)
)

func (p PrioritySort) String() string { return [...]string{"enabled", "disabled"}[p] }

// QueueKey is the sort key of a queue.
type QueueKey struct {
	Path     string
	Priority CurrentPriority    // after offset and fence
	Share    resources.Share    // its fair share (ORD-17)
	Pending  resources.Quantity // the sum of its pending quantities over all resources (ORD-22)
	Usage    decay.Number       // over time, by weight; compared instead of Share by a QueueSort that says so (FAI-4)
}

// QueueSort is the order of the children of a parent queue.
type QueueSort struct {
	Priority PrioritySort
	OverTime bool // by usage over time, and not by fair share (fairness.halflife, FAI-1)
}

// CompareQueues orders two siblings: by priority, then the smaller fair share, which is their dominant share; with
// PriorityIgnored the share goes before priority (ORD-14, ORD-15). A tie is broken by the larger sum of pending
// quantities, and then by path, so that two queues are never equal (ORD-22).
func CompareQueues(a, b *QueueKey, by QueueSort) int {
	if by.Priority == PriorityFirst {
		if c := b.Priority.Compare(a.Priority); c != 0 {
			return c
		}
	}
	if c := by.compareUse(a, b); c != 0 {
		return c
	}
	if by.Priority == PriorityIgnored {
		if c := b.Priority.Compare(a.Priority); c != 0 {
			return c
		}
	}
	if c := cmp.Compare(b.Pending, a.Pending); c != 0 {
		return c
	}
	return strings.Compare(a.Path, b.Path)
}

// compareUse compares what two queues use, now or over time.
func (by QueueSort) compareUse(a, b *QueueKey) int {
	if by.OverTime {
		return a.Usage.Compare(b.Usage)
	}
	return a.Share.Compare(b.Share)
}

// AppKey is the sort key of an application.
type AppKey struct {
	ID        string
	Priority  CurrentPriority
	Submitted int64            // its submission time, or that of an older ask; nanoseconds since 1970 (ORD-28)
	Shares    resources.Shares // usage per resource, largest first; compared by Fair only (ORD-29)
	Usage     decay.Number     // over time, of it or its user; compared by OverTime only (FAI-4)
	Started   bool             // it has had its first allocation; compared by CompareStateAware only
}

// CompareApps orders two applications of the same leaf: by priority and then by submission time (FIFO, StateAware),
// usage (Fair), or usage over time and then submission time (OverTime), with PriorityIgnored in the reverse order. A
// tie is broken by ID (ORD-25 to ORD-27, ORD-36, FAI-1).
func (s AppSort) CompareApps(a, b *AppKey, by PrioritySort) int {
	priority := b.Priority.Compare(a.Priority)
	if by == PriorityFirst && priority != 0 {
		return priority
	}
	order := s.compareUse(a, b)
	if s != Fair && order == 0 {
		order = cmp.Compare(a.Submitted, b.Submitted)
	}
	if order != 0 {
		return order
	}
	if priority != 0 {
		return priority
	}
	return cmp.Compare(a.ID, b.ID)
}

// compareUse compares what two applications use, now or over time; 0: it does not count.
func (s AppSort) compareUse(a, b *AppKey) int {
	switch s {
	case Fair:
		return a.Shares.Compare(b.Shares)
	case OverTime:
		return a.Usage.Compare(b.Usage)
	}
	return 0
}

// CompareStateAware orders the applications of a StateAware leaf that have not ramped up; only the first of them is
// considered (ORD-32, ORD-34). It orders by priority unless that is ignored; then an application with its first
// allocation comes before one without; then by submission time. A tie is broken by ID.
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

// An application of a StateAware leaf has ramped up after RampAllocations allocations, or RampTime after the
// first of them (ORD-33).
const (
	RampAllocations = 2
	RampTime        = 5 * time.Minute
)

// AskKey is the sort key of an ask.
type AskKey struct {
	Priority int32
	ClassID  uint32 // not compared; stored here because it fills what would be padding
	Created  int64  // tag creationTime, or time of arrival; nanoseconds since 1970
	Arrival  uint64 // sequence number of the ask in the partition; unique
}

// CompareAsks orders the asks of one application: by priority, then creation time; a tie is broken by arrival (ORD-37).
func CompareAsks(a, b *AskKey) int {
	if c := cmp.Compare(b.Priority, a.Priority); c != 0 {
		return c
	}
	if c := cmp.Compare(a.Created, b.Created); c != 0 {
		return c
	}
	return cmp.Compare(a.Arrival, b.Arrival)
}
