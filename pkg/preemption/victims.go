package preemption

import (
	"cmp"
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/policies"
)

// system is the lowest number of work that belongs to the system (priority.md P7).
const system = 2_000_000_000

// candidates are the allocations that x could take by right r, node by node.
func candidates(p *objects.Partition, x *objects.Allocation, r Right) map[*objects.Node][]*objects.Allocation {
	found := map[*objects.Node][]*objects.Allocation{}
	add := func(y *objects.Allocation) {
		if !p.Leaving(y) && y.Ask().RequiredNode == "" && y.Node().Schedulable() && helps(y, x) && outranks(x, y, r) {
			found[y.Node()] = append(found[y.Node()], y)
		}
	}
	leaf := x.Application().Queue()
	switch {
	case r == OfNode:
		if n, ok := p.Node(x.Ask().RequiredNode); ok {
			for _, y := range n.Work() {
				add(y)
			}
		}
	case r == OfPriority && leaf.Settings().PrioritySwap == policies.PrioritySwapLeaf:
		eachIn(leaf, nil, add)
	case r == OfPriority:
		eachIn(reach(x), nil, add)
	default:
		eachIn(reach(x), owed(x), add)
	}
	return found
}

// eachIn yields the allocations below q whose leaf may give up work, without those below
// except.
func eachIn(q, except *objects.Queue, yield func(*objects.Allocation)) {
	if q == except {
		return
	}
	for _, child := range q.Children() {
		eachIn(child, except, yield)
	}
	if q.Leaf() && q.Settings().Preemption != policies.PreemptDisabled {
		for _, a := range q.Applications() {
			for y := range a.Bound {
				yield(y)
			}
		}
	}
}

// helps reports whether y holds something of what x asks for.
func helps(y, x *objects.Allocation) bool {
	for k, n := range x.Shape().Vector() {
		if n > 0 && k < len(y.Shape().Vector()) && y.Shape().Vector()[k] > 0 {
			return true
		}
	}
	return false
}

// outranks reports whether the priorities let x take y: as they are seen from the lowest
// queue that both are in, y below x, or at most equal where x has a right of its own. For a
// required node the plain numbers count. User work never takes system work.
func outranks(x, y *objects.Allocation, r Right) bool {
	own, other := x.Ask().Priority, y.Ask().Priority
	if other >= system && own <= other {
		return false
	}
	if r == OfNode {
		return other <= own
	}
	common := meeting(x, y)
	own, other = x.Standing(common), y.Standing(common)
	return other < own || other == own && r == OfGuarantee
}

// meeting is the lowest queue that both are in.
func meeting(x, y *objects.Allocation) *objects.Queue {
	q := x.Application().Queue()
	for !q.Above(y.Application().Queue()) {
		q = q.Parent()
	}
	return q
}

// spared reports whether a guarantee keeps y in its place, once victims have gone
// (priority.md P4). The owner of a leaf chooses freely within it.
func spared(x, y *objects.Allocation, victims []*objects.Allocation) bool {
	common := meeting(x, y)
	for q := y.Application().Queue(); q != common; q = q.Parent() {
		if q.Spared(y, victims) {
			return true
		}
	}
	return false
}

// byImportance puts those first that should stay longest.
func byImportance(list []*objects.Allocation, r Right) {
	slices.SortFunc(list, func(a, b *objects.Allocation) int { return -compareImportance(a, b, r) })
}

// compareImportance is positive when a should stay rather than b. By priority, the number
// counts first; by other rights it is whether one agreed to leave, and whether it leads its
// application (P8). Among equals the older stays; the name settles the rest.
func compareImportance(a, b *objects.Allocation, r Right) int {
	number := cmp.Compare(a.Ask().Priority, b.Ask().Priority)
	kind := cmp.Or(
		cmp.Compare(yes(!a.Ask().Policy.Self()), yes(!b.Ask().Policy.Self())),
		cmp.Compare(yes(a.Ask().Originator), yes(b.Ask().Originator)),
	)
	older := cmp.Or(b.BoundAt().Compare(a.BoundAt()), cmp.Compare(b.Key(), a.Key()))
	switch r {
	case OfPriority:
		return cmp.Or(number, kind, older)
	case OfNode:
		return cmp.Or(kind, number, older)
	}
	return cmp.Or(kind, older)
}

func yes(b bool) int {
	if b {
		return 1
	}
	return 0
}
