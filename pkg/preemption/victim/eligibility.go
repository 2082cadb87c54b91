package victim

import (
	"github.com/canopy-scheduler/canopy/pkg/feasibility"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/policies"
	"github.com/canopy-scheduler/canopy/pkg/preemption/fairshare"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// IneligibleReason names the eligibility check that keeps an allocation from being a victim (PRE-21).
type IneligibleReason uint8

// The eligibility checks, in the order in which they run; the first that fails is the reason.
const (
	Eligible                    IneligibleReason = iota
	IneligibleAlreadyPreempting                  // it is preempting already (PRE-22)
	IneligibleEnding                             // its release is ordered already (GAN-11, RUN-5)
	IneligibleRequiredNode                       // it has a required node (PRE-23)
	IneligibleNoSharedResource                   // it holds no resource that the ask requests (PRE-24)
	IneligibleSystemPriority                     // it has system priority, and the ask has no higher one (PRE-25)
	IneligibleOtherLeaf                          // it is in another leaf, and preemption.priority is "leaf" (PRE-26)
	IneligibleGuaranteedQueue                    // it is in the queue whose guarantee entitles the ask (PRE-27)
	IneligibleFenced                             // it is outside the preemption fence of the ask (PRE-19)
	IneligibleQueueDisabled                      // preemption.policy of its leaf is disabled (PRE-28)
	IneligibleCoolDown                           // its leaf and the leaf of the ask are in a cool-down (PRE-105)
	IneligiblePriority                           // its priority is too high (PRE-29, PRE-30)
	IneligibleYoung                              // it has run for less than its minimum run time (PRE-124)
	IneligibleNotShared                          // no queue shares fairly between it and the ask (PRE-126)
	IneligibleWithinShare                        // its side is not above its fair share (PRE-126)
	IneligibleGuarantee                          // a queue would be below its guarantee without it (PRE-34)
	IneligibleFairShare                          // its side would be behind that of the ask (PRE-130, PRE-131)
	IneligibleBudget                             // it is beyond a disruption budget, and its queue is strict (PRE-68)
)

func (l IneligibleReason) String() string {
	return [...]string{
		"eligible", "is already being preempted", "ends already", "requires this node",
		"holds no requested resource",
		"has system priority", "is in another leaf queue", "is in the queue whose guarantee is enforced",
		"is beyond a preemption fence",
		"is in a queue with preemption disabled", "is in a queue that cools down with the queue of the ask",
		"has too high a priority", "has run for less than its minimum run time",
		"shares nothing fairly with the ask", "is within a fair share", "is protected by a queue guarantee",
		"is protected by a fair share", "is protected by a disruption budget",
	}[l]
}

// minSystemPriority is the lowest system priority (PRE-25).
const minSystemPriority = 2_000_000_000

// victimSearch is the search for one ask by one preemption reason. It computes the eligibility of each leaf once.
type victimSearch struct {
	part            *objects.Partition
	coolDowns       CoolDowns // nil: there are none
	ask             *objects.Allocation
	reason          Reason
	scope           *objects.Queue // the highest queue whose allocations may be victims; nil for a required node
	guaranteedQueue *objects.Queue // the queue whose guarantee entitles the ask; nil by other reasons
	// what the ask requests beyond that guarantee: it has no victims for it (PRE-121)
	beyondGuarantee resources.Vector
	shares          *fairshare.Shares
	fair            fairShares // empty by other reasons
	ages            youngAges
	leafEligibility map[*objects.Queue]queueEligibility
	groups          map[groupKey]*victimUnit // the victim groups met so far

	victimOrder policies.VictimOrder
	qosCounts   bool // preemption.victim.qos is enabled

	// units that a guarantee or a budget protects, for reports; nil: not recorded
	protected map[*objects.Allocation]IneligibleReason

	generation uint64              // incremented by each resetLeafCache
	leafCache  []cachedEligibility // by index of the leaf in the node cache; entries of earlier generations are stale
	sortBuffer []nodeCandidate     // scratch of inVictimOrder
}

// queueEligibility holds the results of the eligibility checks that are equal for all allocations of a leaf.
type queueEligibility struct {
	ineligible     IneligibleReason
	commonAncestor *objects.Queue // of the leaf and the leaf of the ask; nil for a required node
	askPriority    int32          // the priority of the ask as commonAncestor sees it; for a required node the plain one
	minRuntime     minRuntime
}

// cachedEligibility is the eligibility of a leaf, with the last results for a priority and a candidate of it.
type cachedEligibility struct {
	queueEligibility
	generation      uint64 // of victimSearch.generation; another one: stale
	exposedKnown    bool   // priority and exposedPriority are set
	priority        int32  // of the last candidate
	exposedPriority int32  // priority, as commonAncestor sees it

	// the queues from the leaf up to commonAncestor with a guarantee, in guaranteeTotals
	guaranteed      []int32
	quotas          quotaSet           // the shortfalls that any allocation of the leaf reduces
	checkedShape    *feasibility.Shape // of the last checked candidate; nil: none was
	checkedPriority int32
	checkedEligible bool
}

// begin starts a search at h.ages.now. The caches of the search before are cleared.
func (h *victimSearch) begin(p *objects.Partition, x *objects.Allocation, r Reason) {
	h.part, h.ask, h.reason, h.scope, h.guaranteedQueue, h.beyondGuarantee = p, x, r, nil, nil, nil
	h.ages.nextEnd = 0
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
		h.guaranteedQueue, h.beyondGuarantee = entitlingQueue(x)
	}
	h.fair = fairShares{}
	if r == ReasonFairShare {
		h.fair = fairSharesOf(h.shares, x)
	}
}

// yunikornCompatible reports whether the victim order is that of YuniKorn, which ignores priorities: by reason of the
// guarantee, with preemption.victim.order: compatible (PRE-42, PRE-43).
func (h *victimSearch) yunikornCompatible() bool {
	return h.reason == ReasonGuarantee && h.victimOrder == policies.VictimOrderCompatible
}

// ineligibleForAll says why y can never be a victim of an ask or of a quota (PRE-22, PRE-23, QUO-53). The node cache
// keeps the allocations that pass it, so none of what it reads may change without the node being reported as changed.
func ineligibleForAll(p *objects.Partition, y *objects.Allocation) IneligibleReason {
	switch {
	case p.Preempting(y):
		return IneligibleAlreadyPreempting
	case objects.Ending(p, y):
		return IneligibleEnding
	case y.Ask().RequiredNode() != "":
		return IneligibleRequiredNode
	}
	return Eligible
}

// candidateFacts holds the properties of an allocation that ineligibleForAsk reads.
type candidateFacts struct {
	shape             *feasibility.Shape
	priority          int32 // for victims, see VictimPriority; of a member that of its victim group (PRE-51)
	groupRequiresNode bool  // a member of its victim group has a required node
	startedAt         int64 // in nanoseconds; of a member that of the oldest in its group
}

// ineligibleForAsk says why an allocation that passes ineligibleForAll may not be a victim of the ask: the first
// eligibility check that it fails (PRE-21). Every search, report and dry run decides by this function. g is about the
// leaf of the allocation. Guarantees and budgets are not checked here: they depend on the other victims, see
// victimSelector.protectionOf.
func (h *victimSearch) ineligibleForAsk(f candidateFacts, leaf *objects.Queue, g *cachedEligibility) IneligibleReason {
	switch {
	case !holdsAnyOf(f.shape.Vector(), h.ask.Shape().Vector()):
		return IneligibleNoSharedResource
	case f.groupRequiresNode:
		return IneligibleRequiredNode
	case hasSystemPriority(f.priority) && h.ask.Ask().Priority <= f.priority: // plain priorities (PRE-25)
		return IneligibleSystemPriority
	case g.ineligible != Eligible:
		return g.ineligible
	case h.isTooImportant(h.exposedPriority(f.priority, leaf, g), &g.queueEligibility):
		return IneligiblePriority
	case g.minRuntime.strict && h.ages.isYoung(g.minRuntime, f.startedAt):
		return IneligibleYoung
	}
	return Eligible
}

// ineligibleReason says why y may not be a victim of the ask (PRE-21). A member of a victim group is ineligible if
// any member has a required node, and has the priority of the group (PRE-51, PRE-52).
func (h *victimSearch) ineligibleReason(y *objects.Allocation) IneligibleReason {
	if reason := ineligibleForAll(h.part, y); reason != Eligible {
		return reason
	}
	f := candidateFacts{shape: y.Shape(), priority: VictimPriority(y), startedAt: y.BoundAt().UnixNano()}
	if PreemptedAsUnit(y) {
		group := h.groupOf(y)
		f.priority, f.groupRequiresNode, f.startedAt = group.priority, group.requiresNode, group.startedAt
	}
	leaf := y.Application().Queue()
	g := cachedEligibility{queueEligibility: h.eligibility(leaf)}
	if reason := h.ineligibleForAsk(f, leaf, &g); reason != Eligible || h.reason != ReasonFairShare {
		return reason
	}
	return h.fair.ineligible(y.Application(), g.commonAncestor)
}

// hasSystemPriority reports whether a priority for victims is a system priority (PRE-25, QUO-53, PRE-120).
func hasSystemPriority(priority int32) bool { return priority >= minSystemPriority }

// exposedPriority returns a priority of a leaf as the common ancestor of g sees it; for a required node the plain
// priority (PRE-32).
func (h *victimSearch) exposedPriority(priority int32, leaf *objects.Queue, g *cachedEligibility) int32 {
	if h.reason == ReasonRequiredNode {
		return priority
	}
	if !g.exposedKnown || g.priority != priority {
		g.exposedKnown, g.priority, g.exposedPriority = true, priority, leaf.ExposedPriority(priority, g.commonAncestor)
	}
	return g.exposedPriority
}

// isTooImportant reports whether a priority, as commonAncestor sees it, is too high for a victim: higher than that of
// the ask, or equal when the reason is priority (PRE-30). For a required node plain priorities are compared (PRE-32).
func (h *victimSearch) isTooImportant(priority int32, g *queueEligibility) bool {
	return priority > g.askPriority || priority == g.askPriority && h.reason == ReasonPriority
}

// resetLeafCache makes all cached eligibilities stale: the indexes of leaves may have changed.
func (h *victimSearch) resetLeafCache(l *nodeCache) {
	h.generation++
	if n := len(l.leaves) - len(h.leafCache); n > 0 {
		h.leafCache = append(h.leafCache, make([]cachedEligibility, n)...)
	}
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
	if h.reason != ReasonRequiredNode { // a required node ignores queues (PRE-32)
		if reason := h.outOfScopeReason(askLeaf, leaf); reason != Eligible {
			return queueEligibility{ineligible: reason}
		}
	}
	if h.coolDowns != nil && h.coolDowns.CoolingDown(askLeaf.Path(), leaf.Path()) {
		return queueEligibility{ineligible: IneligibleCoolDown}
	}
	if h.reason == ReasonRequiredNode {
		return queueEligibility{askPriority: h.ask.Ask().Priority}
	}
	common := lowestCommonAncestor(askLeaf, leaf)
	return queueEligibility{commonAncestor: common, askPriority: h.ask.ExposedPriority(common),
		minRuntime: minRuntimeOf(leaf)}
}

// outOfScopeReason returns the check of PRE-19 and PRE-26 to PRE-28 that all allocations of a leaf fail.
func (h *victimSearch) outOfScopeReason(askLeaf, leaf *objects.Queue) IneligibleReason {
	switch {
	case h.reason == ReasonPriority && askLeaf.Settings().PriorityPreemption == policies.PriorityPreemptionLeaf &&
		leaf != askLeaf:
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

// protectedByGuarantee reports whether a queue from the leaf of y up to the common queue, excluding that one, would be
// below its guarantee without y once victims have been released (PRE-34). Inside the leaf of the ask no guarantee
// counts, nor for a required node.
func (h *victimSearch) protectedByGuarantee(y *objects.Allocation, victims []*objects.Allocation) bool {
	if h.reason == ReasonRequiredNode {
		return false
	}
	leaf := y.Application().Queue()
	for q, common := leaf, h.eligibility(leaf).commonAncestor; q != common; q = q.Parent() {
		if protectedBy(q, y, victims) {
			return true
		}
	}
	return false
}

// protectedBy reports whether the guarantee of q protects y: without y, victims and the expected releases q would be
// below its guarantee for a resource that y has (PRE-34).
func protectedBy(q *objects.Queue, y *objects.Allocation, victims []*objects.Allocation) bool {
	guaranteed := q.Quota().Guaranteed()
	if len(guaranteed) == 0 {
		return false
	}
	for k, n := range y.Shape().Vector() {
		k := resources.Index(k)
		if g, ok := guaranteed.At(k); ok && n > 0 && allocatedWithout(q, k, y, victims) < g {
			return true
		}
	}
	return false
}

// allocatedWithout returns the quantity of k that q would use without y, victims and the expected releases. It is
// called for each candidate, so it allocates no vector.
func allocatedWithout(q *objects.Queue, k resources.Index, y *objects.Allocation,
	victims []*objects.Allocation) resources.Quantity {
	left := resources.SubSaturated(q.Quota().AfterExpectedRelease(k), y.Shape().Vector().At(k))
	for _, z := range victims {
		if q.IsSelfOrAncestorOf(z.Application().Queue()) {
			left = resources.SubSaturated(left, z.Shape().Vector().At(k))
		}
	}
	return left
}

// hasGuaranteeBelow reports whether a queue from leaf up to above, excluding above, has a guarantee.
func (h *victimSearch) hasGuaranteeBelow(leaf, above *objects.Queue) bool {
	for q := leaf; q != above; q = q.Parent() {
		if !q.Guaranteed().IsEmpty() {
			return true
		}
	}
	return false
}

// holdsAnyOf reports whether held has a resource that wanted requests (PRE-24).
func holdsAnyOf(held, wanted resources.Vector) bool {
	for k, n := range wanted {
		if n > 0 && k < len(held) && held[k] > 0 {
			return true
		}
	}
	return false
}

// lowestCommonAncestor returns the lowest queue that both leaves are in; of a leaf and itself, the leaf.
func lowestCommonAncestor(a, b *objects.Queue) *objects.Queue {
	for !a.IsSelfOrAncestorOf(b) {
		a = a.Parent()
	}
	return a
}
