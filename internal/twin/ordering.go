package twin

import (
	"cmp"

	"github.com/canopy-scheduler/canopy/pkg/policies"
)

// The orders once more, from the sheet, as one line of questions each: the first that
// has an answer decides, and the last always has one.

// compareQueues orders siblings (sheet 3.10).
func compareQueues(a, b *policies.QueueKey, by policies.PrioritySort) int {
	first, second := comparePriority(a.Priority, b.Priority), a.Share.Compare(b.Share)
	if by == policies.PriorityIgnored {
		first, second = second, first
	}
	return cmp.Or(first, second, -cmp.Compare(a.Pending, b.Pending), cmp.Compare(a.Path, b.Path))
}

// compareApps orders the applications of a leaf (sheet 3.11).
func compareApps(a, b *policies.AppKey, sort policies.AppSort, by policies.PrioritySort) int {
	first, second := comparePriority(a.Priority, b.Priority), cmp.Compare(a.Submitted, b.Submitted)
	if sort == policies.Fair {
		second = a.Shares.Compare(b.Shares)
	}
	if by == policies.PriorityIgnored {
		first, second = second, first
	}
	return cmp.Or(first, second, cmp.Compare(a.ID, b.ID))
}

// compareUnramped orders those applications of a StateAware leaf that have not ramped up. The
// most important goes first, not the oldest (seed 004), and one that has started goes
// before those that have not.
func compareUnramped(a, b *policies.AppKey, by policies.PrioritySort) int {
	first := comparePriority(a.Priority, b.Priority)
	if by == policies.PriorityIgnored {
		first = 0
	}
	started := boolToInt(b.Started) - boolToInt(a.Started)
	return cmp.Or(first, started, cmp.Compare(a.Submitted, b.Submitted), cmp.Compare(a.ID, b.ID))
}

// prioritySort says whether priority counts among the children of q.
func (t *Twin) prioritySort(q *queue) policies.PrioritySort {
	if t.ignorePriority {
		return policies.PriorityIgnored
	}
	return q.conf.PrioritySort
}

// compareAsks orders the asks of an application (sheet 3.12).
func (t *Twin) compareAsks(a, b *allocation) int {
	priority := -cmp.Compare(a.ask.Priority, b.ask.Priority)
	if t.ignorePriority {
		priority = 0
	}
	return cmp.Or(priority, a.created.Compare(b.created),
		cmp.Compare(a.arrival, b.arrival))
}

// compareNodes orders nodes (sheet 5.5).
func compareNodes(a, b *policies.NodeKey) int {
	return cmp.Or(cmp.Compare(a.Score, b.Score), cmp.Compare(a.ID, b.ID))
}

// comparePriority is negative when a is more important than b: any number is more important
// than nothing pending, and a larger one than a smaller.
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
