package preemption

import (
	"fmt"
	"slices"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// DropOldTransfers forgets what does not count any more, now and not only when there is much of it.
func DropOldTransfers(c *CycleDetector, now time.Time) {
	c.dropOldAt = 0
	c.dropOldTransfers(now)
}

// TrackedTransfers is how much c keeps in mind.
func TrackedTransfers(c *CycleDetector) int { return len(c.transfers) + len(c.lastGain) }

// VictimsByBothSelectors is, node by node, who would have to leave as least finds out, and as selectVictimsOnNode does.
// Where least is not sure, neither is told.
func VictimsByBothSelectors(s *Search, x *objects.Allocation, r Reason) (minimal, full [][]*objects.Allocation) {
	s.current.begin(s.part, x, r)
	s.selector.begin(&s.current)
	s.cache.sync()
	s.current.resetLeafCache(&s.cache)
	for index, n := range s.cache.nodes {
		plan, found, sure := s.selector.minimalVictims(&s.cache, index)
		if !sure {
			continue
		}
		minimal = append(minimal, slices.Clone(plan.Victims))
		fromFull, foundFull := s.selector.selectVictimsOnNode(n)
		full = append(full, slices.Clone(fromFull.Victims))
		if found != foundFull || found && (plan.cost != fromFull.cost || plan.Reason != fromFull.Reason || plan.Node != fromFull.Node) {
			full[len(full)-1] = append(fromFull.Victims, nil) // it differs
		}
	}
	return minimal, full
}

// NodeCacheDump is all that s knows about nodes, up to date, as text.
func NodeCacheDump(s *Search) (lines []string) {
	l := &s.cache
	l.sync()
	for i, n := range l.nodes {
		c := &l.summaries[i]
		line := fmt.Sprint(n.ID(), l.indexOf[n] == i, c.available, c.freedInAll, c.priorityLevels, c.hasGroups, c.hasBudgets, c.mixedProtection, c.undisturbed, l.singlePriority[i], " ",
			l.quantities[2*l.resourceKinds*i:2*l.resourceKinds*(i+1)])
		for level := range c.priorityLevels {
			v := c.freedBy(level) // which may be short, if there are more kinds of resources since
			line += fmt.Sprint(append(slices.Clone(v), make(resources.Vector, l.resourceKinds-len(v))...))
		}
		for _, w := range c.sortedCandidates() {
			line += fmt.Sprint(" ", w.allocation.Key(), w.shape.Vector(), w.startedAt, w.priority, w.softProtection, l.leaves[w.leafIndex].Path())
		}
		lines = append(lines, line)
	}
	var leaves []string
	for number, nodes := range l.nodesOfLeaf {
		if len(nodes) > 0 {
			leaves = append(leaves, fmt.Sprint(l.leaves[number].Path(), nodes))
		}
	}
	slices.Sort(leaves)
	return append(lines, leaves...)
}

// NodeHeapOrder are places in the order of a nodeHeap.
func NodeHeapOrder(ranks []int64, indexes []int32) (order []int) {
	var q nodeHeap
	for i, rank := range ranks {
		q = append(q, rankedNode{rank, indexes[i]})
	}
	q.each(func(index int) bool {
		order = append(order, index)
		return true
	})
	return order
}

// FillUpdateLog makes the list of what was renewed as long as it may be: the next look but one lists all
// nodes anew, and gives leaves other numbers.
func FillUpdateLog(s *Search) {
	s.cache.sync()
	for len(s.cache.updates) < 4*len(s.cache.nodes)+64 {
		s.cache.updates = append(s.cache.updates, 0)
	}
}

// CachedLeaves is how many leaves s knows.
func CachedLeaves(s *Search) int {
	s.cache.sync()
	return len(s.cache.leaves)
}
