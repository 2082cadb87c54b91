package webservice

import (
	"net/http"
	"time"

	"github.com/canopy-scheduler/canopy/internal/server/usage"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/webservice/dao"
)

// Starvation: when a queue is starved (USG-5).
const (
	starvedWait = time.Minute // its oldest pending ask waits for this time or longer
	starvedPart = 0.9         // and it has less than this part of what it is owed
)

// fairness lists what each queue of a partition has and is owed now, in path order, a parent before its children.
func (s *service) fairness(r *http.Request) (any, error) {
	snap, err := s.snapshot(r)
	if err != nil {
		return nil, err
	}
	tree := usage.TreeOf(r.Context(), snap, nil)
	now := s.opt.Now()
	trees := map[*scheduler.QueueView]*usage.Tree{}
	tree.Each(func(t *usage.Tree) { trees[t.View] = t })
	return dao.List[dao.QueueFairness](func(yield func(dao.QueueFairness) bool) {
		more := true
		usage.Owed(tree.View, func(q *scheduler.QueueView, owed resources.Amounts) {
			more = more && yield(queueFairness(trees[q], owed, snap.At, now))
		})
	}), nil
}

func queueFairness(t *usage.Tree, owed resources.Amounts, at, now time.Time) dao.QueueFairness {
	q := t.View
	v := dao.QueueFairness{
		QueueName: string(q.Path), IsLeaf: q.Leaf, Status: "Active", Allocated: dao.QuantitiesOf(q.Allocated.All()),
		Owed: dao.QuantitiesOf(owed.All()), Guaranteed: dao.QuantitiesOf(q.Guaranteed.All()),
		Max:     dao.QuantitiesOf(q.Max.All()),
		Pending: dao.QuantitiesOf(q.Pending.All()), PendingAsks: t.PendingAsks, RunningApps: q.Running,
		OldestAsk: dao.Nanos(t.Oldest),
		Fairness:  dao.FairnessNow(q.Allocated, owed), UsageOverTime: dao.NewUsageOverTime(q.UsageOverTime, at),
	}
	switch {
	case q.Draining, q.Drained:
		v.Status = "Draining"
	case q.Stopped:
		v.Status = "Stopped"
	}
	if t.Oldest.IsZero() {
		return v
	}
	wait := max(0, now.Sub(t.Oldest))
	v.WaitSeconds = wait.Seconds()
	for name, n := range q.Pending.All() {
		if n > 0 && wait >= starvedWait && float64(q.Allocated.Get(name)) < starvedPart*float64(owed.Get(name)) {
			v.Starved = true
		}
	}
	return v
}
