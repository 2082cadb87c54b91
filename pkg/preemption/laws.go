package preemption

import (
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/policies"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// Law is why an allocation may not be a victim.
type Law uint8

// The laws, in the order in which they are asked.
const (
	MayBeTaken    Law = iota
	IsLeaving         // it was told to leave already
	IsBound           // it accepts no other node
	IsUnrelated       // it holds nothing of what is asked for
	IsSystem          // it is system work, and the ask is not above it (P7)
	IsElsewhere       // it is in another leaf, and the ask looks in its own only
	IsOwed            // it is in the queue whose guarantee gives the right
	IsFenced          // it is beyond a fence of the asker (P6)
	IsDisabled        // its queue gives up no work (P6)
	IsPaused          // room went round between its leaf and that of the ask too often (P10)
	IsAsImportant     // its priority is too high (P3)
	IsGuaranteed      // a queue would fall below its guarantee (P4)
	IsBudgeted        // a budget does not allow it to leave, and its queue is strict about that
)

func (l Law) String() string {
	return [...]string{
		"may be taken", "was told to leave already", "accepts no other node", "holds nothing of what is asked for",
		"is system work", "is in another leaf", "is in the queue that is owed room", "is beyond a fence",
		"is in a queue that gives up no work", "is paused with the queue of the ask", "is too important", "is guaranteed its place",
		"is kept by a disruption budget",
	}[l]
}

// system is the lowest number of work that belongs to the system (priority.md P7).
const system = 2_000_000_000

// hunt is the search of one ask by one right. What the laws say of a leaf is found out once.
type hunt struct {
	part   *objects.Partition
	churn  *Churn // nil: nothing is paused
	x      *objects.Allocation
	right  Right
	top    *objects.Queue // the highest queue that x may look below
	owed   *objects.Queue // whose guarantee gives the right
	leaves map[*objects.Queue]gate
	groups map[kin]*family // of those that fall together

	order   policies.VictimOrder
	quality bool // the quality of service counts

	kept map[*objects.Allocation]Law // who was spared, and why; nil: nobody asks

	look  uint64    // grows with each know
	gates []gateway // by number of the leaf in the roll; those of an earlier one do not count
	turn  []worker  // scratch of inTurn
}

// gate is what the laws say of all work in a leaf.
type gate struct {
	law    Law
	common *objects.Queue // the lowest queue that the leaf and x are both in; nil by right of the node
	own    int32          // the priority of x as common sees it; by right of the node its own
}

func (h *hunt) begin(p *objects.Partition, x *objects.Allocation, r Right) {
	h.part, h.x, h.right, h.top, h.owed = p, x, r, nil, nil
	if h.leaves == nil {
		h.leaves = map[*objects.Queue]gate{}
	}
	clear(h.leaves)
	clear(h.groups)
	conf := x.Application().Queue().Settings()
	h.order, h.quality = conf.VictimOrder, conf.VictimQoS == policies.QoSCounts
	if r != OfNode {
		h.top = reach(x)
	}
	if r == OfGuarantee {
		h.owed = owed(x)
	}
}

// compatible reports whether victims are chosen as upstream chooses them, which does not
// look at priorities (priority.md M6).
func (h *hunt) compatible() bool {
	return h.right == OfGuarantee && h.order == policies.VictimsCompatible
}

// law is the first law that keeps y where it is, but for guarantees: those depend on who
// else leaves. Who falls with others is kept by whatever keeps one of them.
func (h *hunt) law(y *objects.Allocation) Law {
	switch {
	case h.part.Leaving(y):
		return IsLeaving
	case y.Ask().RequiredNode != "":
		return IsBound
	case !helps(y, h.x):
		return IsUnrelated
	}
	number := y.Number()
	if y.Grouped() {
		group := h.groupOf(y)
		if number = group.number; group.bound {
			return IsBound
		}
	}
	if h.isSystem(number) {
		return IsSystem
	}
	leaf := y.Application().Queue()
	g := h.gate(leaf)
	if g.law != MayBeTaken {
		return g.law
	}
	if h.right != OfNode {
		number = leaf.Expose(number, g.common)
	}
	if h.isAsImportant(number, &g) {
		return IsAsImportant
	}
	return MayBeTaken
}

// isSystem reports whether work of that number is out of reach of x as it is system work.
func (h *hunt) isSystem(number int32) bool { return number >= system && h.x.Ask().Priority <= number }

// isAsImportant reports whether work is too important for x, by its number as it is seen where
// g is; by right of the node numbers are compared as they are.
func (h *hunt) isAsImportant(number int32, g *gate) bool {
	return number > g.own || number == g.own && h.right == OfPriority
}

func (h *hunt) gate(leaf *objects.Queue) gate {
	g, known := h.leaves[leaf]
	if !known {
		g = h.judge(leaf)
		h.leaves[leaf] = g
	}
	return g
}

func (h *hunt) judge(leaf *objects.Queue) gate {
	home := h.x.Application().Queue()
	if h.right != OfNode { // who needs this node needs it, whosever work is there
		if law := h.outOfReach(home, leaf); law != MayBeTaken {
			return gate{law: law}
		}
	}
	if h.churn != nil && h.churn.Paused(home.Path(), leaf.Path()) {
		return gate{law: IsPaused}
	}
	if h.right == OfNode {
		return gate{own: h.x.Ask().Priority}
	}
	common := meeting(home, leaf)
	return gate{common: common, own: h.x.Standing(common)}
}

func (h *hunt) outOfReach(home, leaf *objects.Queue) Law {
	switch {
	case h.right == OfPriority && home.Settings().PrioritySwap == policies.PrioritySwapLeaf && leaf != home:
		return IsElsewhere
	case h.owed != nil && h.owed.Above(leaf):
		return IsOwed
	case !h.top.Above(leaf):
		return IsFenced
	case leaf.Settings().Preemption == policies.PreemptDisabled:
		return IsDisabled
	}
	return MayBeTaken
}

// spared reports whether a guarantee keeps y in its place, once victims have gone
// (priority.md P4). The owner of a leaf chooses freely within it, and who needs this node
// needs it all the same.
func (h *hunt) spared(y *objects.Allocation, victims []*objects.Allocation) bool {
	if h.right == OfNode {
		return false
	}
	leaf := y.Application().Queue()
	for q, common := leaf, h.gate(leaf).common; q != common; q = q.Parent() {
		if q.Spared(y, victims) {
			return true
		}
	}
	return false
}

// anyGuarantee reports whether a queue from a leaf up to another has a guarantee. That itself
// does not count.
func (h *hunt) anyGuarantee(leaf, above *objects.Queue) bool {
	for q := leaf; q != above; q = q.Parent() {
		if !q.Guaranteed().IsEmpty() {
			return true
		}
	}
	return false
}

// helps reports whether y holds something of what x asks for.
func helps(y, x *objects.Allocation) bool { return holdsSome(y.Shape().Vector(), x.Shape().Vector()) }

func holdsSome(held, wanted resources.Vector) bool {
	for k, n := range wanted {
		if n > 0 && k < len(held) && held[k] > 0 {
			return true
		}
	}
	return false
}

// meeting is the lowest queue that two leaves are both in.
func meeting(a, b *objects.Queue) *objects.Queue {
	for !a.Above(b) {
		a = a.Parent()
	}
	return a
}
