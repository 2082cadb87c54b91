package preemption

import (
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// Plan is a way to make room for an ask. Without victims there is room already, or there
// will be when those have gone who were told to.
type Plan struct {
	Ask     *objects.Allocation
	Right   Right
	Node    *objects.Node
	Victims []*objects.Allocation // the one that should stay longest first
}

// Judge is asked whether an ask may run on a node that victims have left. Nil: it may.
type Judge func(x *objects.Allocation, n *objects.Node, victims []*objects.Allocation) bool

// Find looks for the plan that takes the least. ok is false when there is none: then
// nobody need leave.
func Find(p *objects.Partition, x *objects.Allocation, r Right, judge Judge) (best Plan, ok bool) {
	may := candidates(p, x, r)
	for _, n := range nodesFor(p, x, may) {
		plan, found := onNode(p, x, r, n, may[n])
		if found && (!ok || better(plan, best)) && (judge == nil || judge(x, n, plan.Victims)) {
			best, ok = plan, true
		}
	}
	return best, ok
}

// nodesFor are the nodes worth a look, in ID order: where somebody could be taken, or was
// told to leave, or something is held for others.
func nodesFor(p *objects.Partition, x *objects.Allocation, may map[*objects.Node][]*objects.Allocation) []*objects.Node {
	nodes := make([]*objects.Node, 0, len(may))
	for n := range may {
		nodes = append(nodes, n)
	}
	for _, n := range p.Disturbed() {
		if len(may[n]) == 0 && n.Schedulable() && (x.Ask().RequiredNode == "" || x.Ask().RequiredNode == n.ID()) {
			nodes = append(nodes, n)
		}
	}
	slices.SortFunc(nodes, func(a, b *objects.Node) int { return compareIDs(a, b) })
	return nodes
}

// onNode takes off n all who may be taken, and then puts back whoever x does not need gone,
// those first that should stay longest.
func onNode(p *objects.Partition, x *objects.Allocation, r Right, n *objects.Node, may []*objects.Allocation) (Plan, bool) {
	room := n.RoomFor(x)
	for _, y := range n.Leaving() {
		room.Add(y.Shape().Vector())
	}
	fits := func(victims []*objects.Allocation) bool {
		all := slices.Clone(room)
		for _, y := range victims {
			all.Add(y.Shape().Vector())
		}
		return covers(all, x) && p.AllowedWithout(x, victims)
	}
	byImportance(may, r)
	var off []*objects.Allocation
	for _, y := range slices.Backward(may) { // who matters least first: a guarantee may spare the rest
		if r == OfNode || !spared(x, y, off) {
			off = append(off, y)
		}
	}
	if !fits(off) {
		return Plan{}, false
	}
	slices.Reverse(off)
	for i := 0; i < len(off); {
		if without := slices.Concat(off[:i], off[i+1:]); fits(without) {
			off = without
		} else {
			i++
		}
	}
	return Plan{Ask: x, Right: r, Node: n, Victims: off}, true
}

func covers(room resources.Vector, x *objects.Allocation) bool {
	return room.Covers(x.Shape().Vector())
}
