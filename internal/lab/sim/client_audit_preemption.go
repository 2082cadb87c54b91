package sim

import (
	"fmt"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/policies"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// AuditPreemption checks, from the client's messages alone, that no pending ask could preempt
// allocations of lower priority in its own leaf, where the configuration allows it (PRE-3). It tries
// every node without these allocations. Allocations of other leaves are not tried. The preconditions
// are those of Audit; and every pending ask must have been evaluated since the last change.
func (c *Client) AuditPreemption(conf configs.Partition) error {
	if !conf.PreemptionEnabled {
		return nil
	}
	r := clusterState{queues: map[objects.QueuePath]queueState{}}
	allocated := map[objects.QueuePath]resources.Amounts{}
	c.mu.Lock()
	defer c.mu.Unlock()
	running := map[objects.NodeID][]*askState{}
	var pending []*askState
	for _, t := range c.sortedAskStates() {
		if t.node == "" {
			pending = append(pending, t)
			continue
		}
		queue := c.apps[t.App].Queue
		allocated[queue] = allocated[queue].Add(t.Amounts)
		running[t.node] = append(running[t.node], t)
	}
	for _, m := range c.sortedMachines() {
		r.capacity = r.capacity.Add(m.Capacity)
	}
	r.addQueues(conf.Root, objects.RootPath, allocated)
	tried := map[string]bool{}
	for _, t := range pending {
		leaf := c.apps[t.App].Queue
		kind := fmt.Sprintf("%s %d %v", leaf, t.Priority, t.Amounts)
		if !t.Preempts || tried[kind] || priorityPreemptionOf(conf.Root, leaf) == policies.PriorityPreemptionDisabled {
			continue
		}
		tried[kind] = true
		for _, m := range c.sortedMachines() {
			var preemptable resources.Amounts
			for _, y := range running[m.ID] {
				if y.Priority < t.Priority && c.apps[y.App].Queue == leaf {
					preemptable = preemptable.Add(y.Amounts)
				}
			}
			if !m.Draining && m.Capacity.Sub(m.used).Add(preemptable).Covers(t.Amounts) &&
				r.queuesAllow(pendingAsk{queue: leaf, amounts: t.Amounts}, preemptable) {
				return fmt.Errorf("ask %s of queue %s has priority %d and is pending, and could preempt allocations of lower "+
					"priority on node %s",
					t.Key, leaf, t.Priority, m.ID)
			}
		}
	}
	return nil
}

// priorityPreemptionOf returns the preemption.priority of a leaf.
func priorityPreemptionOf(q configs.Queue, leaf objects.QueuePath) policies.PriorityPreemption {
	for _, name := range leaf.Parts()[1:] {
		for _, child := range q.Children {
			if child.Name == name {
				q = child
				break
			}
		}
	}
	return q.PriorityPreemption
}
