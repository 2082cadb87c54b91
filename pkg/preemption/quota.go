package preemption

import (
	"cmp"
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// ForQuota are those who have to leave so that q, which holds more than its max, is within
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
func ForQuota(p *objects.Partition, q *objects.Queue) []*objects.Allocation {
	s := &shrinking{hunt: hunt{part: p}, q: q, over: q.Excess()}
	if s.within() {
		return nil
	}
	s.collect(q, nil)
	slices.SortFunc(s.may, compareLeaving)
	if s.inTurn(); !s.within() { // guarantees are in the way of this way
		for len(s.off) > 0 {
			s.takeBack()
		}
		if s.addUp(); !s.search(0) {
			s.inTurn()
		}
	}
	s.putBack()
	var victims []*objects.Allocation
	var budgets spending
	budgets.begin(p)
	for _, c := range s.off {
		if !budgets.forbids(&c.unit) {
			victims = append(victims, c.members()...)
		}
	}
	return victims
}

// shrinking is a queue that is to hold less, and who has been taken off so far.
type shrinking struct {
	hunt  hunt // of nobody; it knows who falls together
	q     *objects.Queue
	over  resources.Vector   // what is still too much; negative: more than enough has gone
	may   []candidate        // in the order in which they are taken
	rest  []resources.Vector // by index in may: what they hold from there on
	off   []*candidate
	turns int             // how often search may still go on to the next candidate
	like  map[kindred]int // how many are passed over who are alike
}

// candidate is what may go, an allocation or a group that falls together, with the guarantees
// on its way up. What they are sorted by lies together: there may be a hundred thousand, and
// fetching each would take most of the time.
type candidate struct {
	unit
	holds  resources.Vector
	guards []*guard
	kind   int8            // as kindOf has it
	bound  int64           // when the first of it began to run, in nanoseconds
	share  resources.Share // of the max, of what there is too much of
}

// guard is a queue with a guarantee, and what stays in it.
type guard struct {
	q    *objects.Queue
	left resources.Vector
}

// kindred is what two candidates have in common of which either can go as well.
type kindred struct {
	leaf  *objects.Queue
	shape *objects.Shape
	group *objects.Allocation // the first of it: no group is like another
}

func (c *candidate) kindred() kindred {
	k := kindred{leaf: c.lead.Application().Queue(), shape: c.lead.Shape()}
	if c.group != nil {
		k.group = c.lead
	}
	return k
}

// collect finds those below q who may go. guards are of the queues from s.q down to q.
func (s *shrinking) collect(q *objects.Queue, guards []*guard) {
	if !q.Guaranteed().IsEmpty() {
		guards = append(slices.Clip(guards), &guard{q, q.Staying()})
	}
	for _, child := range q.Children() {
		s.collect(child, guards)
	}
	for _, a := range q.Applications() {
		s.collectFrom(a, guards)
	}
}

// collectFrom finds those of an application who may go. A group goes if all of it may.
func (s *shrinking) collectFrom(a *objects.Application, guards []*guard) {
	var groups []*objects.Allocation // one of each
	for y := range a.Bound {
		if s.hunt.part.Leaving(y) || slices.ContainsFunc(groups, y.Together) {
			continue
		}
		if y.Grouped() {
			groups = append(groups, y)
		}
		if c := s.weigh(s.hunt.unitOf(y), guards); c.number < system && s.helps(&c) && c.free() {
			s.may = append(s.may, c)
		}
	}
}

// weigh notes what the order goes by.
func (s *shrinking) weigh(u unit, guards []*guard) candidate {
	c := candidate{unit: u, guards: guards, bound: u.since, kind: kindOf(u.opposed, u.leads)}
	if c.holds = u.lead.Shape().Vector(); u.group != nil {
		c.holds = nil
		for _, y := range c.members() {
			c.holds.Add(y.Shape().Vector())
		}
	}
	for k, n := range s.over {
		if limit, ok := s.q.MaxOf(resources.Kind(k)); ok && n > 0 {
			if part := resources.Fraction(c.holds.At(resources.Kind(k)), limit); part.Compare(c.share) > 0 {
				c.share = part
			}
		}
	}
	return c
}

// free reports whether nobody of c accepts one node only.
func (c *candidate) free() bool {
	for _, y := range c.members() {
		if y.Ask().RequiredNode != "" {
			return false
		}
	}
	return true
}

// compareLeaving is negative when a leaves before b: who agreed to first, who does not lead an
// application (P8), who is less important, alone rather than with others, newer, smaller. The
// name settles the rest.
func compareLeaving(a, b candidate) int {
	if order := cmp.Or(
		cmp.Compare(a.kind, b.kind), cmp.Compare(a.number, b.number), cmp.Compare(len(a.group), len(b.group)),
		cmp.Compare(b.bound, a.bound), a.share.Compare(b.share),
	); order != 0 {
		return order
	}
	return cmp.Compare(b.lead.Key(), a.lead.Key())
}

// inTurn takes off all who help, one after the other.
func (s *shrinking) inTurn() {
	for i := range s.may {
		if c := &s.may[i]; s.helps(c) && !s.spared(c) {
			s.take(c)
		}
	}
}

// addUp readies search, and says how long it may take: guarantees can make it a puzzle that
// nobody can solve in a lifetime.
func (s *shrinking) addUp() {
	s.turns, s.like = 10_000+2*len(s.may), map[kindred]int{}
	s.rest = make([]resources.Vector, len(s.may)+1)
	for i, c := range slices.Backward(s.may) {
		s.rest[i] = slices.Clone(s.rest[i+1])
		s.rest[i].Add(c.holds)
	}
}

// search takes candidates off, from the i-th on, until q is within its max. Each is taken
// before it is passed over, so the first way in their order is found. It reports whether there
// is one; if not, s is as before.
func (s *shrinking) search(i int) bool {
	switch {
	case s.within():
		return true
	case !s.rest[i].Covers(s.over) || s.turns == 0:
		return false
	}
	s.turns--
	c := &s.may[i]
	if !s.helps(c) || s.spared(c) || s.like[c.kindred()] > 0 {
		return s.search(i + 1)
	}
	if s.take(c); s.search(i + 1) {
		return true
	}
	s.takeBack()
	s.like[c.kindred()]++ // nor would another one like it do
	found := s.search(i + 1)
	s.like[c.kindred()]--
	return found
}

// putBack puts those back who are not needed, those first who should stay longest.
func (s *shrinking) putBack() {
	var gone []*candidate
	for len(s.off) > 0 {
		if c := s.takeBack(); s.helps(c) {
			s.over.Sub(c.holds)
			gone = append(gone, c)
		}
	}
	slices.Reverse(gone)
	s.off = gone
}

// within reports whether nothing is too much any more.
func (s *shrinking) within() bool {
	for _, n := range s.over {
		if n > 0 {
			return false
		}
	}
	return true
}

// helps reports whether c holds something of which there is still too much.
func (s *shrinking) helps(c *candidate) bool {
	for k, n := range s.over {
		if n > 0 && c.holds.At(resources.Kind(k)) > 0 {
			return true
		}
	}
	return false
}

// spared reports whether a queue would be below its guarantee, in something that c holds, if
// c left too.
func (s *shrinking) spared(c *candidate) bool {
	for _, g := range c.guards {
		for k, n := range c.holds {
			least, ok := g.q.GuaranteeOf(resources.Kind(k))
			if ok && n > 0 && g.left.At(resources.Kind(k))-n < least {
				return true
			}
		}
	}
	return false
}

func (s *shrinking) take(c *candidate) {
	s.off = append(s.off, c)
	s.over.Sub(c.holds)
	for _, g := range c.guards {
		g.left.Sub(c.holds)
	}
}

// takeBack puts the last back who was taken off.
func (s *shrinking) takeBack() *candidate {
	c := s.off[len(s.off)-1]
	s.off = s.off[:len(s.off)-1]
	s.over.Add(c.holds)
	for _, g := range c.guards {
		g.left.Add(c.holds)
	}
	return c
}
