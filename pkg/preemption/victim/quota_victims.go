package victim

import (
	"cmp"
	"slices"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/feasibility"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// ForQuota returns, in victim order, the allocations to preempt so that q comes within its enforced max (QUO-53 to
// QUO-57). No queue from the leaf of a victim up to q falls below its guarantee. Victim groups are preempted together
// or not at all. Required-node and system-priority allocations stay, and allocations that are already preempting are
// not chosen again. preemption.policy and fences do not count, because there is no preemptor.
//
// What has run for less than its minimum run time at now is the last victim, or none (PRE-123, PRE-124). nextYoungEnd
// is when this ends for the first of these candidates: a later call may have other victims. The zero time: there is
// none.
//
// A victim that would exceed a budget in a strict queue is left out and not replaced; a later call returns it when the
// budget allows it (ADR 27).
//
// Every victim is needed: without it q would be further above its max. If q cannot be brought within its max, it is
// brought nearer, as far as candidates taken in victim order allow.
func ForQuota(p *objects.Partition, q *objects.Queue, now time.Time) (victims []*objects.Allocation,
	nextYoungEnd time.Time) {
	s := &quotaSearch{groups: victimSearch{part: p, ages: youngAges{now: now.UnixNano()}}, queue: q,
		excess: q.Quota().Excess()}
	if s.withinMax() {
		return nil, nextYoungEnd
	}
	s.collectCandidates(q, nil)
	slices.SortFunc(s.candidates, compareQuotaCandidates)
	s.takeInOrder()
	if !s.withinMax() { // guarantees may have stopped the victim order
		for len(s.selected) > 0 {
			s.undoLast()
		}
		s.prepareSearch()
		if !s.search(0) {
			s.takeInOrder()
		}
	}
	s.reprieveVictims()
	var budgets budgetUsage
	budgets.begin(p)
	for _, c := range s.selected {
		if !budgets.forbids(&c.victimUnit) {
			victims = append(victims, c.members()...)
		}
	}
	return victims, s.groups.ages.nextYoungEnd()
}

// quotaSearch is the search for the victims of one queue.
type quotaSearch struct {
	groups       victimSearch // only for its victim groups; it has no ask
	queue        *objects.Queue
	excess       resources.Vector   // above the max without the selected; negative: more than enough is selected
	candidates   []quotaCandidate   // in victim order
	heldFrom     []resources.Vector // by index i: the sum that candidates[i:] hold
	selected     []*quotaCandidate  // in the order of selection
	stepsLeft    int                // how many candidates search may still try
	skippedAlike map[alikeKey]int   // how many candidates of a kind are passed over now
}

// quotaCandidate is a victim unit with the queues whose guarantees it counts in. The sort keys are stored with
// it: there may be a hundred thousand candidates, and following pointers would take most of the time.
type quotaCandidate struct {
	victimUnit
	held           resources.Vector
	guarantees     []*queueGuarantee
	softProtection int8            // see softProtectionOf
	boundAt        int64           // start of the oldest member, in nanoseconds
	share          resources.Share // the largest share of the max, among resources above the max
}

// queueGuarantee is a queue with a guarantee, and what it holds without the selected.
type queueGuarantee struct {
	queue     *objects.Queue
	remaining resources.Vector
}

// alikeKey is equal for candidates that are interchangeable: if one leads to no solution, the other does not either.
type alikeKey struct {
	leaf  *objects.Queue
	shape *feasibility.Shape
	group *objects.Allocation // the first member: no group is like another
}

func (c *quotaCandidate) alikeKey() alikeKey {
	k := alikeKey{leaf: c.first.Application().Queue(), shape: c.first.Shape()}
	if c.group != nil {
		k.group = c.first
	}
	return k
}

// collectCandidates collects the candidates below q. guarantees has the queues from s.queue down to q, excluding q.
func (s *quotaSearch) collectCandidates(q *objects.Queue, guarantees []*queueGuarantee) {
	if !q.Guaranteed().IsEmpty() {
		guarantees = append(slices.Clip(guarantees), &queueGuarantee{q, q.Quota().AllocatedAfterPreemption()})
	}
	for _, child := range q.Children() {
		s.collectCandidates(child, guarantees)
	}
	for _, a := range q.Applications() {
		s.collectFromApplication(a, guarantees)
	}
}

// collectFromApplication collects the candidates of an application. A group is a candidate if every member may
// be.
func (s *quotaSearch) collectFromApplication(a *objects.Application, guarantees []*queueGuarantee) {
	var groups []*objects.Allocation // one member of each group met
	protection := minRuntimeOf(a.Queue())
	for y := range a.EachBound {
		inGroup := func(z *objects.Allocation) bool { return SameUnit(y, z) }
		if ineligibleForAll(s.groups.part, y) != Eligible || slices.ContainsFunc(groups, inGroup) {
			continue
		}
		if PreemptedAsUnit(y) {
			groups = append(groups, y)
		}
		c := s.newCandidate(s.groups.unitOf(y), guarantees)
		if hasSystemPriority(c.priority) || c.requiresNode || !s.reducesExcess(&c) {
			continue
		}
		c.young = s.groups.ages.isYoung(protection, c.startedAt)
		if !c.young || !protection.strict {
			s.candidates = append(s.candidates, c)
		}
	}
}

// newCandidate computes the sort keys of a unit.
func (s *quotaSearch) newCandidate(u victimUnit, guarantees []*queueGuarantee) quotaCandidate {
	c := quotaCandidate{victimUnit: u, guarantees: guarantees, boundAt: u.startedAt,
		softProtection: softProtectionOf(u.optedOut, u.originator)}
	c.held = u.first.Shape().Vector()
	if u.group != nil {
		c.held = nil
		for _, y := range c.members() {
			c.held.Add(y.Shape().Vector())
		}
	}
	for k, n := range s.excess {
		if limit, ok := s.queue.Quota().Max().At(resources.Index(k)); ok && n > 0 {
			if part := resources.Fraction(c.held.At(resources.Index(k)), limit); part.Compare(c.share) > 0 {
				c.share = part
			}
		}
	}
	return c
}

// compareQuotaCandidates orders victims for an enforced max (QUO-54): it returns a negative number when a is preempted
// before b. What is not young comes before what is (PRE-123), then opted in before opted out, then not originator
// before originator, the lower priority, a single allocation before a group and a smaller group before a larger one,
// the newer, and the smaller share of the max. A tie is broken by the larger key.
func compareQuotaCandidates(a, b quotaCandidate) int {
	if order := cmp.Or(
		boolToInt(a.young)-boolToInt(b.young), cmp.Compare(a.softProtection, b.softProtection),
		cmp.Compare(a.priority, b.priority), cmp.Compare(len(a.group), len(b.group)),
		cmp.Compare(b.boundAt, a.boundAt), a.share.Compare(b.share),
	); order != 0 {
		return order
	}
	return cmp.Compare(b.first.Key(), a.first.Key())
}

// takeInOrder selects, in victim order, every candidate that reduces the excess and that no guarantee protects.
func (s *quotaSearch) takeInOrder() {
	for i := range s.candidates {
		if c := &s.candidates[i]; s.reducesExcess(c) && !s.protectedByGuarantee(c) {
			s.take(c)
		}
	}
}

// prepareSearch prepares search and bounds its steps: with guarantees the problem takes exponential time at
// worst.
func (s *quotaSearch) prepareSearch() {
	s.stepsLeft, s.skippedAlike = 10_000+2*len(s.candidates), map[alikeKey]int{}
	s.heldFrom = make([]resources.Vector, len(s.candidates)+1)
	for i, c := range slices.Backward(s.candidates) {
		s.heldFrom[i] = slices.Clone(s.heldFrom[i+1])
		s.heldFrom[i].Add(c.held)
	}
}

// search selects candidates from index i on until the queue is within its max, by backtracking. It tries to select a
// candidate before it passes it over, so it finds the first solution in victim order. It returns false if there is
// none, or if the steps are used up; s is then as before.
func (s *quotaSearch) search(i int) bool {
	switch {
	case s.withinMax():
		return true
	case !s.heldFrom[i].Covers(s.excess) || s.stepsLeft == 0:
		return false
	}
	s.stepsLeft--
	c := &s.candidates[i]
	if !s.reducesExcess(c) || s.protectedByGuarantee(c) || s.skippedAlike[c.alikeKey()] > 0 {
		return s.search(i + 1)
	}
	s.take(c)
	if s.search(i + 1) {
		return true
	}
	s.undoLast()
	s.skippedAlike[c.alikeKey()]++ // an alike candidate leads to no solution either
	found := s.search(i + 1)
	s.skippedAlike[c.alikeKey()]--
	return found
}

// reprieveVictims drops the selected candidates that are not needed, the last of the victim order first.
func (s *quotaSearch) reprieveVictims() {
	var needed []*quotaCandidate
	for len(s.selected) > 0 {
		if c := s.undoLast(); s.reducesExcess(c) {
			s.excess.Sub(c.held)
			needed = append(needed, c)
		}
	}
	slices.Reverse(needed)
	s.selected = needed
}

// withinMax reports whether no resource is above the max any more.
func (s *quotaSearch) withinMax() bool {
	for _, n := range s.excess {
		if n > 0 {
			return false
		}
	}
	return true
}

// reducesExcess reports whether c holds a resource that is still above the max.
func (s *quotaSearch) reducesExcess(c *quotaCandidate) bool {
	for k, n := range s.excess {
		if n > 0 && c.held.At(resources.Index(k)) > 0 {
			return true
		}
	}
	return false
}

// protectedByGuarantee reports whether a queue would be below its guarantee, in a resource that c holds, without
// c (QUO-55).
func (s *quotaSearch) protectedByGuarantee(c *quotaCandidate) bool {
	for _, g := range c.guarantees {
		for k, n := range c.held {
			guaranteed, ok := g.queue.Quota().Guaranteed().At(resources.Index(k))
			if ok && n > 0 && g.remaining.At(resources.Index(k))-n < guaranteed {
				return true
			}
		}
	}
	return false
}

// take selects c.
func (s *quotaSearch) take(c *quotaCandidate) {
	s.selected = append(s.selected, c)
	s.excess.Sub(c.held)
	for _, g := range c.guarantees {
		g.remaining.Sub(c.held)
	}
}

// undoLast drops the candidate that was selected last, and returns it.
func (s *quotaSearch) undoLast() *quotaCandidate {
	c := s.selected[len(s.selected)-1]
	s.selected = s.selected[:len(s.selected)-1]
	s.excess.Add(c.held)
	for _, g := range c.guarantees {
		g.remaining.Add(c.held)
	}
	return c
}
