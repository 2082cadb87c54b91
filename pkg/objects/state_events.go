package objects

import (
	"cmp"
	"slices"
)

// stateEvents collects the changes of applications and queues that have an event of their own.
type stateEvents struct {
	applications []ApplicationStateChange // since TakeStateChanges
	queues       []ChangedQueue           // since TakeChangedQueues
	// overcommitted or no longer, since TakeOvercommitChanges; a node may be there twice
	nodes []*Node
}

// TakeStateChanges returns the state changes of applications since the last call, in order. The
// list is valid until the partition changes.
func (p *Partition) TakeStateChanges() []ApplicationStateChange {
	c := &p.journal.events
	out := c.applications
	c.applications = c.applications[:0]
	return out
}

// TakeChangedQueues returns the changes since the last call, in order. The list is valid until the
// partition changes.
func (p *Partition) TakeChangedQueues() []ChangedQueue {
	c := &p.journal.events
	out := c.queues
	c.queues = c.queues[:0]
	return out
}

// TakeOvercommitChanges returns the nodes that became overcommitted since the last call, and those that no longer are,
// in ID order. A node that was removed is not among them.
func TakeOvercommitChanges(p *Partition) (changed []*Node) {
	c := &p.journal.events
	for _, n := range c.nodes {
		if now := n.Overcommitted(); n.registered && now != n.overcommitted {
			n.overcommitted = now
			changed = append(changed, n)
		}
	}
	clear(c.nodes)
	c.nodes = c.nodes[:0]
	slices.SortFunc(changed, func(n, m *Node) int { return cmp.Compare(n.ID(), m.ID()) })
	return changed
}

// wants leaves out the changes that have no event, or one that the command has that made them.
func (*stateEvents) wants() changeSet {
	return 1<<nodeUsageChanged | 1<<applicationStateChanged | 1<<applicationExpired | 1<<queueStateChanged
}

func (e *stateEvents) on(c *change) {
	switch c.kind {
	case nodeUsageChanged:
		if c.node.Overcommitted() != c.node.overcommitted {
			e.nodes = append(e.nodes, c.node)
		}
	case applicationStateChanged:
		e.applications = append(e.applications, ApplicationStateChange{c.app.ID(), c.app.queue.path, c.entered})
	case applicationExpired:
		e.applications = append(e.applications,
			ApplicationStateChange{AppID(c.ended.ID), QueuePath(c.ended.Queue), c.entered})
	case queueStateChanged:
		e.queues = append(e.queues, ChangedQueue{c.queue.path, c.to, !c.queue.managed})
	}
}
