package preemption

import (
	"cmp"
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// Who goes first when a node has less than it should: the rule of the kubelet (priority.md
// S3-63 to S3-65). Nobody asks for the room.

// Claim is what a piece of work asked for, and uses, of one resource.
type Claim struct {
	Ask       *objects.Ask
	Requested resources.Quantity
	Used      resources.Quantity // what was asked for, if nobody has reported
	Reported  bool
}

// Over is how much more is used than was asked for; negative when it is less.
func (c Claim) Over() resources.Quantity { return resources.Less(c.Used, c.Requested) }

// EvictionOrder is the order in which work leaves a node that is short of a resource: who uses
// more than it asked for first, then who is less important, then who uses more above what it
// asked for. The name settles the rest.
func EvictionOrder(work []*objects.Ask, resource string) []Claim {
	claims := make([]Claim, len(work))
	for i, ask := range work {
		c := Claim{Ask: ask, Requested: ask.Amounts.Get(resource)}
		c.Used = c.Requested
		if used, err := objects.ReadUsage(ask.Tags); err == nil {
			if n, ok := used[resource]; ok {
				c.Used, c.Reported = n, true
			}
		}
		claims[i] = c
	}
	slices.SortFunc(claims, func(a, b Claim) int {
		return cmp.Or(
			cmp.Compare(yes(a.Over() <= 0), yes(b.Over() <= 0)), cmp.Compare(a.Ask.Priority, b.Ask.Priority),
			cmp.Compare(b.Over(), a.Over()), cmp.Compare(a.Ask.Key, b.Ask.Key),
		)
	})
	return claims
}

// Load is what a node has and holds.
type Load struct {
	Total     resources.Amounts
	Available resources.Amounts // without what those hold who were told to leave; negative: too little
	Work      []*objects.Ask    // without those
}

// Scarcest is the resource of which a node lacks the largest share of what it has; ok is
// false when it lacks nothing.
func (l *Load) Scarcest() (resource string, ok bool) {
	worst := resources.Share{}
	for name, n := range l.Available.All() { // in name order
		if n >= 0 {
			continue
		}
		share := resources.Fraction(resources.Less(0, n), max(1, l.Total.Get(name)))
		if !ok || share.Compare(worst) > 0 {
			resource, worst, ok = name, share, true
		}
	}
	return resource, ok
}

// ForPressure are those who have to leave a node that has less than it holds, so that the
// others have what they asked for, in the order in which they go. Work that accepts no other
// node would come back at once, and stays. System work goes when that of users is not enough.
// None: nobody has to, or it would be in vain, as the node is full of what is not ours.
func ForPressure(l Load) (victims []*objects.Ask) {
	resource, short := l.Scarcest()
	if !short {
		return nil
	}
	order := slices.DeleteFunc(EvictionOrder(l.Work, resource), func(c Claim) bool { return c.Ask.RequiredNode != "" })
	slices.SortStableFunc(order, func(a, b Claim) int {
		return yes(a.Ask.Priority >= system) - yes(b.Ask.Priority >= system)
	})
	left := l.Available
	for _, c := range order {
		if enough(left) {
			break
		}
		if eases(c.Ask.Amounts, left) {
			left, victims = left.Add(c.Ask.Amounts), append(victims, c.Ask)
		}
	}
	if !enough(left) {
		return nil
	}
	kept := victims[:0:0]
	for _, y := range slices.Backward(victims) { // who would go last is put back first
		if without := left.Sub(y.Amounts); enough(without) {
			left = without
		} else {
			kept = append(kept, y)
		}
	}
	slices.Reverse(kept)
	return kept
}

func enough(left resources.Amounts) bool { return !left.HasNegative() }

// eases reports whether something that is held is something that lacks.
func eases(held, left resources.Amounts) bool {
	for name, n := range held.All() {
		if n > 0 && left.Get(name) < 0 {
			return true
		}
	}
	return false
}
