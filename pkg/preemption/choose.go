package preemption

import (
	"cmp"
	"math"
)

// cost is what a plan takes, as far as plans are compared by it.
type cost struct {
	top     int64 // the priority of the most important victim; without victims below any
	sum     int64 // of all priorities, each counted from the lowest there is
	victims int   // how many there are
	oldest  int64 // when the first of the most important victims began to run, in nanoseconds
	beyond  int   // how many units leave although a budget does not allow it
	opposed bool  // one did not agree to leave
	leads   bool  // one leads its application
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
		if number > c.top || number == c.top && u.since < c.oldest {
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
	if x.beyond != y.beyond {
		return x.beyond < y.beyond
	}
	numbers := cmp.Or(
		cmp.Compare(x.top, y.top), cmp.Compare(x.sum, y.sum), cmp.Compare(x.victims, y.victims), cmp.Compare(y.oldest, x.oldest),
	)
	kinds := cmp.Or(cmp.Compare(yes(x.opposed), yes(y.opposed)), cmp.Compare(yes(x.leads), yes(y.leads)))
	places := cmp.Compare(a.place, b.place) // the names of nodes, in their order
	switch {
	case h.right == OfPriority:
		return cmp.Or(numbers, places) < 0
	case h.compatible():
		return cmp.Or(kinds, cmp.Compare(x.victims, y.victims), places) < 0
	}
	return cmp.Or(kinds, numbers, places) < 0
}
