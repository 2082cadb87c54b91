package offline

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/policies"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// checkWorkload adds work to the queues, and compares the order of the queues and their current
// priorities (PRI-9, ORD-14).
func (p *Partition) checkWorkload(r *Result, a *Assertion) error {
	cluster := a.Cluster
	if cluster == nil {
		cluster = &resources.Amounts{} // allocations need a node
	}
	return p.withCluster(cluster, func() error {
		defer func() {
			for i := range a.Workloads {
				p.partition.RemoveApplication(workloadAppID(i), fixedTime)
			}
		}()
		for i := range a.Workloads {
			if err := p.addWorkload(i, &a.Workloads[i]); err != nil {
				return fmt.Errorf("%s: %w", a.Workloads[i].Queue, err)
			}
		}
		p.quotas.Refresh(fixedTime)
		p.partition.RefreshShares()
		for _, s := range a.Expect.Priorities {
			q, ok := p.partition.Queue(objects.QueuePath(s.Queue))
			if !ok {
				return fmt.Errorf("there is no queue %s", s.Queue)
			}
			expected := policies.CurrentPriority{Value: s.Priority, Pending: s.Pending}
			r.compare(s.Queue+" priority", expected.String(), q.CurrentPriority().String())
		}
		return p.checkOrder(r, a.Expect.Order)
	})
}

func workloadAppID(i int) objects.AppID { return objects.AppID(fmt.Sprintf("worker-%d", i)) }

// addWorkload adds work i to its queue, which is created if a placement rule could create it.
func (p *Partition) addWorkload(i int, x *Workload) error {
	app, path := workloadAppID(i), objects.QueuePath(x.Queue)
	user := security.User{Name: x.User, Groups: x.Groups}
	if _, ok := p.partition.Queue(path); !ok {
		if err := p.partition.CreateLeaf(path, user); err != nil {
			return err
		}
	}
	if err := p.partition.AddApplication(app, user, path, nil, fixedTime); err != nil {
		return err
	}
	ask := func(key string, amounts resources.Amounts) *objects.Ask {
		return &objects.Ask{Key: objects.AllocationKey(string(app) + key), App: app, Amounts: amounts, Priority: x.Priority}
	}
	if !x.Used.IsZero() {
		if _, err := p.partition.AddReported(ask("/used", x.Used), clusterNode, fixedTime); err != nil {
			return err
		}
	}
	if !x.Pending.IsZero() {
		if _, err := p.partition.AddAsk(ask("/pending", x.Pending), fixedTime); err != nil {
			return err
		}
	}
	return nil
}

// checkOrder compares each queue with the next: the two queues above them that have the same
// parent are compared as in scheduling.
func (p *Partition) checkOrder(r *Result, order []string) error {
	for i := range order {
		q, ok := p.partition.Queue(objects.QueuePath(order[i]))
		switch {
		case !ok:
			return fmt.Errorf("there is no queue %s", order[i])
		case !q.HasPending():
			return fmt.Errorf("%s has nothing pending, so it is not sorted", order[i])
		case i == 0:
			continue
		}
		before, _ := p.partition.Queue(objects.QueuePath(order[i-1]))
		first, second := divergingQueues(before, q)
		a, b := queueKeyOf(first), queueKeyOf(second)
		if policies.CompareQueues(&a, &b, first.Parent().QueueSort()) > 0 {
			r.compare(fmt.Sprintf("order below %s", first.Parent().Path()),
				queueKeyText(order[i-1], &a)+" before "+queueKeyText(order[i], &b),
				order[i]+" first")
		}
	}
	return nil
}

// divergingQueues are the two children, above or equal to a and b, of the lowest common parent of a and b.
func divergingQueues(a, b *objects.Queue) (*objects.Queue, *objects.Queue) {
	for depth(a) > depth(b) {
		a = a.Parent()
	}
	for depth(b) > depth(a) {
		b = b.Parent()
	}
	for a.Parent() != b.Parent() {
		a, b = a.Parent(), b.Parent()
	}
	return a, b
}

func depth(q *objects.Queue) int { return strings.Count(string(q.Path()), ".") }

// queueKeyOf is the sort key of a queue, as in scheduling.
func queueKeyOf(q *objects.Queue) policies.QueueKey {
	return policies.QueueKey{
		Path: string(q.Path()), Priority: q.CurrentPriority(), Share: q.Share(), Pending: q.Pending().Sum(),
	}
}

func queueKeyText(path string, k *policies.QueueKey) string {
	return fmt.Sprintf("%s (priority %s, share %s)", cmp.Or(path, k.Path), k.Priority, shareText(k.Share.Float()))
}

func shareText(f float64) string { return fmt.Sprintf("%.3g", f) }
