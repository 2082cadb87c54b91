package objects

import (
	"cmp"
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/lifecycle"
)

// stateEvents collects the changes of applications and queues that have an event of their own.
type stateEvents struct {
	ignoreAskChanges
	ignoreAllocationChanges
	ignoreGangChanges
	ignoreNodeChanges
	ignoreAccountChanges
	ignoreConfigurationChanges

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

func (c *stateEvents) nodeUsageChanged(n *Node) {
	if n.Overcommitted() != n.overcommitted {
		c.nodes = append(c.nodes, n)
	}
}

func (c *stateEvents) applicationStateChanged(a *Application, to lifecycle.Change) {
	c.applications = append(c.applications, ApplicationStateChange{a.ID(), a.queue.path, to})
}

func (c *stateEvents) applicationExpired(e *lifecycle.Ended, to lifecycle.Change) {
	c.applications = append(c.applications, ApplicationStateChange{AppID(e.ID), QueuePath(e.Queue), to})
}

func (c *stateEvents) queueStateChanged(q *Queue, to QueueChange) {
	c.queues = append(c.queues, ChangedQueue{q.path, to, !q.managed})
}

// The other changes have no event, or one that the command has that made them.

func (*stateEvents) queueUsageChanged(*Queue)              {}
func (*stateEvents) queuePreemptingChanged(*Queue)         {}
func (*stateEvents) queueRunningChanged(*Queue)            {}
func (*stateEvents) queueSettingsChanged(*Queue)           {}
func (*stateEvents) queueChanged(*Queue)                   {}
func (*stateEvents) quotasChanged(*Queue)                  {}
func (*stateEvents) queueTreeChanged()                     {}
func (*stateEvents) applicationAdded(*Application)         {}
func (*stateEvents) applicationRemoved(*Application)       {}
func (*stateEvents) runningChanged(*Application)           {}
func (*stateEvents) firstStartingChanged(*Application)     {}
func (*stateEvents) applicationMoved(*Application, *Queue) {}
func (*stateEvents) mayPreemptChanged(*Application)        {}
func (*stateEvents) mayBeAllocatedChanged(*Application)    {}
