// Package nodeselection finds the nodes for an ask: those that fit it and that other allocations leave to it, the most
// preferred first, and of equals the first in node order (NOD-32, CON-13, CON-28).
//
// It owns the affinity.Tracker of a partition, which it keeps up to date from the journal, and the groups of nodes that
// searches pass over. Which nodes fit an ask is the partition's to know; what the resource manager says of a node, and
// what becomes of an ask that has none, is left to package scheduler.
//
// The rule that must hold: while any ask or allocation has constraints on other allocations, the tracker counts what a
// count from scratch would; while none has, nothing is tracked, and a search costs no more than without this package.
package nodeselection

import (
	"cmp"

	"github.com/canopy-scheduler/canopy/pkg/affinity"
	"github.com/canopy-scheduler/canopy/pkg/objects"
)

// Nodes finds nodes of one partition. It counts the allocations that affinity, anti-affinity and spread select (ADR
// 67), as long as an ask or an allocation has such constraints. It is not safe for concurrent use.
type Nodes struct {
	part        *objects.Partition
	tracker     affinity.Tracker
	tracking    bool                       // tracker has all nodes and allocations
	opened      bool                       // a node may be allowed that was refused, and no Refresh came since
	softTainted map[*objects.Node]struct{} // nodes with a taint with PreferNoSchedule; nil: there are none
	bySlot      []*objects.Node            // by affinity.Node.Slot; of slots in use
	grouped     groupedNodesCache
	maxRefused  int // how many refused nodes a search tries one by one
}

// defaultRefusals is the number of refused nodes that a search tries one by one, unless Options.RefusedNodes says
// otherwise.
const defaultRefusals = 64

// New returns the Nodes of p, which has no node yet. maxRefused is objects.Options.RefusedNodes.
func New(p *objects.Partition, maxRefused int) *Nodes {
	s := &Nodes{part: p, grouped: groupedNodesCache{part: p}, maxRefused: cmp.Or(maxRefused, defaultRefusals)}
	objects.Attach(p, s)
	return s
}

// Opened reports whether a node may be allowed that was refused, and no Refresh came since.
func (s *Nodes) Opened() bool { return s.opened }

// MayRefuse reports whether any allocation has constraints, so that nodes may be refused to asks that have none.
func (s *Nodes) MayRefuse() bool { return s.tracking }

// Refresh requeues the asks to which nodes were refused, if a change may have opened nodes to them, and forgets what is
// not needed any more. The caller must call it before a search, after Partition.RefreshShares: a node that has become
// schedulable joins the node order there.
func (s *Nodes) Refresh() {
	if s.opened {
		s.opened = false
		objects.RequeueConstrained(s.part)
	}
	s.sweep()
}

// sweep forgets what is not needed any more.
func (s *Nodes) sweep() {
	switch {
	case !s.tracking:
	case s.tracker.Active():
		if s.tracker.Sweep() {
			s.grouped.own = nil // some kinds are gone
		}
	default:
		for n := range s.part.EachNode {
			n.AffinityNode = nil
		}
		s.tracker.Reset()
		s.tracking, s.bySlot, s.grouped = false, nil, groupedNodesCache{part: s.part}
	}
}

// track begins to track the nodes and the allocations that there are.
func (s *Nodes) track() {
	s.tracking = true
	for n := range s.part.EachNode {
		s.trackNode(n)
	}
}

func (s *Nodes) trackNode(n *objects.Node) {
	n.AffinityNode = count(&s.tracker, n)
	if slot := n.AffinityNode.Slot(); slot < len(s.bySlot) {
		s.bySlot[slot] = n
	} else {
		s.bySlot = append(s.bySlot, n)
	}
}

// count adds n to a tracker, with what is on it.
func count(t *affinity.Tracker, n *objects.Node) *affinity.Node {
	at := t.AddNode(n.Constraints())
	for x := range n.EachAllocation {
		t.Place(x.Ask().Affinity(), x.Ask().Tags(), at)
	}
	for _, f := range n.Foreign() {
		t.Place(affinityOf(f), f.Tags, at)
	}
	return at
}

// affinityOf returns the constraints of a foreign allocation, which keep others away; nil: none that can be read.
func affinityOf(f *objects.Foreign) *affinity.Ask {
	parsed, _ := affinity.Parse(f.Tags, nil)
	return parsed
}

// Wants leaves out the changes that are about no node, or open none by themselves: NodeFreed follows where they do.
func (*Nodes) Wants() objects.ChangeSet {
	return 1<<objects.AskAdded | 1<<objects.AskRemoved | 1<<objects.AllocationPosted | 1<<objects.AllocationUnposted |
		1<<objects.ForeignAdded | 1<<objects.ForeignRemoved | 1<<objects.NodeAdded | 1<<objects.NodeRemoved |
		1<<objects.NodeAttributesChanged | 1<<objects.NodeFreed | 1<<objects.SettingsApplied |
		1<<objects.NodeUsageChanged | 1<<objects.SchedulabilityChanged | 1<<objects.ResourceAdded | 1<<objects.Rebuilding
}

// On implements objects.Consumer.
func (s *Nodes) On(c *objects.Change) {
	switch c.Kind {
	case objects.NodeUsageChanged, objects.SchedulabilityChanged:
		// the place of the node in the node order, the shapes that fit it, or what its ports refuse may be others
		s.grouped.add(c.Node)
	case objects.AskAdded:
		s.askAdded(c.Ask)
	case objects.AskRemoved:
		if c.Ask.Constrained() {
			s.tracker.Release(c.Ask.Ask().Affinity(), c.Ask.Ask().Tags())
		}
	case objects.AllocationPosted:
		s.placed(c.Ask.Ask().Affinity(), c.Ask.Ask().Tags(), c.Ask.Node())
	case objects.AllocationUnposted:
		if s.tracking {
			s.tracker.Unplace(c.Ask.Ask().Affinity(), c.Ask.Ask().Tags(), c.Ask.Node().AffinityNode)
		}
	case objects.ForeignAdded:
		s.placed(affinityOf(c.Foreign), c.Foreign.Tags, c.Node)
	case objects.ForeignRemoved:
		if s.tracking {
			s.tracker.Unplace(affinityOf(c.Foreign), c.Foreign.Tags, c.Node.AffinityNode)
		}
	case objects.NodeAdded:
		s.nodeAdded(c.Node)
	case objects.NodeRemoved:
		s.nodeRemoved(c.Node)
	case objects.NodeAttributesChanged:
		s.nodeAttributesChanged(c.Node)
	case objects.NodeFreed, objects.SettingsApplied: // an allocation may have ended, or a node may have enough now
		s.opened = s.tracking
	case objects.ResourceAdded, objects.Rebuilding:
		s.grouped.invalidate()
	}
}

func (s *Nodes) askAdded(x *objects.Allocation) {
	if !x.Constrained() {
		return
	}
	if !s.tracking {
		s.track()
	}
	s.tracker.Acquire(x.Ask().Affinity(), x.Ask().Tags())
}

// placed counts an allocation, with constraints a and tags, that is on its node already.
func (s *Nodes) placed(a *affinity.Ask, tags map[string]string, n *objects.Node) {
	switch {
	case s.tracking:
		if opens := s.tracker.Place(a, tags, n.AffinityNode); opens {
			s.opened = true
		}
	case a.Key() != "":
		s.track()
	}
}

// nodeAdded opens no other node: a further domain has no allocations, so it is the one with the fewest. NodeFreed
// follows when n is schedulable.
func (s *Nodes) nodeAdded(n *objects.Node) {
	s.grouped.invalidate()
	s.noteSoftTaints(n, n.Constraints().SoftTainted())
	if s.tracking {
		s.trackNode(n)
	}
}

// nodeRemoved: the domain with the fewest may be gone. The foreign allocations of n go with it.
func (s *Nodes) nodeRemoved(n *objects.Node) {
	s.grouped.invalidate()
	s.noteSoftTaints(n, false)
	if s.tracking {
		s.bySlot[n.AffinityNode.Slot()] = nil
		s.tracker.RemoveNode(n.AffinityNode)
		n.AffinityNode = nil
		s.opened = true
	}
}

// nodeAttributesChanged: NodeFreed follows.
func (s *Nodes) nodeAttributesChanged(n *objects.Node) {
	s.grouped.invalidate()
	s.noteSoftTaints(n, n.Constraints().SoftTainted())
	if s.tracking {
		s.tracker.UpdateNode(n.AffinityNode, n.Constraints())
	}
}

// noteSoftTaints records whether n has a taint with PreferNoSchedule.
func (s *Nodes) noteSoftTaints(n *objects.Node, some bool) {
	switch {
	case !some:
		delete(s.softTainted, n)
		if len(s.softTainted) == 0 {
			s.softTainted = nil
		}
	case s.softTainted == nil:
		s.softTainted = map[*objects.Node]struct{}{n: {}}
	default:
		s.softTainted[n] = struct{}{}
	}
}
