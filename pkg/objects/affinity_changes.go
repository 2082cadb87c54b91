package objects

import (
	"github.com/canopy-scheduler/canopy/pkg/affinity"
)

// affinityChanges counts the allocations that affinity, anti-affinity and spread select, and knows the ask groups to
// which every node is refused (ADR 67). As long as no ask and no allocation has such constraints it tracks nothing.
type affinityChanges struct {
	nodes       *indexedList[Node] // of the partition
	tracker     affinity.Tracker
	tracking    bool               // tracker has all nodes and allocations
	nodesOpened bool               // a node may be allowed that was refused: the next RefreshShares requeues
	softTainted map[*Node]struct{} // nodes with a taint with PreferNoSchedule; nil: there are none
	refused     []*AskGroup        // to which every node is refused that they fit; some may be empty by now
	bySlot      []*Node            // by affinity.Node.Slot; of slots in use
	grouped     groupedNodesCache
	maxRefused  int // how many refused nodes a search tries one by one
}

// requeueDue reports whether something waits for a node that is not refused any more, and there may be one.
func (j *journal) requeueDue() bool {
	return j.affinity.nodesOpened && len(j.affinity.refused)+len(j.retries.parked) > 0
}

// track begins to track the nodes and the allocations that there are.
func (c *affinityChanges) track() {
	c.tracking = true
	for _, n := range c.nodes.all {
		c.trackNode(n)
	}
}

func (c *affinityChanges) trackNode(n *Node) {
	n.tracked = c.tracker.AddNode(n.info)
	if slot := n.tracked.Slot(); slot < len(c.bySlot) {
		c.bySlot[slot] = n
	} else {
		c.bySlot = append(c.bySlot, n)
	}
	for _, x := range n.allocations {
		c.tracker.Place(x.ask.Affinity(), x.ask.Tags(), n.tracked)
	}
	for _, f := range n.foreign {
		c.tracker.Place(f.affinity(), f.Tags, n.tracked)
	}
}

// sweep forgets what is not needed any more.
func (c *affinityChanges) sweep() {
	switch {
	case !c.tracking:
	case c.tracker.Active():
		if c.tracker.Sweep() {
			c.grouped.own = nil // some kinds are gone
		}
	default:
		for _, n := range c.nodes.all {
			n.tracked = nil
		}
		c.tracker.Reset()
		c.tracking, c.bySlot, c.grouped = false, nil, groupedNodesCache{}
	}
}

func (c *affinityChanges) askAdded(x *Allocation) {
	if !x.Constrained() {
		return
	}
	if !c.tracking {
		c.track()
	}
	c.tracker.Acquire(x.ask.Affinity(), x.ask.Tags())
}

func (c *affinityChanges) allocationPosted(x *Allocation) {
	switch {
	case c.tracking:
		if opens := c.tracker.Place(x.ask.Affinity(), x.ask.Tags(), x.node.tracked); opens {
			c.nodesOpened = true
		}
	case x.Constrained():
		c.track() // x is on its node already
	}
}

func (c *affinityChanges) foreignAdded(n *Node, f *Foreign) {
	switch {
	case c.tracking:
		if opens := c.tracker.Place(f.affinity(), f.Tags, n.tracked); opens {
			c.nodesOpened = true
		}
	case f.affinity().Key() != "":
		c.track()
	}
}

// affinity is the constraints of a foreign allocation, which keep others away; nil: none, or some that cannot be read.
func (f *Foreign) affinity() *affinity.Ask {
	parsed, _ := affinity.Parse(f.Tags, nil)
	return parsed
}

// nodeAdded opens no other node: a further domain has no allocations, so it is the one with the fewest. NodeFreed
// follows when n is schedulable.
func (c *affinityChanges) nodeAdded(n *Node) {
	c.grouped.invalidate()
	c.noteSoftTaints(n, n.info.SoftTainted())
	if c.tracking {
		c.trackNode(n)
	}
}

// nodeRemoved: the domain with the fewest may be gone. The foreign allocations of n go with it.
func (c *affinityChanges) nodeRemoved(n *Node) {
	c.grouped.invalidate()
	c.noteSoftTaints(n, false)
	if c.tracking {
		c.bySlot[n.tracked.Slot()] = nil
		c.tracker.RemoveNode(n.tracked)
		n.tracked = nil
		c.nodesOpened = true
	}
}

// nodeAttributesChanged: NodeFreed follows.
func (c *affinityChanges) nodeAttributesChanged(n *Node) {
	c.grouped.invalidate()
	c.noteSoftTaints(n, n.info.SoftTainted())
	if c.tracking {
		c.tracker.UpdateNode(n.tracked, n.info)
	}
}

// noteSoftTaints records whether n has a taint with PreferNoSchedule.
func (c *affinityChanges) noteSoftTaints(n *Node, some bool) {
	switch {
	case !some:
		delete(c.softTainted, n)
		if len(c.softTainted) == 0 {
			c.softTainted = nil
		}
	case c.softTainted == nil:
		c.softTainted = map[*Node]struct{}{n: {}}
	default:
		c.softTainted[n] = struct{}{}
	}
}

// shapeAdded: the masks of nodes have a shape more.
func (c *affinityChanges) shapeAdded() { c.grouped.masks++ }

// Wants leaves out the changes that are about no node, or open none by themselves: NodeFreed follows where they do.
func (*affinityChanges) Wants() ChangeSet {
	return 1<<AskAdded | 1<<AskRemoved | 1<<AllocationPosted | 1<<AllocationUnposted | 1<<ForeignAdded |
		1<<ForeignRemoved | 1<<NodeAdded | 1<<NodeRemoved | 1<<NodeAttributesChanged | 1<<NodeFreed | 1<<SettingsApplied |
		1<<NodeUsageChanged | 1<<SchedulabilityChanged | 1<<ResourceAdded | 1<<Rebuilding
}

func (a *affinityChanges) On(c *Change) {
	switch c.Kind {
	case NodeUsageChanged, SchedulabilityChanged:
		// the place of the node in the node order, the shapes that fit it, or what its ports refuse may be others
		a.grouped.add(c.Node, len(a.nodes.all))
	case AskAdded:
		a.askAdded(c.Ask)
	case AskRemoved:
		if c.Ask.Constrained() {
			a.tracker.Release(c.Ask.ask.Affinity(), c.Ask.ask.Tags())
		}
	case AllocationPosted:
		a.allocationPosted(c.Ask)
	case AllocationUnposted:
		if a.tracking {
			a.tracker.Unplace(c.Ask.ask.Affinity(), c.Ask.ask.Tags(), c.Ask.node.tracked)
		}
	case ForeignAdded:
		a.foreignAdded(c.Node, c.Foreign)
	case ForeignRemoved:
		if a.tracking {
			a.tracker.Unplace(c.Foreign.affinity(), c.Foreign.Tags, c.Node.tracked)
		}
	case NodeAdded:
		a.nodeAdded(c.Node)
	case NodeRemoved:
		a.nodeRemoved(c.Node)
	case NodeAttributesChanged:
		a.nodeAttributesChanged(c.Node)
	case NodeFreed, SettingsApplied: // an allocation may have ended, or a node may have enough resources now
		a.nodesOpened = a.tracking
	case ResourceAdded:
		a.grouped.invalidate()
	case Rebuilding:
		a.rebuilding()
	}
}

// rebuilding requeues the groups: their indexes are filled again.
func (c *affinityChanges) rebuilding() {
	c.grouped.invalidate()
	for _, group := range c.refused {
		group.clearRefused()
	}
	c.refused = nil
}
