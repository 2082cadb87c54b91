package preemption

import (
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/policies"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// IneligibleReason is why an allocation may not be a victim.
type IneligibleReason uint8

// The laws, in the order in which they are asked.
const (
	Eligible                    IneligibleReason = iota
	IneligibleAlreadyPreempting                  // it is already being preempted
	IneligibleRequiredNode                       // it accepts no other node
	IneligibleNoSharedResource                   // it holds no requested resource
	IneligibleSystemPriority                     // it is system work, and the ask is not above it (P7)
	IneligibleOtherLeaf                          // it is in another leaf, and the ask looks in its own only
	IneligibleGuaranteedQueue                    // it is in the queue whose guarantee gives the right
	IneligibleFenced                             // it is beyond a fence of the asker (P6)
	IneligibleQueueDisabled                      // its queue gives up no work (P6)
	IneligibleCoolDown                           // room went round between its leaf and that of the ask too often (P10)
	IneligiblePriority                           // its priority is too high (P3)
	IneligibleGuarantee                          // a queue would fall below its guarantee (P4)
	IneligibleBudget                             // a budget does not allow it to leave, and its queue is strict about that
)

func (l IneligibleReason) String() string {
	return [...]string{
		"eligible", "is already being preempted", "requires this node", "holds no requested resource",
		"has system priority", "is in another leaf queue", "is in the queue whose guarantee is enforced", "is beyond a preemption fence",
		"is in a queue with preemption disabled", "is in a queue that cools down with the queue of the ask", "has too high a priority", "is protected by a queue guarantee",
		"is protected by a disruption budget",
	}[l]
}

// minSystemPriority is the lowest number of work that belongs to the system (priority.md P7).
const minSystemPriority = 2_000_000_000

// victimSearch is the search of one ask by one right. What the laws say of a leaf is found out once.
type victimSearch struct {
	part            *objects.Partition
	cycles          *CycleDetector // nil: nothing is paused
	ask             *objects.Allocation
	reason          Reason
	scope           *objects.Queue // the highest queue that x may look below
	guaranteedQueue *objects.Queue // whose guarantee gives the right
	leafEligibility map[*objects.Queue]queueEligibility
	groups          map[groupKey]*victimGroup // of those that fall together

	victimOrder policies.VictimOrder
	qosCounts   bool // the quality of service counts

	protected map[*objects.Allocation]IneligibleReason // who was spared, and why; nil: nobody asks

	generation uint64              // grows with each know
	leafCache  []cachedEligibility // by number of the leaf in the roll; those of an earlier one do not count
	sortBuffer []nodeCandidate     // scratch of inTurn
}

// queueEligibility is what the laws say of all work in a leaf.
type queueEligibility struct {
	ineligible     IneligibleReason
	commonAncestor *objects.Queue // the lowest queue that the leaf and x are both in; nil by right of the node
	askPriority    int32          // the priority of x as common sees it; by right of the node its own
}

func (h *victimSearch) begin(p *objects.Partition, x *objects.Allocation, r Reason) {
	h.part, h.ask, h.reason, h.scope, h.guaranteedQueue = p, x, r, nil, nil
	if h.leafEligibility == nil {
		h.leafEligibility = map[*objects.Queue]queueEligibility{}
	}
	clear(h.leafEligibility)
	clear(h.groups)
	conf := x.Application().Queue().Settings()
	h.victimOrder, h.qosCounts = conf.VictimOrder, conf.VictimQoS == policies.VictimQoSEnabled
	if r != ReasonRequiredNode {
		h.scope = preemptionScope(x)
	}
	if r == ReasonGuarantee {
		h.guaranteedQueue = entitlingQueue(x)
	}
}

// yunikornCompatible reports whether victims are chosen as upstream chooses them, which does not
// look at priorities (priority.md M6).
func (h *victimSearch) yunikornCompatible() bool {
	return h.reason == ReasonGuarantee && h.victimOrder == policies.VictimOrderCompatible
}

// ineligibleReason is the first law that keeps y where it is, but for guarantees: those depend on who
// else leaves. Who falls with others is kept by whatever keeps one of them.
func (h *victimSearch) ineligibleReason(y *objects.Allocation) IneligibleReason {
	switch {
	case h.part.Preempting(y):
		return IneligibleAlreadyPreempting
	case y.Ask().RequiredNode != "":
		return IneligibleRequiredNode
	case !sharesResource(y, h.ask):
		return IneligibleNoSharedResource
	}
	priority := y.VictimPriority()
	if y.PreemptedAsUnit() {
		group := h.groupOf(y)
		if priority = group.priority; group.requiresNode {
			return IneligibleRequiredNode
		}
	}
	if h.isSystemPriority(priority) {
		return IneligibleSystemPriority
	}
	leaf := y.Application().Queue()
	g := h.eligibility(leaf)
	if g.ineligible != Eligible {
		return g.ineligible
	}
	if h.reason != ReasonRequiredNode {
		priority = leaf.ExposedPriority(priority, g.commonAncestor)
	}
	if h.isTooImportant(priority, &g) {
		return IneligiblePriority
	}
	return Eligible
}

// isSystemPriority reports whether work of that number is out of reach of x as it is system work.
func (h *victimSearch) isSystemPriority(priority int32) bool {
	return priority >= minSystemPriority && h.ask.Ask().Priority <= priority
}

// isTooImportant reports whether work is too important for x, by its number as it is seen where
// g is; by right of the node numbers are compared as they are.
func (h *victimSearch) isTooImportant(priority int32, g *queueEligibility) bool {
	return priority > g.askPriority || priority == g.askPriority && h.reason == ReasonPriority
}

func (h *victimSearch) eligibility(leaf *objects.Queue) queueEligibility {
	g, cached := h.leafEligibility[leaf]
	if !cached {
		g = h.computeEligibility(leaf)
		h.leafEligibility[leaf] = g
	}
	return g
}

func (h *victimSearch) computeEligibility(leaf *objects.Queue) queueEligibility {
	askLeaf := h.ask.Application().Queue()
	if h.reason != ReasonRequiredNode { // who needs this node needs it, whosever work is there
		if reason := h.outOfScopeReason(askLeaf, leaf); reason != Eligible {
			return queueEligibility{ineligible: reason}
		}
	}
	if h.cycles != nil && h.cycles.CoolingDown(askLeaf.Path(), leaf.Path()) {
		return queueEligibility{ineligible: IneligibleCoolDown}
	}
	if h.reason == ReasonRequiredNode {
		return queueEligibility{askPriority: h.ask.Ask().Priority}
	}
	common := lowestCommonAncestor(askLeaf, leaf)
	return queueEligibility{commonAncestor: common, askPriority: h.ask.ExposedPriority(common)}
}

func (h *victimSearch) outOfScopeReason(askLeaf, leaf *objects.Queue) IneligibleReason {
	switch {
	case h.reason == ReasonPriority && askLeaf.Settings().PriorityPreemption == policies.PriorityPreemptionLeaf && leaf != askLeaf:
		return IneligibleOtherLeaf
	case h.guaranteedQueue != nil && h.guaranteedQueue.IsSelfOrAncestorOf(leaf):
		return IneligibleGuaranteedQueue
	case !h.scope.IsSelfOrAncestorOf(leaf):
		return IneligibleFenced
	case leaf.Settings().PreemptionPolicy == policies.PreemptDisabled:
		return IneligibleQueueDisabled
	}
	return Eligible
}

// protectedByGuarantee reports whether a guarantee keeps y in its place, once victims have gone
// (priority.md P4). The owner of a leaf chooses freely within it, and who needs this node
// needs it all the same.
func (h *victimSearch) protectedByGuarantee(y *objects.Allocation, victims []*objects.Allocation) bool {
	if h.reason == ReasonRequiredNode {
		return false
	}
	leaf := y.Application().Queue()
	for q, common := leaf, h.eligibility(leaf).commonAncestor; q != common; q = q.Parent() {
		if q.ProtectedByGuarantee(y, victims) {
			return true
		}
	}
	return false
}

// hasGuaranteeBelow reports whether a queue from a leaf up to another has a guarantee. That itself
// does not count.
func (h *victimSearch) hasGuaranteeBelow(leaf, above *objects.Queue) bool {
	for q := leaf; q != above; q = q.Parent() {
		if !q.Guaranteed().IsEmpty() {
			return true
		}
	}
	return false
}

// sharesResource reports whether y holds something of what x asks for.
func sharesResource(y, x *objects.Allocation) bool {
	return holdsAnyOf(y.Shape().Vector(), x.Shape().Vector())
}

func holdsAnyOf(held, wanted resources.Vector) bool {
	for k, n := range wanted {
		if n > 0 && k < len(held) && held[k] > 0 {
			return true
		}
	}
	return false
}

// lowestCommonAncestor is the lowest queue that two leaves are both in.
func lowestCommonAncestor(a, b *objects.Queue) *objects.Queue {
	for !a.IsSelfOrAncestorOf(b) {
		a = a.Parent()
	}
	return a
}
