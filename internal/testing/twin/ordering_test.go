package twin

import (
	"cmp"

	"github.com/canopy-scheduler/canopy/pkg/policies"
)

// The orders, as lists of comparisons: the first that is not equal decides, and the last is never
// equal.

// compareQueues orders siblings (ORD-14, ORD-15).
func compareQueues(a, b *policies.QueueKey, by policies.QueueSort) int {
	first, second := comparePriority(a.Priority, b.Priority), a.Share.Compare(b.Share)
	if by.OverTime {
		second = a.Usage.Compare(b.Usage)
	}
	if by.Priority == policies.PriorityIgnored {
		first, second = second, first
	}
	return cmp.Or(first, second, -cmp.Compare(a.Pending, b.Pending), cmp.Compare(a.Path, b.Path))
}

// compareApps orders the applications of a leaf (ORD-25, ORD-26, ORD-27).
func compareApps(a, b *policies.AppKey, sort policies.AppSort, by policies.PrioritySort) int {
	first, second := comparePriority(a.Priority, b.Priority), cmp.Compare(a.Submitted, b.Submitted)
	switch sort {
	case policies.Fair:
		second = a.Shares.Compare(b.Shares)
	case policies.OverTime:
		second = cmp.Or(a.Usage.Compare(b.Usage), second)
	}
	if by == policies.PriorityIgnored {
		first, second = second, first
	}
	return cmp.Or(first, second, cmp.Compare(a.ID, b.ID))
}

// compareUnramped orders the applications of a StateAware leaf that have not ramped up: by priority,
// then a started one before others (ORD-34).
func compareUnramped(a, b *policies.AppKey, by policies.PrioritySort) int {
	first := comparePriority(a.Priority, b.Priority)
	if by == policies.PriorityIgnored {
		first = 0
	}
	started := boolToInt(b.Started) - boolToInt(a.Started)
	return cmp.Or(first, started, cmp.Compare(a.Submitted, b.Submitted), cmp.Compare(a.ID, b.ID))
}

// prioritySort reports whether priority counts among the children of q.
func (t *Twin) prioritySort(q *queue) policies.PrioritySort {
	if t.ignorePriority {
		return policies.PriorityIgnored
	}
	return q.conf.PrioritySort
}

// appSort returns the order of the applications of a leaf.
func appSort(q *queue) policies.AppSort {
	if _, is := overTime(q); is {
		return policies.OverTime
	}
	return q.conf.AppSort
}

// compareAsks orders the asks of an application (ORD-37).
func (t *Twin) compareAsks(a, b *allocation) int {
	priority := -cmp.Compare(a.ask.Priority, b.ask.Priority)
	if t.ignorePriority {
		priority = 0
	}
	return cmp.Or(priority, a.created.Compare(b.created),
		cmp.Compare(a.arrival, b.arrival))
}

// compareNodes orders nodes (ORD-45).
func compareNodes(a, b *policies.NodeKey) int {
	return cmp.Or(cmp.Compare(a.Score, b.Score), cmp.Compare(a.ID, b.ID))
}

// comparePriority returns a negative number when a is higher than b. Any number is higher than no pending ask.
func comparePriority(a, b policies.CurrentPriority) int {
	if !a.Pending || !b.Pending {
		return boolToInt(b.Pending) - boolToInt(a.Pending)
	}
	return -cmp.Compare(a.Value, b.Value)
}

func boolToInt(b bool) int {
	if b {
		return 1
	}
	return 0
}
