package quota

import (
	"fmt"
	"slices"
)

// CheckOrder checks that every listed queue is above an enforced max, is listed once and in order, and passes
// exists. It returns how often each queue is listed.
func (e *Enforcement) CheckOrder(exists func(*Queue) bool) (listed map[*Queue]int, err error) {
	listed = map[*Queue]int{}
	for _, q := range slices.Concat(e.violating, e.due) {
		listed[q]++
		if q.violation == nil || !exists(q) {
			return nil, fmt.Errorf("queue %s is listed as above its max, and has no violation or does not exist", q.path)
		}
	}
	if !slices.IsSortedFunc(e.violating, compareEvaluations) {
		return nil, fmt.Errorf("the queues above their max are out of order")
	}
	return listed, nil
}

// Check checks the violation of a queue. violating says whether the queue should be above an enforced max, listed how
// often it is listed, and over whether it is above its max, enforced or not.
func (e *Enforcement) Check(q *Queue, over, violating bool, listed int) error {
	switch {
	case q.recheckListed != slices.Contains(e.toRecheck, q):
		return fmt.Errorf("queue %s is wrongly listed, or not listed, for a recheck of its max", q.path)
	case violating != (q.violation != nil) && !q.recheckListed:
		return fmt.Errorf("queue %s is above its enforced max: %t; recorded is %t", q.path, violating, q.violation != nil)
	case listed > 1 || (listed == 1) != (q.violation != nil):
		return fmt.Errorf("queue %s is listed %d times as above its max", q.path, listed)
	case q.Excess().IsZero() == over:
		return fmt.Errorf("queue %s has an excess of %v", q.path, q.Excess())
	}
	return nil
}
