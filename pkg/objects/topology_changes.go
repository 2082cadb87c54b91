package objects

import (
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/topology"
)

// topologyChanges keeps what is free in the topology domains that task groups ask for (ADR 69). As long as no gang with
// a topology was planned it tracks nothing.
type topologyChanges struct {
	nodes   *indexedList[Node] // of the partition
	trees   []*trackedTree
	changed []*Node // since the trees were last up to date; a node may be there twice
	uses    uint64  // how many times a tree was asked for
}

// trackedTree is the domains of some labels, and the applications that need them.
type trackedTree struct {
	*topology.Tree[*Node]
	users  map[*Application]struct{} // whose gangs were planned with it, and that are still there
	usedAt uint64
}

// maxTopologies is for how many lists of labels trees are kept.
const maxTopologies = 16

// tree is the tree of some labels, up to date, for the gang of a. It is made if there is none, in the place of the one
// that was not asked for longest if there are many.
func (c *topologyChanges) tree(a *Application, levels []string) *topology.Tree[*Node] {
	c.update()
	i := slices.IndexFunc(c.trees, func(t *trackedTree) bool { return slices.Equal(t.Levels(), levels) })
	if i < 0 {
		if len(c.trees) == maxTopologies {
			oldest := slices.MinFunc(c.trees, func(t, u *trackedTree) int { return int(t.usedAt) - int(u.usedAt) })
			c.trees = slices.DeleteFunc(c.trees, func(t *trackedTree) bool { return t == oldest })
		}
		i, c.trees = len(c.trees),
			append(c.trees, &trackedTree{newTopologyTree(levels, c.nodes.all), map[*Application]struct{}{}, 0})
	}
	t := c.trees[i]
	c.uses++
	t.usedAt, t.users[a] = c.uses, struct{}{}
	return t.Tree
}

// has reports whether t is kept.
func (c *topologyChanges) has(t *topology.Tree[*Node]) bool {
	return slices.ContainsFunc(c.trees, func(kept *trackedTree) bool { return kept.Tree == t })
}

// newTopologyTree is a tree of nodes, made anew.
func newTopologyTree(levels []string, nodes []*Node) *topology.Tree[*Node] {
	t := topology.New[*Node](slices.Clone(levels))
	for _, n := range nodes {
		t.Update(n, n.info.Label, n.freeInTopology())
	}
	return t
}

// update brings the trees up to date with the nodes that changed.
func (c *topologyChanges) update() {
	for _, n := range c.changed {
		if !n.registered {
			continue
		}
		free := n.freeInTopology()
		for _, t := range c.trees {
			t.Update(n, n.info.Label, free)
		}
	}
	c.changed = c.changed[:0]
}

// freeInTopology is what asks that require no node may use of n, in a new vector: nothing if n is unschedulable, and no
// negative quantity, so that the sum over nodes is at least what fits (GAN-30).
func (n *Node) freeInTopology() (free resources.Vector) {
	if !n.schedulable {
		return nil
	}
	free = make(resources.Vector, len(n.available))
	for k := range free {
		free[k] = max(0, n.free(resources.Index(k)))
	}
	return free
}

// note records that n changed.
func (c *topologyChanges) note(n *Node) {
	c.changed = append(c.changed, n)
	if len(c.changed) > 2*len(c.nodes.all)+64 {
		c.update()
	}
}

// Wants leaves out the changes that are about no node; where they are, NodeUsageChanged comes with them.
func (*topologyChanges) Wants() ChangeSet {
	return 1<<NodeAdded | 1<<NodeUsageChanged | 1<<SchedulabilityChanged | 1<<NodeAttributesChanged | 1<<NodeRemoved |
		1<<ApplicationRemoved
}

func (t *topologyChanges) On(c *Change) {
	if len(t.trees) == 0 {
		return
	}
	switch c.Kind {
	case NodeAdded, NodeUsageChanged, SchedulabilityChanged, NodeAttributesChanged:
		t.note(c.Node)
	case NodeRemoved:
		t.nodeRemoved(c.Node)
	case ApplicationRemoved:
		t.applicationRemoved(c.App)
	}
}

func (c *topologyChanges) nodeRemoved(n *Node) {
	for _, t := range c.trees {
		t.Remove(n)
	}
}

// applicationRemoved forgets the trees that only a needed.
func (c *topologyChanges) applicationRemoved(a *Application) {
	c.trees = slices.DeleteFunc(c.trees, func(t *trackedTree) bool {
		delete(t.users, a)
		return len(t.users) == 0
	})
	if len(c.trees) == 0 {
		c.changed = nil
	}
}
