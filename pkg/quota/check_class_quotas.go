package quota

import (
	"fmt"

	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// ClassRecount counts what the class quotas should count, to check what they count.
type ClassRecount struct {
	want map[*Queue]map[classUsageID]classTotal
}

// classTotal holds what should count in a class quota, for one user or group if the quota is scoped.
type classTotal struct {
	amounts resources.Amounts
	pods    int
}

// Add counts an ask or allocation of application a and a class.
func (r *ClassRecount) Add(a *Application, class string, amounts resources.Amounts) {
	a.eachClassQuota(class, func(at classQuotaRef) bool {
		if r.want == nil {
			r.want = map[*Queue]map[classUsageID]classTotal{}
		}
		if r.want[at.queue] == nil {
			r.want[at.queue] = map[classUsageID]classTotal{}
		}
		sum := r.want[at.queue][at.id]
		r.want[at.queue][at.id] = classTotal{sum.amounts.Add(amounts), sum.pods + 1}
		return true
	})
}

// Check returns the first difference between the class quotas of q and what was added; nil: there is none.
func (r *ClassRecount) Check(q *Queue, names Names) error {
	want := r.want[q]
	if q.classes == nil {
		return nil
	}
	if len(q.classes.usage) != len(want) {
		return fmt.Errorf("queue %s has %d usages of class quotas; there are %d", q.path, len(q.classes.usage), len(want))
	}
	for id, m := range q.classes.usage {
		if w := want[id]; m.pods != w.pods || !names.Amounts(m.used).Equal(w.amounts) {
			return fmt.Errorf("quota %s of queue %s counts %d asks with %v for %v, there are %d with %v",
				id.quota, q.path, m.pods, names.Amounts(m.used), id.userOrGroup, w.pods, w.amounts)
		}
	}
	return nil
}
