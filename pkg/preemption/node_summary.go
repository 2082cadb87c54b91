package preemption

import (
	"cmp"
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// nodeSummary is the work on a node, but for who accepts no other node or was told to leave: the least
// important first, by number alone until somebody needs more (sortedCandidates). It would free freedBy(i)
// if all were gone that is at most as important as priorityLevels[i], and all if it were gone whole.
type nodeSummary struct {
	candidates      []nodeCandidate
	priorityLevels  []int32              // ascending
	freedPerLevel   []resources.Quantity // by each but the last, one behind the other, width of each
	width           int
	available       resources.Vector // what is available; in flat, as the next
	freedInAll      resources.Vector
	isSorted        bool // workers are in the order of compareCandidates
	hasGroups       bool // somebody may fall with others
	hasBudgets      bool // a budget is about somebody
	mixedProtection bool // somebody agreed to leave and somebody did not, or leads an application
	undisturbed     bool // the node takes work, nobody waits for it and nobody was told to leave it
}

// nodeCandidate is an allocation as a look has to know it. Those of a node lie together: a look meets
// a thousand, and fetching each would take most of its time.
type nodeCandidate struct {
	allocation     *objects.Allocation
	shape          *objects.Shape
	startedAt      int64 // when it began to run, in nanoseconds
	leafIndex      int32 // in roll.leaves
	priority       int32
	softProtection int8 // as softProtectionOf has it
}

// compareCandidates is negative when a matters less than b, by right of priority: see
// compareImportance.
func compareCandidates(a, b nodeCandidate) int {
	if order := cmp.Or(cmp.Compare(a.priority, b.priority), cmp.Compare(a.softProtection, b.softProtection)); order != 0 {
		return order
	}
	return compareAge(&a, &b)
}

// compareAge is negative when a is newer than b. The name, which takes longest to get, settles the rest.
func compareAge(a, b *nodeCandidate) int {
	if order := cmp.Compare(b.startedAt, a.startedAt); order != 0 {
		return order
	}
	return cmp.Compare(b.allocation.Key(), a.allocation.Key())
}

// summarize finds out who is in the crew of a node.
func (l *nodeCache) summarize(n *objects.Node, c *nodeSummary) {
	c.isSorted, c.hasGroups, c.hasBudgets, c.mixedProtection = false, false, false, false
	l.scratchCandidates, l.sortKeys = l.scratchCandidates[:0], l.sortKeys[:0]
	severalLevels := false
	for y := range n.EachAllocation {
		if y.Ask().RequiredNode != "" || l.part.Preempting(y) {
			continue
		}
		w := nodeCandidate{allocation: y, shape: y.Shape(), startedAt: y.BoundAt().UnixNano(), leafIndex: l.leafIndexOf(y.Application().Queue()), priority: y.VictimPriority(), softProtection: softProtectionOf(!y.Ask().Policy.AllowPreemptSelf(), y.Ask().Originator)}
		l.sortKeys = append(l.sortKeys, (int64(w.priority)<<32)|int64(len(l.scratchCandidates)))
		l.scratchCandidates = append(l.scratchCandidates, w)
		c.hasBudgets = c.hasBudgets || len(l.part.BudgetsOf(y)) > 0
		c.hasGroups, c.mixedProtection, severalLevels = c.hasGroups || y.PreemptedAsUnit(), c.mixedProtection || w.softProtection != l.scratchCandidates[0].softProtection, severalLevels || w.priority != l.scratchCandidates[0].priority
	}
	if c.candidates = slices.Grow(c.candidates[:0], len(l.scratchCandidates)); !severalLevels {
		c.candidates = append(c.candidates, l.scratchCandidates...)
		return
	}
	slices.Sort(l.sortKeys)
	for _, key := range l.sortKeys {
		c.candidates = append(c.candidates, l.scratchCandidates[uint32(key)])
	}
}

// softProtectionOf is 0 for work that agreed to leave, 2 more if it did not, 1 more if it leads an application.
func softProtectionOf(optedOut, originator bool) int8 {
	return int8(2*boolToInt(optedOut) + boolToInt(originator))
}

// sortedCandidates are the workers in the order of compareCandidates. Most are never asked for, and to sort
// them all would take most of the time of the first look.
func (c *nodeSummary) sortedCandidates() []nodeCandidate {
	if !c.isSorted {
		c.isSorted = true
		slices.SortFunc(c.candidates, compareCandidates)
	}
	return c.candidates
}

// computeFreed finds out what goes with whom. Requires: all is nothing yet.
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

// freedBy is what would be free if all were gone that is at most as important as priorityLevels[i].
func (c *nodeSummary) freedBy(i int) resources.Vector {
	if i == len(c.priorityLevels)-1 {
		return c.freedInAll
	}
	return c.freedPerLevel[i*c.width : (i+1)*c.width]
}

// rank is the rank of a node with so much room, for who asks for v.
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
