package sim

import (
	"fmt"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/policies"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// Audit checks, from the client's messages alone, that no configured queue exceeds its max and that no
// pending ask could be placed. Node capacity is checked with every allocation. WaitIdle must have
// returned, and no message may have been sent since.
func (c *Client) Audit(conf configs.Partition) error {
	r := clusterState{queues: map[objects.QueuePath]queueState{}}
	allocated := map[objects.QueuePath]resources.Amounts{}
	var pending []pendingAsk
	c.mu.Lock()
	for _, t := range c.sortedAskStates() {
		queue := c.apps[t.App].Queue
		if t.node == "" {
			pending = append(pending, pendingAsk{key: t.Key, queue: queue, amounts: t.Amounts})
			continue
		}
		allocated[queue] = allocated[queue].Add(t.Amounts)
	}
	for _, m := range c.sortedMachines() {
		r.capacity = r.capacity.Add(m.Capacity)
		if !m.Draining {
			r.nodes = append(r.nodes, nodeSpace{m.ID, m.Capacity.Sub(m.used)})
		}
	}
	c.mu.Unlock()
	r.addQueues(conf.Root, objects.RootPath, allocated)
	if err := r.findOverMax(); err != nil {
		return err
	}
	return r.findPlaceable(pending)
}

// addQueues adds a configured queue and all below it, and returns their allocated resources.
func (r *clusterState) addQueues(q configs.Queue, path objects.QueuePath,
	leaves map[objects.QueuePath]resources.Amounts) (
	total resources.Amounts) {
	total = leaves[path]
	for _, child := range q.Children {
		total = total.Add(r.addQueues(child, path.Child(child.Name), leaves))
	}
	r.queues[path] = queueState{max: q.Max, allocated: total, startsOneByOne: !q.Parent &&
		q.AppSort == policies.StateAware}
	return total
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
