package victim

import (
	"fmt"
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// VictimsByBothSelectors returns the victims on each node, as minimalVictims and as selectVictimsOnNode select them.
// Nodes where minimalVictims is not exact are left out. Plans that differ in anything but victims have a nil in
// full.
func VictimsByBothSelectors(s *Search, x *objects.Allocation, r Reason) (minimal, full [][]*objects.Allocation) {
	s.current.begin(s.part, x, r)
	s.selector.begin(&s.current)
	s.cache.sync()
	s.current.resetLeafCache(&s.cache)
	for index, n := range s.cache.nodes {
		plan, found, exact := s.selector.minimalVictims(&s.cache, index)
		if !exact {
			continue
		}
		if found {
			plan.Victims = s.selector.minimalVictimList()
		}
		minimal = append(minimal, slices.Clone(plan.Victims))
		fromFull, foundFull := s.selector.selectVictimsOnNode(n)
		full = append(full, slices.Clone(fromFull.Victims))
		if found != foundFull || found &&
			(plan.cost != fromFull.cost || plan.Reason != fromFull.Reason || plan.Node != fromFull.Node) {
			full[len(full)-1] = append(fromFull.Victims, nil) // the plans differ
		}
	}
	return minimal, full
}

// CandidatesByFullSelection are s.Candidates(plan) by a selection of victims, which it makes only if it must.
func CandidatesByFullSelection(s *Search, plan Plan) []Candidate {
	s.current.begin(s.part, plan.Ask, plan.Reason)
	return s.candidates(plan, true)
}

// NodeCacheDump returns the node cache of s, up to date, as text.
func NodeCacheDump(s *Search) (lines []string) {
	l := &s.cache
	l.sync()
	for i, n := range l.nodes {
		c := &l.summaries[i]
		line := fmt.Sprint(n.ID(), l.indexOf[n] == i, c.available, c.freedInAll, c.priorityLevels, c.hasGroups, c.hasBudgets,
			c.mixedProtection, c.undisturbed, l.singlePriority[i], " ",
			l.quantities[2*l.resourceKinds*i:2*l.resourceKinds*(i+1)])
		for level := range c.priorityLevels {
			v := c.freedBy(level) // shorter than width, if resources were added since
			line += fmt.Sprint(append(slices.Clone(v), make(resources.Vector, l.resourceKinds-len(v))...))
		}
		for _, w := range c.sortedCandidates() {
			line += fmt.Sprint(" ", w.allocation.Key(), w.shape.Vector(), w.startedAt, w.priority, w.softProtection,
				l.leaves[w.leafIndex].Path())
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

// NodeHeapOrder returns the indexes that a nodeHeap with these entries yields.
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

// FillUpdateLog fills the list of refreshed nodes up to its bound: the sync after the next change rebuilds the
// cache and gives leaves other indexes.
func FillUpdateLog(s *Search) {
	s.cache.sync()
	for len(s.cache.updates) < 4*len(s.cache.nodes)+64 {
		s.cache.updates = append(s.cache.updates, 0)
	}
}

// CachedLeaves returns how many leaves the node cache has.
func CachedLeaves(s *Search) int {
	s.cache.sync()
	return len(s.cache.leaves)
}

// ChangedNodes is the length of the list of nodes to refresh.
func ChangedNodes(s *Search) int { return len(s.cache.changedNodes) }
