package objects

import (
	"cmp"
	"iter"
	"slices"
)

// The asks of a group are alike for all that Canopy knows, but not for the resource manager: it
// may refuse one and accept the next. So an evaluation of preemption goes on behind an ask that
// the RM refused (ADR 43), and a group remembers where the next evaluation goes on. It forgets that
// when nothing of it is pending.

// askPosition is the place of an ask among those of its group. An ask that has left the group has one.
type askPosition struct {
	created int64
	arrival uint64
}

func positionOf(x *Allocation) askPosition { return askPosition{x.key.Created, x.key.Arrival} }

func (p askPosition) compare(other askPosition) int {
	return cmp.Or(cmp.Compare(p.created, other.created), cmp.Compare(p.arrival, other.arrival))
}

// ResumeAfter has the next EachToEvaluate begin behind x, an ask of c; nil: at the front.
func (g *AskGroup) ResumeAfter(x *Allocation) {
	g.resumeAfter = nil
	if x != nil {
		at := positionOf(x)
		g.resumeAfter = &at
	}
}

// EachToEvaluate yields the pending asks of c that wait for no node, each once, in turn: from where
// ResumeAfter said to the last, and then from the first. Requires: nothing is changed meanwhile.
func (p *Partition) EachToEvaluate(group *AskGroup) iter.Seq[*Allocation] {
	return func(yield func(*Allocation) bool) {
		all, first := group.PendingAsks(), 0
		if group.resumeAfter != nil {
			found := false
			first, found = slices.BinarySearchFunc(all, *group.resumeAfter, func(x *Allocation, to askPosition) int { return positionOf(x).compare(to) })
			if found {
				first++
			}
		}
		for i := range all {
			if x := all[(first+i)%len(all)]; p.Nomination(x) == nil && !yield(x) {
				return
			}
		}
	}
}
