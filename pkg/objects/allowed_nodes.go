package objects

import (
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/affinity"
	"github.com/canopy-scheduler/canopy/pkg/feasibility"
)

// allowedNodes is, for asks of one kind, the nodes in node order that the constraints on single nodes leave to it, in an
// index for each domain of the larger topology that its constraints are about. So a search passes over refused nodes, and
// over refused domains, without a look at each. It is brought up to date when it is searched (ADR 67).
type allowedNodes struct {
	check    affinity.Check
	division affinity.Division
	version  uint64 // affinity.Check.NodeVersion
	upTo     uint64 // changes of nodes that are in the indexes, as a position in allowedNodesCache
	usedAt   uint64 // when it was last searched

	order   *feasibility.Order[*Node]
	indexes []*feasibility.Index[*Node] // by domain, from that of nodes without one on
	entries []feasibility.Entry[*Node]  // by the slot of the node
	in      []int32                     // by the slot of the node: which of indexes has it; -1: none
	joining []*Node                     // schedulable nodes that were not in the node order yet
}

// maxAllowedNodes is for how many kinds of asks allowedNodes are kept.
const maxAllowedNodes = 16

// allowedNodesCache has the allowedNodes of the kinds that were last searched, and the nodes that changed since.
type allowedNodesCache struct {
	kinds    []*allowedNodes
	searches uint64
	changed  []*Node // since the position base
	base     uint64
}

// add records that n, of so many nodes, has changed.
func (c *allowedNodesCache) add(n *Node, nodes int) {
	if len(c.kinds) == 0 {
		return
	}
	if c.changed = append(c.changed, n); len(c.changed) > 2*nodes+64 { // to fill anew costs less
		c.invalidate()
	}
}

// invalidate makes each allowedNodes be filled anew before its next search.
func (c *allowedNodesCache) invalidate() {
	c.base += uint64(len(c.changed)) + 1
	c.changed = c.changed[:0]
}

// of is the allowedNodes of the kind of check, up to date; nil: they are not kept.
func (c *allowedNodesCache) of(check affinity.Check, nodes []*Node) *allowedNodes {
	i := slices.IndexFunc(c.kinds, func(k *allowedNodes) bool { return k.check.Same(check) })
	if i < 0 {
		return nil
	}
	k := c.kinds[i]
	d, version := check.Division(), check.NodeVersion()
	if k.upTo < c.base || k.division != d || k.version != version {
		k.division, k.version = d, version
		k.fill(nodes)
	} else {
		k.update(append(k.joining, c.changed[k.upTo-c.base:]...))
	}
	c.searches++
	k.upTo, k.usedAt = c.base+uint64(len(c.changed)), c.searches
	return k
}

// keep begins to keep the allowedNodes of the kind of check, in the place of those that were not searched for longest.
func (c *allowedNodesCache) keep(check affinity.Check) {
	if len(c.kinds) == maxAllowedNodes {
		i := 0
		for j, k := range c.kinds {
			if k.usedAt < c.kinds[i].usedAt {
				i = j
			}
		}
		c.kinds = slices.Delete(c.kinds, i, i+1)
	}
	if len(c.kinds) == 0 {
		c.invalidate()
	}
	k := &allowedNodes{check: check}
	order := feasibility.Order[*Node]{Compare: nodeOrder.Compare, Abbreviate: nodeOrder.Abbreviate}
	order.Entry = func(n *Node) *feasibility.Entry[*Node] { return &k.entries[n.tracked.Slot()] }
	k.order = &order
	c.kinds = append(c.kinds, k)
}

// has reports whether n belongs into k.
func (k *allowedNodes) has(n *Node) bool {
	return n.schedulable && n.entry.Indexed() && k.check.NodeAllowed(n.tracked)
}

// fill makes k anew from all nodes.
func (k *allowedNodes) fill(nodes []*Node) {
	slots := 0
	for _, n := range nodes {
		slots = max(slots, n.tracked.Slot()+1)
	}
	k.entries, k.in = make([]feasibility.Entry[*Node], slots), slices.Repeat([]int32{-1}, slots)
	k.indexes, k.joining = nil, nil
	var members [][]*Node
	for _, n := range nodes {
		if k.note(n); !k.has(n) {
			continue
		}
		i := k.division.Domain(n.tracked) + 1
		for len(members) <= i {
			members = append(members, nil)
		}
		members[i] = append(members[i], n)
		k.entries[n.tracked.Slot()].Mask, k.in[n.tracked.Slot()] = n.entry.Mask, int32(i)
	}
	for _, list := range members {
		x := &feasibility.Index[*Node]{Order: k.order}
		x.Fill(list)
		k.indexes = append(k.indexes, x)
	}
}

// note keeps n in mind if it is schedulable and not in the node order yet.
func (k *allowedNodes) note(n *Node) {
	if n.schedulable && !n.entry.Indexed() {
		k.joining = append(k.joining, n)
	}
}

// update brings k up to date with nodes that changed. All are removed before one is added again: where a node belongs in an
// index follows from the others.
func (k *allowedNodes) update(changed []*Node) {
	for _, n := range changed {
		if i := k.in[n.tracked.Slot()]; i >= 0 {
			k.indexes[i].Reindex(n, false)
			k.in[n.tracked.Slot()] = -1
		}
	}
	k.joining = nil
	for _, n := range changed {
		if k.in[n.tracked.Slot()] >= 0 {
			continue
		}
		if k.note(n); !k.has(n) {
			continue
		}
		i := k.division.Domain(n.tracked) + 1
		for len(k.indexes) <= i {
			k.indexes = append(k.indexes, &feasibility.Index[*Node]{Order: k.order})
		}
		k.entries[n.tracked.Slot()].Mask, k.in[n.tracked.Slot()] = n.entry.Mask, int32(i)
		k.indexes[i].Reindex(n, true)
	}
}

// first is the first node in node order that fits s and that c allows; nil: there is none. In each domain that is not
// refused it is the first that fits, unless further constraints refuse that.
func (k *allowedNodes) first(s *feasibility.Shape, c *NodeCheck) (first *Node) {
	for i, x := range k.indexes {
		n, some := x.First(s.Mask())
		if !some || first != nil && nodeOrder.Compare(first, n) < 0 || !c.check.DomainAllowed(k.division, i-1) {
			continue
		}
		if n.Fits(s) && c.Allows(n) {
			first = n
		} else if n = firstAllowedIn(x, s, c, first); n != nil {
			first = n
		}
	}
	return first
}

// firstAllowedIn is the first node of x that fits s and that c allows, if it comes before a node; nil: any.
func firstAllowedIn(x *feasibility.Index[*Node], s *feasibility.Shape, c *NodeCheck, before *Node) *Node {
	for n := range x.EachWithSlot(s.Slot()) {
		if before != nil && nodeOrder.Compare(before, n) < 0 {
			return nil
		}
		if n.Fits(s) && c.Allows(n) {
			return n
		}
	}
	return nil
}
