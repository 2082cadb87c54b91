package sim

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/canopy-scheduler/canopy/internal/cli/demo"
	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/persistent"
	"github.com/canopy-scheduler/canopy/pkg/policies"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// Audit checks, from the client's messages alone, what demo.CheckIdle checks. They say nothing of reservations, so with
// those an ask that it finds pending may wait for a good reason. WaitIdle must have returned, and no message may have
// been sent since.
func (c *Client) Audit(conf configs.Partition) error {
	err := demo.CheckIdle(c.snapshot(conf))
	if err != nil && conf.Reservation.Enabled {
		return fmt.Errorf("%w (nodes may be reserved, which is not known here; check with reservation: {enabled: false})",
			err)
	}
	return err
}

// QueueLines are the configured queues with the asks and allocations that the client knows. It is for a
// scheduler whose snapshots cannot be read.
func (c *Client) QueueLines(conf configs.Partition) []demo.QueueLine {
	return demo.QueueLines(c.snapshot(conf))
}

// snapshot returns the state that follows from the client's messages. What is in a queue that is not configured counts
// for the lowest configured queue above it. Everything that demo does not read is left out.
func (c *Client) snapshot(conf configs.Partition) *scheduler.Snapshot {
	c.mu.Lock()
	defer c.mu.Unlock()
	leaves := map[objects.QueuePath][]*scheduler.AllocationView{}
	for _, t := range c.sortedAskStates() {
		ask := &objects.Ask{Key: t.Key, App: t.App, Amounts: t.Amounts, Priority: t.Priority}
		leaf := configuredQueue(&conf.Root, c.apps[t.App].Queue)
		leaves[leaf] = append(leaves[leaf], &scheduler.AllocationView{Ask: ask, Node: t.node})
	}
	s := &scheduler.Snapshot{Root: queueView(&conf.Root, objects.RootPath, leaves)}
	var nodes []*scheduler.NodeView
	for _, m := range c.sortedMachines() {
		s.Capacity = s.Capacity.Add(m.Capacity)
		nodes = append(nodes, &scheduler.NodeView{ID: m.ID, Schedulable: !m.Draining, Total: m.Capacity, Allocated: m.used,
			Available: m.Capacity.Sub(m.used)})
	}
	s.Nodes, s.Root.Max = persistent.ListOf(nodes...), resources.LimitFromMap(s.Capacity.Map())
	return s
}

// configuredQueue returns the path of the lowest configured queue on the way to a leaf.
func configuredQueue(q *configs.Queue, leaf objects.QueuePath) objects.QueuePath {
	path := objects.RootPath
	for _, name := range leaf.Parts()[1:] {
		i := slices.IndexFunc(q.Children, func(child configs.Queue) bool { return child.Name == name })
		if i < 0 {
			break
		}
		q, path = &q.Children[i], path.Child(name)
	}
	return path
}

// queueView returns a configured queue and all below it with the asks and allocations of the leaves.
func queueView(q *configs.Queue, path objects.QueuePath,
	leaves map[objects.QueuePath][]*scheduler.AllocationView) *scheduler.QueueView {
	v := &scheduler.QueueView{Path: path, Max: q.Max, Guaranteed: q.Guaranteed, Settings: q.Settings}
	add := func(pending, allocated resources.Amounts, priority policies.CurrentPriority) {
		v.Pending, v.Allocated = v.Pending.Add(pending), v.Allocated.Add(allocated)
		if priority.Compare(v.Priority) > 0 {
			v.Priority = priority
		}
	}
	var children []*scheduler.QueueView
	for i := range q.Children {
		child := queueView(&q.Children[i], path.Child(q.Children[i].Name), leaves)
		add(child.Pending, child.Allocated, child.Priority)
		children = append(children, child)
	}
	slices.SortFunc(children, func(a, b *scheduler.QueueView) int { return cmp.Compare(a.Path, b.Path) })
	for _, x := range leaves[path] {
		if x.Node == "" {
			add(x.Ask.Amounts, resources.Amounts{}, policies.Pending(x.Ask.Priority))
		} else {
			add(resources.Amounts{}, x.Ask.Amounts, policies.CurrentPriority{})
		}
	}
	if path != objects.RootPath {
		v.Priority = q.PriorityPolicy.ApplyOffset(v.Priority, q.PriorityOffset)
	}
	v.Children = persistent.ListOf(children...)
	v.Applications = persistent.ListOf(&scheduler.ApplicationView{Allocations: persistent.ListOf(leaves[path]...)})
	return v
}

// AuditPreemption checks, from the client's messages alone, that no pending ask could preempt
// allocations of lower priority in its own leaf, where the configuration allows it (PRE-3). It tries
// every node without these allocations. Allocations of other leaves are not tried. The preconditions
// are those of Audit; and every pending ask must have been evaluated since the last change.
func (c *Client) AuditPreemption(conf configs.Partition) error {
	if !conf.PreemptionEnabled {
		return nil
	}
	s := c.snapshot(conf)
	c.mu.Lock()
	defer c.mu.Unlock()
	running := map[objects.NodeID][]*askState{}
	var pending []*askState
	for _, t := range c.sortedAskStates() {
		if t.node == "" {
			pending = append(pending, t)
		} else {
			running[t.node] = append(running[t.node], t)
		}
	}
	tried := map[string]bool{}
	for _, t := range pending {
		leaf := c.apps[t.App].Queue
		q := s.Queue(configuredQueue(&conf.Root, leaf))
		kind := fmt.Sprintf("%s %d %v", leaf, t.Priority, t.Amounts)
		if !t.Preempts || tried[kind] || q.Settings.PriorityPreemption == policies.PriorityPreemptionDisabled ||
			q.Settings.AppSort == policies.StateAware {
			continue
		}
		tried[kind] = true
		headroom := s.Headroom(q.Path)
		for n := range s.Nodes.All() {
			var preemptable resources.Amounts
			for _, y := range running[n.ID] {
				if y.Priority < t.Priority && c.apps[y.App].Queue == leaf {
					preemptable = preemptable.Add(y.Amounts)
				}
			}
			if n.Schedulable && n.Available.Add(preemptable).Covers(t.Amounts) &&
				headroom.Headroom(resources.Amounts{}.Sub(preemptable)).Allows(t.Amounts) {
				return fmt.Errorf("ask %s of queue %s has priority %d and is pending, and could preempt allocations of lower "+
					"priority on node %s", t.Key, leaf, t.Priority, n.ID)
			}
		}
	}
	return nil
}

// CompareSnapshot checks that the snapshot has the same asks, and the same allocations on the same
// nodes, as the client. The preconditions are those of Audit.
func (c *Client) CompareSnapshot(s *scheduler.Snapshot) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	found := 0
	var compare func(q *scheduler.QueueView) error
	compare = func(q *scheduler.QueueView) error {
		for a := range q.Applications.All() {
			for w := range a.Allocations.All() {
				found++
				t, known := c.askStates[w.Ask.Key]
				switch {
				case !known:
					return fmt.Errorf("the scheduler knows %s, which has ended or was never submitted", w.Ask.Key)
				case t.node != w.Node:
					return fmt.Errorf("the scheduler has %s on node %q and sent node %q", w.Ask.Key, w.Node, t.node)
				case !t.Amounts.Equal(w.Ask.Amounts):
					return fmt.Errorf("the scheduler counts %v for %s, which asked for %v",
						w.Ask.Amounts, w.Ask.Key, t.Amounts)
				}
			}
		}
		for child := range q.Children.All() {
			if err := compare(child); err != nil {
				return err
			}
		}
		return nil
	}
	if err := compare(s.Root); err != nil {
		return err
	}
	if found != len(c.askStates) {
		return fmt.Errorf("the scheduler knows %d asks and allocations, there are %d", found, len(c.askStates))
	}
	return nil
}
