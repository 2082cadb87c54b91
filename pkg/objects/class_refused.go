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

// askPlace is the place of an ask among those of its group. An ask that has left the group has one.
type askPlace struct {
	created int64
	arrival uint64
}

func placeOf(x *Allocation) askPlace { return askPlace{x.key.Created, x.key.Arrival} }

func (p askPlace) compare(other askPlace) int {
	return cmp.Or(cmp.Compare(p.created, other.created), cmp.Compare(p.arrival, other.arrival))
}

// GoOnBehind has the next EachToEvaluate begin behind x, an ask of c; nil: at the front.
func (c *Class) GoOnBehind(x *Allocation) {
	c.refused = nil
	if x != nil {
		at := placeOf(x)
		c.refused = &at
	}
}

// EachToEvaluate yields the pending asks of c that wait for no node, each once, in turn: from where
// GoOnBehind said to the last, and then from the first. Requires: nothing is changed meanwhile.
func (p *Partition) EachToEvaluate(c *Class) iter.Seq[*Allocation] {
	return func(yield func(*Allocation) bool) {
		all, first := c.Pending(), 0
		if c.refused != nil {
			found := false
			first, found = slices.BinarySearchFunc(all, *c.refused, func(x *Allocation, to askPlace) int { return placeOf(x).compare(to) })
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
