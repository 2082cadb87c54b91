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

// checkWork puts work into the queues and compares in what order they would go, and which
// priorities they show (behaviour.md 3.9, 3.10).
func (w *World) checkWork(r *Result, a *Assertion) error {
	cluster := a.Cluster
	if cluster == nil {
		cluster = &resources.Amounts{} // work that is used must be somewhere
	}
	return w.on(cluster, func() error {
		defer func() {
			for i := range a.Work {
				w.part.RemoveApplication(workerOf(i), beginning)
			}
		}()
		for i := range a.Work {
			if err := w.put(i, &a.Work[i]); err != nil {
				return fmt.Errorf("%s: %w", a.Work[i].Queue, err)
			}
		}
		w.part.Settle()
		for _, s := range a.Expect.Priorities {
			q, ok := w.part.Queue(objects.QueuePath(s.Queue))
			if !ok {
				return fmt.Errorf("there is no queue %s", s.Queue)
			}
			expected := policies.Current{Value: s.Priority, Pending: s.Pending}
			r.differ(s.Queue+" priority", expected.String(), q.CurrentPriority().String())
		}
		return w.checkOrder(r, a.Expect.Order)
	})
}

func workerOf(i int) objects.AppID { return objects.AppID(fmt.Sprintf("worker-%d", i)) }

// put submits work i to its queue, which is created if a rule could do so.
func (w *World) put(i int, x *Work) error {
	app, path := workerOf(i), objects.QueuePath(x.Queue)
	user := security.User{Name: x.User, Groups: x.Groups}
	if _, ok := w.part.Queue(path); !ok {
		if err := w.part.CreateLeaf(path, user); err != nil {
			return err
		}
	}
	if err := w.part.AddApplication(app, user, path, nil, beginning); err != nil {
		return err
	}
	ask := func(key string, amounts resources.Amounts) *objects.Ask {
		return &objects.Ask{Key: objects.AllocationKey(string(app) + key), App: app, Amounts: amounts, Priority: x.Priority}
	}
	if !x.Used.IsZero() {
		if _, err := w.part.Report(ask("/used", x.Used), machine, beginning); err != nil {
			return err
		}
	}
	if !x.Pending.IsZero() {
		if _, err := w.part.AddAsk(ask("/pending", x.Pending), beginning); err != nil {
			return err
		}
	}
	return nil
}

// checkOrder compares each queue with the next: below the first parent that they have in
// common, which of the two branches goes first?
func (w *World) checkOrder(r *Result, order []string) error {
	for i := range order {
		q, ok := w.part.Queue(objects.QueuePath(order[i]))
		switch {
		case !ok:
			return fmt.Errorf("there is no queue %s", order[i])
		case !q.HasPending():
			return fmt.Errorf("%s has nothing pending, so it has no place in an order", order[i])
		case i == 0:
			continue
		}
		before, _ := w.part.Queue(objects.QueuePath(order[i-1]))
		first, second := branches(before, q)
		a, b := keyOf(first), keyOf(second)
		if policies.CompareQueues(&a, &b, first.Parent().PrioritySort()) > 0 {
			r.differ(fmt.Sprintf("order below %s", first.Parent().Path()),
				describe(order[i-1], &a)+" before "+describe(order[i], &b),
				order[i]+" first")
		}
	}
	return nil
}

// branches are the two queues below the lowest parent that a and b have in common.
func branches(a, b *objects.Queue) (*objects.Queue, *objects.Queue) {
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

// keyOf is what queues are compared by, as the tree does it.
func keyOf(q *objects.Queue) policies.QueueKey {
	return policies.QueueKey{
		Path: string(q.Path()), Priority: q.CurrentPriority(), Share: q.Share(), Pending: q.Pending().Sum(),
	}
}

func describe(path string, k *policies.QueueKey) string {
	return fmt.Sprintf("%s (priority %s, share %s)", cmp.Or(path, k.Path), k.Priority, shareText(k.Share.Float()))
}

func shareText(f float64) string { return fmt.Sprintf("%.3g", f) }
