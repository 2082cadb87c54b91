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
	return take(&p.journal.events.applications)
}

// TakeChangedQueues returns the changes since the last call, in order. The list is valid until the
// partition changes.
func (p *Partition) TakeChangedQueues() []ChangedQueue {
	return take(&p.journal.events.queues)
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

// Wants leaves out the changes that have no event, or one that the command has that made them.
func (*stateEvents) Wants() ChangeSet {
	return 1<<NodeUsageChanged | 1<<ApplicationStateChanged | 1<<ApplicationExpired | 1<<QueueStateChanged
}

func (e *stateEvents) On(c *Change) {
	switch c.Kind {
	case NodeUsageChanged:
		if c.Node.Overcommitted() != c.Node.overcommitted {
			e.nodes = append(e.nodes, c.Node)
		}
	case ApplicationStateChanged:
		e.applications = append(e.applications, ApplicationStateChange{c.App.ID(), c.App.queue.path, c.Entered})
	case ApplicationExpired:
		e.applications = append(e.applications,
			ApplicationStateChange{AppID(c.Ended.ID), QueuePath(c.Ended.Queue), c.Entered})
	case QueueStateChanged:
		e.queues = append(e.queues, ChangedQueue{c.Queue.path, c.To, !c.Queue.managed})
	}
}

// QueueChange is the kind of a change of a queue (QUE-40).
type QueueChange uint8

// The changes of queues. A managed queue that a configuration adds is none of them: the generation
// of the configuration has it.
const (
	QueueCreated  QueueChange = iota // a dynamic queue, for an application
	QueueDraining                    // a managed queue was removed from the configuration and has applications
	QueueRestored                    // a draining queue is in the configuration again
	QueueRemoved                     // a queue was removed from the partition
)

func (c QueueChange) String() string {
	return [...]string{"created", "draining", "restored", "removed"}[c]
}

// ChangedQueue is a change of a queue.
type ChangedQueue struct {
	Queue   QueuePath
	Change  QueueChange
	Dynamic bool // the queue is not in the configuration
}
