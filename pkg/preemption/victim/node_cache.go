package victim

import (
	"math"
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/policies"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// nodeCache holds the nodes in ID order with their summaries. It is updated by changes, not rebuilt (PRE-99).
type nodeCache struct {
	part      *objects.Partition
	nodes     []*objects.Node
	indexOf   map[*objects.Node]int // in nodes
	summaries []nodeSummary         // by index of the node

	resourceKinds  int                  // number of resources per row of quantities
	quantities     []resources.Quantity // per node a row of what is available, then a row of what all candidates free
	repels         []bool               // by node: it may keep away an ask without constraints
	singlePriority []int64              // by node: the priority of all candidates, or severalPriorities, or disturbedNode

	leaves            []*objects.Queue // every leaf that had an allocation on a node; candidates refer to them by index
	leafIndex         map[*objects.Queue]int32
	nodesOfLeaf       [][]int32             // by leaf: the indexes of the nodes with candidates of it, ascending
	victimUnits       []policies.VictimUnit // by leaf: its preemption.victim.unit when the summaries were made
	minRuntimes       []minRuntime          // by leaf
	anyMinRuntime     bool                  // one of minRuntimes protects
	marks             []uint64              // scratch, by leaf
	mark              uint64
	scratchCandidates []nodeCandidate // scratch of summarize
	sortKeys          []int64         // of scratchCandidates: the priority, and the index in it

	rebuilds int   // how often rebuild ran
	updates  []int // indexes of the nodes that were refreshed since the last rebuild

	nodesChanged  bool            // nodes were added or removed since the last sync
	configChanged bool            // a configuration came into force
	changedNodes  []*objects.Node // whose free resources or allocations have changed; a node may be there twice
	maxChanged    int             // how long changedNodes may become

	ranked uint64 // SearchStats.NodesRanked
}

// Values of singlePriority that are no priorities.
const (
	severalPriorities = math.MinInt64     // candidates of several priorities, or no candidate
	disturbedNode     = math.MinInt64 + 1 // see nodeRanking.rankDisturbed
)

// sync brings the cache up to date with the partition.
func (l *nodeCache) sync() {
	switch {
	case l.indexOf == nil || len(l.updates) > 4*len(l.nodes)+64:
		l.rebuild(nil, nil)
	case !l.nodesChanged && l.resourceKinds == l.part.ResourceCount():
	case l.mostLeavesAreEmpty():
		l.rebuild(nil, nil)
	default:
		l.rebuild(l.indexOf, l.summaries)
	}
	l.compactChanged()
	for _, n := range l.changedNodes {
		i := l.indexOf[n]
		l.refreshNode(i)
		l.updates = append(l.updates, i)
	}
	l.changedNodes = l.changedNodes[:0]
	if l.configChanged {
		l.configChanged = false
		l.regroup()
	}
}

// compactChanged keeps in changedNodes each node once, and none that was removed.
func (l *nodeCache) compactChanged() {
	seen := make(map[*objects.Node]bool, len(l.changedNodes))
	l.changedNodes = slices.DeleteFunc(l.changedNodes, func(n *objects.Node) bool {
		now, _ := l.part.Node(n.ID())
		gone := now != n || seen[n]
		seen[n] = true
		return gone
	})
	l.maxChanged = 2*len(l.changedNodes) + 64
}

// Wants leaves out what changes neither what a node has free nor who may be a victim on it.
func (*nodeCache) Wants() objects.ChangeSet {
	return 1<<objects.NodeUsageChanged | 1<<objects.SchedulabilityChanged | 1<<objects.NodeAttributesChanged |
		1<<objects.NodeBudgetsChanged | 1<<objects.PreemptionMarked | 1<<objects.PreemptionUnmarked |
		1<<objects.EndOrdered | 1<<objects.NodeAdded | 1<<objects.NodeRemoved | 1<<objects.ConfigurationChanged
}

// On implements objects.Consumer.
func (l *nodeCache) On(c *objects.Change) {
	switch c.Kind {
	case objects.NodeUsageChanged, objects.SchedulabilityChanged, objects.NodeAttributesChanged,
		objects.NodeBudgetsChanged:
		l.noteChanged(c.Node)
	case objects.PreemptionMarked, objects.PreemptionUnmarked, objects.EndOrdered:
		l.noteChanged(c.Ask.Node())
	case objects.NodeAdded, objects.NodeRemoved:
		l.nodesChanged = true
	case objects.ConfigurationChanged:
		l.configChanged = true
	}
}

// noteChanged has n refreshed by the next sync. Placements that follow each other are often on one node.
func (l *nodeCache) noteChanged(n *objects.Node) {
	if end := len(l.changedNodes); end > 0 && l.changedNodes[end-1] == n {
		return
	}
	l.changedNodes = append(l.changedNodes, n)
	if len(l.changedNodes) > max(l.maxChanged, 2*len(l.nodes)+64) { // not taken for long
		l.compactChanged()
	}
}

// mostLeavesAreEmpty reports whether most known leaves have no allocation any more: a rebuild drops them.
func (l *nodeCache) mostLeavesAreEmpty() bool {
	nonEmpty := 0
	for _, nodes := range l.nodesOfLeaf {
		nonEmpty += boolToInt(len(nodes) > 0)
	}
	return len(l.leaves) > 2*nonEmpty+64
}

// regroup refreshes the nodes with candidates of leaves whose preemption.victim.unit has changed, and updates the
// minimum run times. No other setting is cached.
func (l *nodeCache) regroup() {
	var nodes []int32
	l.minRuntimes, l.anyMinRuntime = l.minRuntimes[:0], false
	for number, leaf := range l.leaves {
		l.addMinRuntime(leaf)
		if unit := leaf.VictimUnit(); unit != l.victimUnits[number] {
			l.victimUnits[number] = unit
			nodes = append(nodes, l.nodesOfLeaf[number]...)
		}
	}
	slices.Sort(nodes)
	for _, i := range slices.Compact(nodes) {
		l.refreshNode(int(i))
		l.updates = append(l.updates, int(i))
	}
}

// addMinRuntime appends the minimum run time of a leaf.
func (l *nodeCache) addMinRuntime(leaf *objects.Queue) {
	r := minRuntimeOf(leaf)
	l.minRuntimes, l.anyMinRuntime = append(l.minRuntimes, r), l.anyMinRuntime || r.least > 0
}

// rebuild lists the nodes again. It keeps the summaries of the nodes in before; nil: it keeps none, and leaves get new
// indexes.
func (l *nodeCache) rebuild(before map[*objects.Node]int, summaries []nodeSummary) {
	if before == nil {
		l.changedNodes, l.configChanged = l.changedNodes[:0], false // all nodes are refreshed
		l.leaves, l.victimUnits, l.leafIndex = nil, nil, map[*objects.Queue]int32{}
		l.minRuntimes, l.anyMinRuntime = nil, false
	}
	l.nodesChanged, l.nodes = false, l.part.Nodes()
	l.indexOf, l.summaries, l.updates = make(map[*objects.Node]int, len(l.nodes)), make([]nodeSummary, len(l.nodes)),
		l.updates[:0]
	l.nodesOfLeaf, l.marks, l.mark = make([][]int32, len(l.leaves)), make([]uint64, len(l.leaves)), 0
	l.resourceKinds = l.part.ResourceCount()
	l.quantities, l.singlePriority = make([]resources.Quantity, 2*l.resourceKinds*len(l.nodes)),
		make([]int64, len(l.nodes))
	l.repels = make([]bool, len(l.nodes))
	l.rebuilds++
	for i, n := range l.nodes {
		l.indexOf[n] = i
		oldIndex, known := before[n]
		if !known {
			l.refreshNode(i)
			continue
		}
		l.summaries[i], l.repels[i] = summaries[oldIndex], n.Constraints().Repels()
		c := &l.summaries[i]
		l.setQuantities(i, c.available, c.freedInAll)
		l.classify(i)
		l.indexLeaves(i, nil)
	}
}

// refreshNode summarizes the node at i again.
func (l *nodeCache) refreshNode(i int) {
	n, c := l.nodes[i], &l.summaries[i]
	var before [16]int32
	oldLeaves := l.leavesOf(c, before[:0])
	l.summarize(n, c)
	c.undisturbed = n.Schedulable() && !n.InPreemption() && !n.HeldForReplacement()
	l.repels[i] = n.Constraints().Repels()
	l.setQuantities(i, n.Available(), nil)
	c.computeFreed()
	l.classify(i)
	l.indexLeaves(i, oldLeaves)
}

// setQuantities stores the vectors of the summary at i in its rows of quantities.
func (l *nodeCache) setQuantities(i int, available, freed resources.Vector) {
	c, at := &l.summaries[i], 2*l.resourceKinds*i
	row, freedRow := l.quantities[at:at+l.resourceKinds:at+l.resourceKinds],
		l.quantities[at+l.resourceKinds:at+2*l.resourceKinds:at+2*l.resourceKinds]
	clear(row[copy(row, available):])
	clear(freedRow[copy(freedRow, freed):])
	c.available, c.freedInAll = row, freedRow
}

// classify sets singlePriority of the node at i.
func (l *nodeCache) classify(i int) {
	switch c := &l.summaries[i]; {
	case !c.undisturbed:
		l.singlePriority[i] = disturbedNode
	case len(c.priorityLevels) == 1:
		l.singlePriority[i] = int64(c.priorityLevels[0])
	default:
		l.singlePriority[i] = severalPriorities
	}
}

// leafIndexOf returns the index of a leaf, and adds the leaf if it is unknown.
func (l *nodeCache) leafIndexOf(leaf *objects.Queue) int32 {
	i, known := l.leafIndex[leaf]
	if !known {
		i = int32(len(l.leaves))
		l.leafIndex[leaf] = i
		l.leaves, l.nodesOfLeaf, l.marks = append(l.leaves, leaf), append(l.nodesOfLeaf, nil), append(l.marks, 0)
		l.victimUnits = append(l.victimUnits, leaf.VictimUnit())
		l.addMinRuntime(leaf)
	}
	return i
}

// leavesOf appends the leaves of the candidates, each once, to a list.
func (l *nodeCache) leavesOf(c *nodeSummary, to []int32) []int32 {
	l.mark++
	for i := range c.candidates {
		if leaf := c.candidates[i].leafIndex; l.marks[leaf] != l.mark {
			l.marks[leaf] = l.mark
			to = append(to, leaf)
		}
	}
	return to
}

// indexLeaves updates nodesOfLeaf for the summary at i. before holds the former leaves of its candidates.
func (l *nodeCache) indexLeaves(i int, before []int32) {
	var now [16]int32
	leaves := l.leavesOf(&l.summaries[i], now[:0])
	for _, leaf := range before {
		if l.marks[leaf] != l.mark {
			at, _ := slices.BinarySearch(l.nodesOfLeaf[leaf], int32(i))
			l.nodesOfLeaf[leaf] = slices.Delete(l.nodesOfLeaf[leaf], at, at+1)
		}
	}
	for _, leaf := range leaves {
		if n := len(l.nodesOfLeaf[leaf]); n == 0 || l.nodesOfLeaf[leaf][n-1] < int32(i) { // always true in a rebuild
			l.nodesOfLeaf[leaf] = append(l.nodesOfLeaf[leaf], int32(i))
		} else if at, listed := slices.BinarySearch(l.nodesOfLeaf[leaf], int32(i)); !listed {
			l.nodesOfLeaf[leaf] = slices.Insert(l.nodesOfLeaf[leaf], at, int32(i))
		}
	}
}
