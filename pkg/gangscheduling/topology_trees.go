package gangscheduling

import (
	"fmt"
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/topology"
)

// topologyTrees keeps what is free in the topology domains that task groups ask for (ADR 69). As long as no gang with
// a topology was planned it tracks nothing.
type topologyTrees struct {
	part    *objects.Partition
	trees   []*trackedTree
	changed []*objects.Node // since the trees were last up to date; a node may be there twice
	uses    uint64          // how many times a tree was asked for
}

// trackedTree is the domains of some labels, and the applications that need them.
type trackedTree struct {
	*TopologyTree
	users  map[*objects.Application]struct{} // whose gangs were planned with it, and that are still there
	usedAt uint64
}

// maxTopologies bounds the lists of labels for which trees are kept.
const maxTopologies = 16

// tree returns the tree of some labels, up to date, for the gang of a. It is made if there is none, in the place of the
// one that was not asked for longest if there are many.
func (c *topologyTrees) tree(a *objects.Application, levels []string) *TopologyTree {
	c.update()
	i := slices.IndexFunc(c.trees, func(t *trackedTree) bool { return slices.Equal(t.Levels(), levels) })
	if i < 0 {
		if len(c.trees) == maxTopologies {
			oldest := slices.MinFunc(c.trees, func(t, u *trackedTree) int { return int(t.usedAt) - int(u.usedAt) })
			c.trees = slices.DeleteFunc(c.trees, func(t *trackedTree) bool { return t == oldest })
		}
		i, c.trees = len(c.trees),
			append(c.trees, &trackedTree{newTopologyTree(levels, c.part), map[*objects.Application]struct{}{}, 0})
	}
	t := c.trees[i]
	c.uses++
	t.usedAt, t.users[a] = c.uses, struct{}{}
	return t.TopologyTree
}

// has reports whether t is kept.
func (c *topologyTrees) has(t *TopologyTree) bool {
	return slices.ContainsFunc(c.trees, func(kept *trackedTree) bool { return kept.TopologyTree == t })
}

// newTopologyTree returns a tree of the nodes of p, made anew.
func newTopologyTree(levels []string, p *objects.Partition) *TopologyTree {
	t := topology.New[*objects.Node](slices.Clone(levels))
	for n := range p.EachNode {
		t.Update(n, n.Constraints().Label, freeInTopology(n))
	}
	return t
}

// update brings the trees up to date with the nodes that changed.
func (c *topologyTrees) update() {
	for _, n := range c.changed {
		if now, _ := c.part.Node(n.ID()); now != n {
			continue // it was removed
		}
		free := freeInTopology(n)
		for _, t := range c.trees {
			t.Update(n, n.Constraints().Label, free)
		}
	}
	c.changed = c.changed[:0]
}

// freeInTopology returns what asks that require no node may use of n, in a new vector: nothing if n is unschedulable,
// and no negative quantity, so that the sum over nodes is at least what fits (GAN-30).
func freeInTopology(n *objects.Node) (free resources.Vector) {
	if !n.Schedulable() {
		return nil
	}
	free = make(resources.Vector, len(n.Available()))
	for k := range free {
		free[k] = max(0, n.Free(resources.Index(k)))
	}
	return free
}

// note records that n changed.
func (c *topologyTrees) note(n *objects.Node) {
	if len(c.trees) == 0 {
		return
	}
	c.changed = append(c.changed, n)
	if len(c.changed) > 2*objects.NodeCount(c.part)+64 {
		c.update()
	}
}

func (c *topologyTrees) nodeRemoved(n *objects.Node) {
	for _, t := range c.trees {
		t.Remove(n)
	}
}

// applicationRemoved forgets the trees that only a needed.
func (c *topologyTrees) applicationRemoved(a *objects.Application) {
	c.trees = slices.DeleteFunc(c.trees, func(t *trackedTree) bool {
		delete(t.users, a)
		return len(t.users) == 0
	})
	if len(c.trees) == 0 {
		c.changed = nil
	}
}

// check counts anew what is free in topology domains. Only applications that are there keep a tree.
func (c *topologyTrees) check(exists func(*objects.Application) bool) error {
	c.update()
	for _, t := range c.trees {
		if err := t.Verify(newTopologyTree(t.Levels(), c.part)); err != nil {
			return err
		}
		for a := range t.users {
			if !exists(a) {
				return fmt.Errorf("topology %v is kept for application %s, which is not there", t.Levels(), a.ID())
			}
		}
		if len(t.users) == 0 {
			return fmt.Errorf("topology %v is kept for no application", t.Levels())
		}
	}
	return nil
}
