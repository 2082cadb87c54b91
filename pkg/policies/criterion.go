package policies

import (
	"cmp"
	"strings"
)

// Criterion names the key that decides the order of two queues, applications or asks: the first in which they differ.
type Criterion string

// The criteria.
const (
	ByName       Criterion = "name"       // path or ID; nothing else differs
	ByPriority   Criterion = "priority"   // the higher one first
	ByShare      Criterion = "share"      // the smaller fair share, or usage, first
	ByUsage      Criterion = "usage"      // the smaller usage over time first (FAI-4)
	ByPending    Criterion = "pending"    // the larger sum of pending quantities first
	BySubmission Criterion = "submission" // the application that was submitted first
	ByCreation   Criterion = "creation"   // the ask that was created first
	ByArrival    Criterion = "arrival"    // the ask that arrived first
)

// comparison is one step of a comparison.
type comparison struct {
	by    Criterion
	order int
}

func firstDifference(steps ...comparison) (Criterion, int) {
	for _, s := range steps {
		if s.order != 0 {
			return s.by, s.order
		}
	}
	return ByName, 0
}

// QueueCriterion returns the criterion of CompareQueues, with its result.
func QueueCriterion(a, b *QueueKey, by QueueSort) (Criterion, int) {
	priority, share := comparison{ByPriority, b.Priority.Compare(a.Priority)}, comparison{ByShare, by.compareUse(a, b)}
	if by.OverTime {
		share.by = ByUsage
	}
	rest, name := comparison{ByPending, cmp.Compare(b.Pending, a.Pending)},
		comparison{ByName, strings.Compare(a.Path, b.Path)}
	if by.Priority == PriorityIgnored {
		return firstDifference(share, priority, rest, name)
	}
	return firstDifference(priority, share, rest, name)
}

// AppCriterion returns the criterion of AppSort.CompareApps, with its result.
func (s AppSort) AppCriterion(a, b *AppKey, by PrioritySort) (Criterion, int) {
	priority, name := comparison{ByPriority, b.Priority.Compare(a.Priority)}, comparison{ByName, cmp.Compare(a.ID, b.ID)}
	use, order := comparison{ByShare, s.compareUse(a, b)}, comparison{BySubmission, cmp.Compare(a.Submitted, b.Submitted)}
	if s == OverTime {
		use.by = ByUsage
	}
	if s == Fair {
		order.order = 0
	}
	if by == PriorityIgnored {
		return firstDifference(use, order, priority, name)
	}
	return firstDifference(priority, use, order, name)
}

// AskCriterion returns the criterion of CompareAsks, with its result.
func AskCriterion(a, b *AskKey) (Criterion, int) {
	return firstDifference(comparison{ByPriority, cmp.Compare(b.Priority, a.Priority)},
		comparison{ByCreation, cmp.Compare(a.Created, b.Created)},
		comparison{ByArrival, cmp.Compare(a.Arrival, b.Arrival)})
}
