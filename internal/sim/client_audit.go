package sim

import (
	"fmt"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/policies"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// Audit checks, from what the client was told alone, that no queue of the configuration
// holds more than it may and that no pending ask could be placed. That no node holds
// more than it has is checked with every allocation. Requires: Settle came back, and no
// message was sent since.
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

// addQueues enters a configured queue and all below it, and returns what they hold.
func (r *clusterState) addQueues(q configs.Queue, path objects.QueuePath, leaves map[objects.QueuePath]resources.Amounts) (
	total resources.Amounts) {
	total = leaves[path]
	for _, child := range q.Children {
		total = total.Add(r.addQueues(child, path.Child(child.Name), leaves))
	}
	r.queues[path] = queueState{max: q.Max, allocated: total, startsOneByOne: !q.Parent && q.AppSort == policies.StateAware}
	return total
}

// CompareSnapshot checks that the scheduler believes what it has told: the same work is pending,
// and the same work runs on the same nodes. Requires: as Audit.
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
					return fmt.Errorf("the scheduler knows %s, which has ended or never was", w.Ask.Key)
				case t.node != w.Node:
					return fmt.Errorf("the scheduler has %s on node %q and told us node %q", w.Ask.Key, w.Node, t.node)
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
