package preemption

import (
	"cmp"
	"math"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/objects"
)

// cost is what a plan takes, as far as plans are compared by it.
type cost struct {
	top     int64     // the priority of the most important victim; without victims below any
	sum     int64     // of all priorities, each counted from the lowest there is
	victims int       // how many there are
	oldest  time.Time // when the first of the most important victims began to run
	opposed bool      // one did not agree to leave
	leads   bool      // one leads its application
}

// costOf adds up. A group counts member by member: who takes more is dearer.
func costOf(off []unit) cost {
	c := cost{top: math.MinInt64}
	for i := range off {
		u := &off[i]
		n := max(len(u.group), 1)
		number := int64(u.number)
		c.sum += (number + 1<<31) * int64(n) // so every further victim weighs more than any difference between two
		c.victims += n
		c.opposed, c.leads = c.opposed || u.opposed, c.leads || u.leads
		if number > c.top || number == c.top && u.since.Before(c.oldest) {
			c.top, c.oldest = number, u.since
		}
	}
	return c
}

// better reports whether a takes less than b. By priority it is, as in Kubernetes, the most
// important victim, then the sum of priorities, then the number of victims, then how long
// the most important of them have run (priority.md 2.4); by other rights whether anybody
// leaves who did not agree to, or who leads an application, and then the number.
// Last it is the name of the node.
func better(a, b *Plan) bool {
	if a.Right == OfPriority {
		return cmp.Or(
			cmp.Compare(a.cost.top, b.cost.top), cmp.Compare(a.cost.sum, b.cost.sum),
			cmp.Compare(a.cost.victims, b.cost.victims), b.cost.oldest.Compare(a.cost.oldest), compareIDs(a.Node, b.Node),
		) < 0
	}
	return cmp.Or(
		cmp.Compare(yes(a.cost.opposed), yes(b.cost.opposed)), cmp.Compare(yes(a.cost.leads), yes(b.cost.leads)),
		cmp.Compare(a.cost.victims, b.cost.victims), compareIDs(a.Node, b.Node),
	) < 0
}

func compareIDs(a, b *objects.Node) int { return cmp.Compare(a.ID(), b.ID()) }
