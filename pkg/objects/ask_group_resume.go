package objects

import (
	"cmp"
	"iter"
	"slices"
)

// The asks of a group are identical to Canopy, but not to the resource manager, which may refuse
// one and accept the next. So an evaluation of preemption continues behind an ask that the RM
// refused (PRE-96), and the group keeps the position for the next evaluation. The position goes
// with the group.

// askPosition is the position of an ask in its group; an ask that has left the group has one too.
type askPosition struct {
	created int64
	arrival uint64
}

func positionOf(x *Allocation) askPosition { return askPosition{x.key.Created, x.key.Arrival} }

func (p askPosition) compare(other askPosition) int {
	return cmp.Or(cmp.Compare(p.created, other.created), cmp.Compare(p.arrival, other.arrival))
}

// ResumeAfter makes the next EachToEvaluate begin behind x, an ask of g; nil: at the first ask.
func (g *AskGroup) ResumeAfter(x *Allocation) {
	if x != nil {
		g.amendSetbacks().resumeAfter = positionOf(x)
	} else if g.setbacks != nil {
		g.setbacks.resumeAfter = askPosition{}
		g.dropSetbacks()
	}
}

// EachToEvaluate yields the pending asks of group without a nomination, each once: from the
// position of ResumeAfter to the last, then from the first. Requires: nothing changes meanwhile.
func (p *Partition) EachToEvaluate(group *AskGroup) iter.Seq[*Allocation] {
	return func(yield func(*Allocation) bool) {
		all, first := group.PendingAsks(), 0
		if s := group.setbacks; s != nil && s.resumeAfter != (askPosition{}) {
			found := false
			first, found = slices.BinarySearchFunc(all, s.resumeAfter,
				func(x *Allocation, to askPosition) int { return positionOf(x).compare(to) })
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
