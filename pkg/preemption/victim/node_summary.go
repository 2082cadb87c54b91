package victim

import (
	"cmp"
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/feasibility"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// nodeSummary holds the candidates of a node: its allocations that pass ineligibleForAll. They are sorted by ascending
// priority, and in full victim order once sortedCandidates was called. The release of all candidates up to
// priorityLevels[i] frees freedBy(i); the release of all frees freedInAll.
type nodeSummary struct {
	candidates      []nodeCandidate
	priorityLevels  []int32              // ascending
	freedPerLevel   []resources.Quantity // vectors of all levels but the last, one after another, of width quantities each
	width           int
	available       resources.Vector // of the node; a row in nodeCache.quantities
	freedInAll      resources.Vector
	isSorted        bool // candidates are in the order of compareCandidates
	hasGroups       bool // a candidate may belong to a victim group
	hasBudgets      bool // a disruption budget selects a candidate
	mixedProtection bool // the candidates differ in softProtection
	undisturbed     bool // the node is schedulable, and nothing on it is preempting or held for asks
}

// nodeCandidate holds what a search needs of an allocation. The candidates of a node are contiguous in memory: a
// search reads a thousand, and following a pointer to each would take most of its time (PRE-101).
type nodeCandidate struct {
	allocation     *objects.Allocation
	shape          *feasibility.Shape
	startedAt      int64 // in nanoseconds
	leafIndex      int32 // in nodeCache.leaves
	priority       int32
	softProtection int8 // see softProtectionOf
	young          bool // at the time of a search; set by markYoung only
}

// compareCandidates returns a negative number when a is less important than b by reason of priority, see
// compareImportance.
func compareCandidates(a, b nodeCandidate) int {
	if order := cmp.Or(cmp.Compare(a.priority, b.priority), cmp.Compare(a.softProtection, b.softProtection)); order != 0 {
		return order
	}
	return compareAge(&a, &b)
}

// compareAge returns a negative number when a is newer than b, or of the same age with the larger key. Keys are
// compared last, because reading them costs most.
func compareAge(a, b *nodeCandidate) int {
	if order := cmp.Compare(b.startedAt, a.startedAt); order != 0 {
		return order
	}
	return cmp.Compare(b.allocation.Key(), a.allocation.Key())
}

// summarize fills the candidates and flags of c with the allocations of n.
func (l *nodeCache) summarize(n *objects.Node, c *nodeSummary) {
	c.isSorted, c.hasGroups, c.hasBudgets, c.mixedProtection = false, false, false, false
	l.scratchCandidates, l.sortKeys = l.scratchCandidates[:0], l.sortKeys[:0]
	severalLevels := false
	for y := range n.EachAllocation {
		if ineligibleForAll(l.part, y) != Eligible {
			continue
		}
		w := nodeCandidate{allocation: y, shape: y.Shape(), startedAt: y.BoundAt().UnixNano(),
			leafIndex: l.leafIndexOf(y.Application().Queue()), priority: VictimPriority(y),
			softProtection: softProtectionOf(!y.Ask().Policy.AllowPreemptSelf(), y.Ask().Originator)}
		l.sortKeys = append(l.sortKeys, (int64(w.priority)<<32)|int64(len(l.scratchCandidates)))
		l.scratchCandidates = append(l.scratchCandidates, w)
		c.hasBudgets = c.hasBudgets || len(l.part.BudgetsOf(y)) > 0
		c.hasGroups, c.mixedProtection, severalLevels = c.hasGroups || PreemptedAsUnit(y), c.mixedProtection ||
			w.softProtection != l.scratchCandidates[0].softProtection, severalLevels ||
			w.priority != l.scratchCandidates[0].priority
	}
	c.candidates = slices.Grow(c.candidates[:0], len(l.scratchCandidates))
	if !severalLevels {
		c.candidates = append(c.candidates, l.scratchCandidates...)
		return
	}
	slices.Sort(l.sortKeys)
	for _, key := range l.sortKeys {
		c.candidates = append(c.candidates, l.scratchCandidates[uint32(key)])
	}
}

// softProtectionOf returns 2 for an allocation that opted out (it has no allowPreemptSelf), plus 1 for an originator
// (PRE-36).
func softProtectionOf(optedOut, originator bool) int8 {
	return int8(2*boolToInt(optedOut) + boolToInt(originator))
}

// sortedCandidates returns the candidates in the order of compareCandidates. They are sorted on first use: most nodes
// are never tried, and sorting all would take most of the time of the first search.
func (c *nodeSummary) sortedCandidates() []nodeCandidate {
	if !c.isSorted {
		c.isSorted = true
		slices.SortFunc(c.candidates, compareCandidates)
	}
	return c.candidates
}

// computeFreed computes what each priority level frees. Requires: freedInAll is zero.
func (c *nodeSummary) computeFreed() {
	c.priorityLevels, c.freedPerLevel, c.width = c.priorityLevels[:0], c.freedPerLevel[:0], len(c.freedInAll)
	for i := range c.candidates {
		w := &c.candidates[i]
		if k := len(c.priorityLevels); k == 0 || c.priorityLevels[k-1] != w.priority {
			if k > 0 {
				c.freedPerLevel = append(c.freedPerLevel, c.freedInAll...)
			}
			c.priorityLevels = append(c.priorityLevels, w.priority)
		}
		c.freedInAll.Add(w.shape.Vector())
	}
}

// freedBy returns the resources that the release of all candidates up to priorityLevels[i] frees.
func (c *nodeSummary) freedBy(i int) resources.Vector {
	if i == len(c.priorityLevels)-1 {
		return c.freedInAll
	}
	return c.freedPerLevel[i*c.width : (i+1)*c.width]
}

// rank returns the rank of a node with this much available, for an ask that requests v.
func (c *nodeSummary) rank(available, v resources.Vector) int64 {
	if available.Covers(v) {
		return rankFits
	}
	for i, upTo := range c.priorityLevels {
		if sumCovers(available, c.freedBy(i), v) {
			return int64(upTo)
		}
	}
	return rankInfeasible
}
