package victim

import (
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/preemption/fairshare"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// fairShares holds the sides of the ask of a search by reason of the fair share.
type fairShares struct {
	ask   *objects.Allocation
	sides []FairSide // in the queues of its path that share fairly, from the leaf up to root
}

// FairSide is the side of an ask in a queue that shares fairly.
type FairSide struct {
	*fairshare.Side
	Queue    *objects.Queue
	Held     resources.Vector // by the side, without a nomination of the ask
	Entitles bool             // the ask may have victims among the siblings of its side (PRE-126)

	level         *fairshare.Level
	before, after float64 // the excess of the side without the ask, and with it (PRE-129)
}

// FairSides returns the sides of x in the queues that share fairly, from its leaf up to its preemption fence (PRE-126).
func FairSides(s *fairshare.Shares, x *objects.Allocation) []FairSide {
	all, scope := fairSharesOf(s, x).sides, preemptionScope(x)
	return slices.DeleteFunc(all, func(f FairSide) bool { return !scope.IsSelfOrAncestorOf(f.Queue) })
}

// fairSharesOf returns the sides of x, which may be hypothetical.
func fairSharesOf(s *fairshare.Shares, x *objects.Allocation) (all fairShares) {
	all.ask = x
	if !s.Enabled() {
		return all
	}
	if x.AskGroup() == nil {
		s = s.With(x)
	}
	scope := preemptionScope(x)
	for q := x.Application().Queue(); q != nil; q = q.Parent() {
		if !q.Settings().FairShare {
			continue
		}
		f := FairSide{Queue: q, level: s.Level(q)}
		f.Side = f.level.SideOf(x.Application())
		f.Held = slices.Clone(f.Side.Held())
		if s.Partition().Nomination(x) != nil {
			f.Held.Sub(x.Shape().Vector())
		}
		f.before = f.Excess(f.Held)
		with := slices.Clone(f.Held)
		with.Add(x.Shape().Vector())
		f.after = f.Excess(with)
		f.Entitles = f.before <= 0 && f.Lacks(f.Held, x.Shape().Vector()) && scope.IsSelfOrAncestorOf(q)
		all.sides = append(all.sides, f)
	}
	return all
}

// in returns the side of the ask in q; nil: q does not share fairly, or the ask may have no victims there.
func (s *fairShares) in(q *objects.Queue) *FairSide {
	for i := range s.sides {
		if s.sides[i].Queue == q && s.sides[i].Entitles {
			return &s.sides[i]
		}
	}
	return nil
}

// ineligible says why allocations of an application may not be victims, whatever else is preempted (PRE-126). common is
// the lowest queue that it and the ask are in.
func (s *fairShares) ineligible(a *objects.Application, common *objects.Queue) IneligibleReason {
	f := s.in(common)
	if f == nil {
		return IneligibleNotShared
	}
	switch side := f.level.SideOf(a); {
	case side == f.Side:
		return IneligibleNotShared
	case side.Excess(side.Held()) <= 0:
		return IneligibleWithinShare
	}
	return Eligible
}

// protects reports whether a fair share protects the members of u when victims are released: their side would be behind
// that of the ask (PRE-130), or a queue that both are in would lose what it is owed (PRE-131).
func (s *fairShares) protects(u *victimUnit, common *objects.Queue, victims []*objects.Allocation) bool {
	f := s.in(common)
	side := f.level.SideOf(u.first.Application())
	theirs := side.Excess(leftOf(f.level, side, side.Held(), u, victims))
	if f.after > theirs || f.after == theirs && f.after <= f.before {
		return true
	}
	for q := common; q != nil; q = q.Parent() {
		if s.costsGuarantee(q, u, victims) {
			return true
		}
	}
	for i := range s.sides {
		above := &s.sides[i]
		if above.Queue == common || !above.Queue.IsSelfOrAncestorOf(common) {
			continue
		}
		held := leftOf(above.level, above.Side, above.Held, u, victims)
		held.Add(s.ask.Shape().Vector())
		if above.Loses(above.Held, held) {
			return true
		}
	}
	return false
}

// costsGuarantee reports whether q, which the ask is in, would be below its guarantee for some resource, and further
// than before, with the ask and without u and other victims.
func (s *fairShares) costsGuarantee(q *objects.Queue, u *victimUnit, victims []*objects.Allocation) bool {
	guaranteed := q.Quota().Guaranteed()
	if len(guaranteed) == 0 {
		return false
	}
	change := slices.Clone(s.ask.Shape().Vector())
	for _, list := range [][]*objects.Allocation{victims, u.members()} {
		for _, y := range list {
			if q.IsSelfOrAncestorOf(y.Application().Queue()) {
				change.Sub(y.Shape().Vector())
			}
		}
	}
	held := q.Quota().Planned()
	for k, n := range change {
		k := resources.Index(k)
		if least, ok := guaranteed.At(k); ok && n < 0 && resources.AddSaturated(held.At(k), n) < least {
			return true
		}
	}
	return false
}

// leftOf returns what is left to a side without u and other victims.
func leftOf(l *fairshare.Level, side *fairshare.Side, held resources.Vector, u *victimUnit,
	victims []*objects.Allocation) resources.Vector {
	left := slices.Clone(held)
	for _, list := range [][]*objects.Allocation{victims, u.members()} {
		for _, y := range list {
			if a := y.Application(); l.Queue().IsSelfOrAncestorOf(a.Queue()) && l.SideOf(a) == side {
				left.Sub(y.Shape().Vector())
			}
		}
	}
	return left
}

// protectedByFairShare reports whether a fair share protects u when victims are released.
func (h *victimSearch) protectedByFairShare(u *victimUnit, victims []*objects.Allocation) bool {
	return h.fair.protects(u, h.eligibility(u.first.Application().Queue()).commonAncestor, victims)
}
