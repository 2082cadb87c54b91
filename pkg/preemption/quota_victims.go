package preemption

import (
	"cmp"
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// QuotaVictims are those who have to leave so that q, which holds more than its max, is within
// it again, the one that matters least first (behaviour.md 6.4). No queue from theirs up to q
// falls below its guarantee, so each gives up only what it has beyond that. Groups that fall
// together go whole or not at all (priority.md 2.8). Who accepts one node only stays, and so
// does the system's work: no ask outranks it (priority.md P7). Policies and fences of queues
// do not count, as it is no ask that wants the room.
//
// Who would be beyond a budget in a strict queue is not told; when the budget allows it again,
// it will be (ADR 27). Nobody else goes instead.
//
// As few leave as needed: with any one less q would be further above. If q cannot be brought
// within its max, it is brought nearer, as far as taking them in order goes.
func QuotaVictims(p *objects.Partition, q *objects.Queue) []*objects.Allocation {
	s := &quotaSearch{groups: victimSearch{part: p}, queue: q, excess: q.Excess()}
	if s.withinMax() {
		return nil
	}
	s.collectCandidates(q, nil)
	slices.SortFunc(s.candidates, compareQuotaCandidates)
	if s.takeInOrder(); !s.withinMax() { // guarantees are in the way of this way
		for len(s.selected) > 0 {
			s.undoLast()
		}
		if s.prepareSearch(); !s.search(0) {
			s.takeInOrder()
		}
	}
	s.reprieveVictims()
	var victims []*objects.Allocation
	var budgets budgetUsage
	budgets.begin(p)
	for _, c := range s.selected {
		if !budgets.forbids(&c.victimUnit) {
			victims = append(victims, c.members()...)
		}
	}
	return victims
}

// quotaSearch is a queue that is to hold less, and who has been taken off so far.
type quotaSearch struct {
	groups       victimSearch // of nobody; it knows who falls together
	queue        *objects.Queue
	excess       resources.Vector   // what is still too much; negative: more than enough has gone
	candidates   []quotaCandidate   // in the order in which they are taken
	heldFrom     []resources.Vector // by index in may: what they hold from there on
	selected     []*quotaCandidate
	stepsLeft    int              // how often search may still go on to the next candidate
	skippedAlike map[alikeKey]int // how many are passed over who are alike
}

// quotaCandidate is what may go, an allocation or a group that falls together, with the guarantees
// on its way up. What they are sorted by lies together: there may be a hundred thousand, and
// fetching each would take most of the time.
type quotaCandidate struct {
	victimUnit
	held           resources.Vector
	guarantees     []*queueGuarantee
	softProtection int8            // as softProtectionOf has it
	boundAt        int64           // when the first of it began to run, in nanoseconds
	share          resources.Share // of the max, of what there is too much of
}

// queueGuarantee is a queue with a guarantee, and what stays in it.
type queueGuarantee struct {
	queue     *objects.Queue
	remaining resources.Vector
}

// alikeKey is what two candidates have in common of which either can go as well.
type alikeKey struct {
	leaf  *objects.Queue
	shape *objects.Shape
	group *objects.Allocation // the first of it: no group is like another
}

func (c *quotaCandidate) alikeKey() alikeKey {
	k := alikeKey{leaf: c.first.Application().Queue(), shape: c.first.Shape()}
	if c.group != nil {
		k.group = c.first
	}
	return k
}

// collectCandidates finds those below q who may go. guards are of the queues from s.q down to q.
func (s *quotaSearch) collectCandidates(q *objects.Queue, guarantees []*queueGuarantee) {
	if !q.Guaranteed().IsEmpty() {
		guarantees = append(slices.Clip(guarantees), &queueGuarantee{q, q.AllocatedAfterPreemption()})
	}
	for _, child := range q.Children() {
		s.collectCandidates(child, guarantees)
	}
	for _, a := range q.Applications() {
		s.collectFromApplication(a, guarantees)
	}
}

// collectFromApplication finds those of an application who may go. A group goes if all of it may.
func (s *quotaSearch) collectFromApplication(a *objects.Application, guarantees []*queueGuarantee) {
	var groups []*objects.Allocation // one of each
	for y := range a.EachBound {
		if s.groups.part.Preempting(y) || slices.ContainsFunc(groups, y.SameVictimUnit) {
			continue
		}
		if y.PreemptedAsUnit() {
			groups = append(groups, y)
		}
		if c := s.newCandidate(s.groups.unitOf(y), guarantees); c.priority < minSystemPriority && s.reducesExcess(&c) && c.acceptsAnyNode() {
			s.candidates = append(s.candidates, c)
		}
	}
}

// newCandidate notes what the order goes by.
func (s *quotaSearch) newCandidate(u victimUnit, guarantees []*queueGuarantee) quotaCandidate {
	c := quotaCandidate{victimUnit: u, guarantees: guarantees, boundAt: u.startedAt, softProtection: softProtectionOf(u.optedOut, u.originator)}
	if c.held = u.first.Shape().Vector(); u.group != nil {
		c.held = nil
		for _, y := range c.members() {
			c.held.Add(y.Shape().Vector())
		}
	}
	for k, n := range s.excess {
		if limit, ok := s.queue.MaxOf(resources.Index(k)); ok && n > 0 {
			if part := resources.Fraction(c.held.At(resources.Index(k)), limit); part.Compare(c.share) > 0 {
				c.share = part
			}
		}
	}
	return c
}

// acceptsAnyNode reports whether nobody of c accepts one node only.
func (c *quotaCandidate) acceptsAnyNode() bool {
	for _, y := range c.members() {
		if y.Ask().RequiredNode != "" {
			return false
		}
	}
	return true
}

// compareQuotaCandidates is negative when a leaves before b: who agreed to first, who does not lead an
// application (P8), who is less important, alone rather than with others, newer, smaller. The
// name settles the rest.
func compareQuotaCandidates(a, b quotaCandidate) int {
	if order := cmp.Or(
		cmp.Compare(a.softProtection, b.softProtection), cmp.Compare(a.priority, b.priority), cmp.Compare(len(a.group), len(b.group)),
		cmp.Compare(b.boundAt, a.boundAt), a.share.Compare(b.share),
	); order != 0 {
		return order
	}
	return cmp.Compare(b.first.Key(), a.first.Key())
}

// takeInOrder takes off all who help, one after the other.
func (s *quotaSearch) takeInOrder() {
	for i := range s.candidates {
		if c := &s.candidates[i]; s.reducesExcess(c) && !s.protectedByGuarantee(c) {
			s.take(c)
		}
	}
}

// prepareSearch readies search, and says how long it may take: guarantees can make it a puzzle that
// nobody can solve in a lifetime.
func (s *quotaSearch) prepareSearch() {
	s.stepsLeft, s.skippedAlike = 10_000+2*len(s.candidates), map[alikeKey]int{}
	s.heldFrom = make([]resources.Vector, len(s.candidates)+1)
	for i, c := range slices.Backward(s.candidates) {
		s.heldFrom[i] = slices.Clone(s.heldFrom[i+1])
		s.heldFrom[i].Add(c.held)
	}
}

// search takes candidates off, from the i-th on, until q is within its max. Each is taken
// before it is passed over, so the first way in their order is found. It reports whether there
// is one; if not, s is as before.
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
	if s.take(c); s.search(i + 1) {
		return true
	}
	s.undoLast()
	s.skippedAlike[c.alikeKey()]++ // nor would another one like it do
	found := s.search(i + 1)
	s.skippedAlike[c.alikeKey()]--
	return found
}

// reprieveVictims puts those back who are not needed, those first who should stay longest.
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

// withinMax reports whether nothing is too much any more.
func (s *quotaSearch) withinMax() bool {
	for _, n := range s.excess {
		if n > 0 {
			return false
		}
	}
	return true
}

// reducesExcess reports whether c holds something of which there is still too much.
func (s *quotaSearch) reducesExcess(c *quotaCandidate) bool {
	for k, n := range s.excess {
		if n > 0 && c.held.At(resources.Index(k)) > 0 {
			return true
		}
	}
	return false
}

// protectedByGuarantee reports whether a queue would be below its guarantee, in something that c holds, if
// c left too.
func (s *quotaSearch) protectedByGuarantee(c *quotaCandidate) bool {
	for _, g := range c.guarantees {
		for k, n := range c.held {
			least, ok := g.queue.GuaranteeOf(resources.Index(k))
			if ok && n > 0 && g.remaining.At(resources.Index(k))-n < least {
				return true
			}
		}
	}
	return false
}

func (s *quotaSearch) take(c *quotaCandidate) {
	s.selected = append(s.selected, c)
	s.excess.Sub(c.held)
	for _, g := range c.guarantees {
		g.remaining.Sub(c.held)
	}
}

// undoLast puts the last back who was taken off.
func (s *quotaSearch) undoLast() *quotaCandidate {
	c := s.selected[len(s.selected)-1]
	s.selected = s.selected[:len(s.selected)-1]
	s.excess.Add(c.held)
	for _, g := range c.guarantees {
		g.remaining.Add(c.held)
	}
	return c
}
