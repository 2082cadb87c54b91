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
	beyond  int       // how many units leave although a budget does not allow it
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
		c.beyond += yes(u.beyond)
		c.opposed, c.leads = c.opposed || u.opposed, c.leads || u.leads
		if number > c.top || number == c.top && u.since.Before(c.oldest) {
			c.top, c.oldest = number, u.since
		}
	}
	return c
}

// better reports whether a takes less than b. First it is how many leave whom a budget does
// not allow to. By priority it is then, as in Kubernetes, the most important victim, then the
// sum of priorities, then the number of victims, then how long the most important of them have
// run (priority.md 2.4); by other rights whether anybody leaves who did not agree to, or who
// leads an application, and then the number, or if upstream is not to be followed what it
// is by priority. Last it is the name of the node.
func (h *hunt) better(a, b *Plan) bool {
	x, y := &a.cost, &b.cost
	beyond, names := cmp.Compare(x.beyond, y.beyond), compareIDs(a.Node, b.Node)
	numbers := cmp.Or(
		cmp.Compare(x.top, y.top), cmp.Compare(x.sum, y.sum), cmp.Compare(x.victims, y.victims), y.oldest.Compare(x.oldest),
	)
	kinds := cmp.Or(cmp.Compare(yes(x.opposed), yes(y.opposed)), cmp.Compare(yes(x.leads), yes(y.leads)))
	switch {
	case h.right == OfPriority:
		return cmp.Or(beyond, numbers, names) < 0
	case h.compatible():
		return cmp.Or(beyond, kinds, cmp.Compare(x.victims, y.victims), names) < 0
	}
	return cmp.Or(beyond, kinds, numbers, names) < 0
}

func compareIDs(a, b *objects.Node) int { return cmp.Compare(a.ID(), b.ID()) }
