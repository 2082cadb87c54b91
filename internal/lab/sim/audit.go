package sim

import (
	"fmt"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/policies"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// Audit checks the invariants of an idle scheduler: every sum is the sum of its parts, no queue exceeds
// its max and no node its capacity, priorities are those of the pending asks, and no pending ask could
// be placed. It computes everything from the asks and allocations of the snapshot and returns the first
// violation.
//
// The scheduler must have placed all allocations: recovered ones may exceed a max.
func Audit(s *scheduler.Snapshot) error {
	a := auditState{
		cluster: clusterState{capacity: s.Capacity, queues: map[objects.QueuePath]queueState{}},
		nodeOf:  map[objects.AllocationKey]objects.NodeID{},
		onNode:  map[objects.NodeID]resources.Amounts{},
	}
	total, err := a.queue(s.Root)
	if err != nil {
		return err
	}
	if err := a.nodes(s); err != nil {
		return err
	}
	got := [...]int{s.Applications, s.Asks, s.Allocations}
	want := [...]int{total.applications, len(a.pending), len(a.nodeOf)}
	if got != want {
		return fmt.Errorf("the partition counts %v applications, asks and allocations, there are %v", got, want)
	}
	if err := a.cluster.findOverMax(); err != nil {
		return err
	}
	return a.cluster.findPlaceable(a.pending)
}

type auditState struct {
	cluster clusterState
	pending []pendingAsk
	nodeOf  map[objects.AllocationKey]objects.NodeID
	onNode  map[objects.NodeID]resources.Amounts // by the allocations of applications
}

// sums are totals of the asks and allocations below a queue.
type sums struct {
	allocated, pending resources.Amounts
	priority           policies.CurrentPriority // of the asks, as seen by the queue above
	applications       int
}

func (t *sums) add(u sums) {
	t.allocated, t.pending = t.allocated.Add(u.allocated), t.pending.Add(u.pending)
	t.applications += u.applications
	if u.priority.Compare(t.priority) > 0 {
		t.priority = u.priority
	}
}

func (a *auditState) queue(q *scheduler.QueueView) (sums, error) {
	var t sums
	for child := range q.Children.All() {
		u, err := a.queue(child)
		if err != nil {
			return t, err
		}
		t.add(u)
	}
	for app := range q.Applications.All() {
		u, err := a.application(app, q)
		if err != nil {
			return t, err
		}
		t.add(u)
	}
	if q.Path != objects.RootPath {
		t.priority = q.Settings.PriorityPolicy.ApplyOffset(t.priority, q.Settings.PriorityOffset)
	}
	a.cluster.queues[q.Path] = queueState{
		max: q.Max, allocated: t.allocated, startsOneByOne: q.Leaf && q.Settings.AppSort == policies.StateAware,
	}
	switch {
	case !q.Allocated.Equal(t.allocated):
		return t, fmt.Errorf("queue %s says %v is allocated, the sum is %v", q.Path, q.Allocated, t.allocated)
	case !q.Pending.Equal(t.pending):
		return t, fmt.Errorf("queue %s says %v is pending, the sum is %v", q.Path, q.Pending, t.pending)
	case q.Priority != t.priority:
		return t, fmt.Errorf("queue %s says its priority is %v, its asks have %v", q.Path, q.Priority, t.priority)
	}
	return t, nil
}

func (a *auditState) application(v *scheduler.ApplicationView, q *scheduler.QueueView) (sums, error) {
	t := sums{applications: 1}
	var placeholders resources.Amounts
	for w := range v.Allocations.All() {
		key, took := w.Ask.Key, w.Ask.Amounts
		if w.Node == "" {
			t.add(sums{pending: took, priority: policies.Pending(w.Ask.Priority)})
			a.pending = append(a.pending, pendingAsk{key, q.Path, took, w.Ask.RequiredNode()})
			continue
		}
		if other, twice := a.nodeOf[key]; twice {
			return t, fmt.Errorf("allocation %s runs on nodes %s and %s", key, other, w.Node)
		}
		a.nodeOf[key] = w.Node
		a.onNode[w.Node] = a.onNode[w.Node].Add(took)
		t.add(sums{allocated: took})
		if w.Ask.Placeholder {
			placeholders = placeholders.Add(took)
		}
	}
	switch {
	case !v.Allocated.Add(v.Placeholders).Equal(t.allocated) || !v.Placeholders.Equal(placeholders):
		return t, fmt.Errorf("application %s says %v and %v of placeholders are allocated, the sum is %v in all",
			v.ID, v.Allocated, v.Placeholders, t.allocated)
	case !v.Pending.Equal(t.pending):
		return t, fmt.Errorf("application %s says %v is pending, the sum is %v", v.ID, v.Pending, t.pending)
	case v.Priority != t.priority:
		return t, fmt.Errorf("application %s says its priority is %v, its asks have %v", v.ID, v.Priority, t.priority)
	}
	return t, nil
}

func (a *auditState) nodes(s *scheduler.Snapshot) error {
	var capacity resources.Amounts
	placed := 0
	for n := range s.Nodes.All() {
		if err := a.node(n); err != nil {
			return err
		}
		capacity = capacity.Add(n.Total)
		placed += n.Allocations.Len()
		if n.Schedulable {
			a.cluster.nodes = append(a.cluster.nodes, nodeSpace{n.ID, n.Available})
		}
	}
	switch {
	case !capacity.Equal(s.Capacity):
		return fmt.Errorf("the cluster says it has %v, its nodes say %v", s.Capacity, capacity)
	case placed != len(a.nodeOf):
		return fmt.Errorf("nodes have %d allocations, applications %d", placed, len(a.nodeOf))
	}
	return nil
}

func (a *auditState) node(n *scheduler.NodeView) error {
	var allocated, occupied resources.Amounts
	for w := range n.Allocations.All() {
		if a.nodeOf[w.Ask.Key] != n.ID || w.Node != n.ID {
			return fmt.Errorf("node %s has allocation %s, its application says node %q",
				n.ID, w.Ask.Key, a.nodeOf[w.Ask.Key])
		}
		allocated = allocated.Add(w.Ask.Amounts)
	}
	for _, f := range n.Foreign {
		occupied = occupied.Add(f.Amounts)
	}
	left := n.Total.Sub(allocated).Sub(occupied)
	switch {
	case !n.Allocated.Equal(allocated) || !n.Allocated.Equal(a.onNode[n.ID]):
		return fmt.Errorf("node %s says %v is allocated, the sum is %v, its applications %v",
			n.ID, n.Allocated, allocated, a.onNode[n.ID])
	case !n.Occupied.Equal(occupied):
		return fmt.Errorf("node %s says %v is occupied, its foreign allocations have %v", n.ID, n.Occupied, occupied)
	case !n.Available.Equal(left):
		return fmt.Errorf("node %s says %v is available, %v is left", n.ID, n.Available, left)
	case left.HasNegative():
		return fmt.Errorf("node %s has %v and holds more: %v is left", n.ID, n.Total, left)
	}
	return nil
}
