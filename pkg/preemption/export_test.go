package preemption

import (
	"fmt"
	"slices"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// ForgetOld forgets what does not count any more, now and not only when there is much of it.
func ForgetOld(c *Churn, now time.Time) {
	c.sweep = 0
	c.forgetOld(now)
}

// Remembered is how much c keeps in mind.
func Remembered(c *Churn) int { return len(c.moves) + len(c.gained) }

// BothWays is, node by node, who would have to leave as least finds out, and as onNode does.
// Where least is not sure, neither is told.
func BothWays(s *Search, x *objects.Allocation, r Right) (least, whole [][]*objects.Allocation) {
	s.hunt.begin(s.part, x, r)
	s.trim.begin(&s.hunt)
	s.roll.sync()
	s.hunt.know(&s.roll)
	for place, n := range s.roll.nodes {
		plan, found, sure := s.trim.least(&s.roll, place)
		if !sure {
			continue
		}
		least = append(least, slices.Clone(plan.Victims))
		other, also := s.trim.onNode(n)
		whole = append(whole, slices.Clone(other.Victims))
		if found != also || found && (plan.cost != other.cost || plan.Right != other.Right || plan.Node != other.Node) {
			whole[len(whole)-1] = append(other.Victims, nil) // it differs
		}
	}
	return least, whole
}

// RollOf is all that s knows about nodes, up to date, as text.
func RollOf(s *Search) (lines []string) {
	l := &s.roll
	l.sync()
	for i, n := range l.nodes {
		c := &l.crews[i]
		line := fmt.Sprint(n.ID(), l.place[n] == i, c.room, c.all, c.upTo, c.grouped, c.covered, c.mixed, c.plain, l.only[i], " ",
			l.flat[2*l.kinds*i:2*l.kinds*(i+1)])
		for level := range c.upTo {
			v := c.freedBy(level) // which may be short, if there are more kinds of resources since
			line += fmt.Sprint(append(slices.Clone(v), make(resources.Vector, l.kinds-len(v))...))
		}
		for _, w := range c.inOrder() {
			line += fmt.Sprint(" ", w.y.Key(), w.shape.Vector(), w.since, w.number, w.kind, l.leaves[w.leaf].Path())
		}
		lines = append(lines, line)
	}
	var leaves []string
	for number, places := range l.works {
		if len(places) > 0 {
			leaves = append(leaves, fmt.Sprint(l.leaves[number].Path(), places))
		}
	}
	slices.Sort(leaves)
	return append(lines, leaves...)
}

// InTurn are places in the order of a queueOfPlaces.
func InTurn(ranks []int64, places []int32) (turns []int) {
	var q queueOfPlaces
	for i, rank := range ranks {
		q = append(q, turn{rank, places[i]})
	}
	q.each(func(place int) bool {
		turns = append(turns, place)
		return true
	})
	return turns
}

// FillLog makes the list of what was renewed as long as it may be: the next look but one lists all
// nodes anew, and gives leaves other numbers.
func FillLog(s *Search) {
	s.roll.sync()
	for len(s.roll.log) < 4*len(s.roll.nodes)+64 {
		s.roll.log = append(s.roll.log, 0)
	}
}

// Leaves is how many leaves s knows.
func Leaves(s *Search) int {
	s.roll.sync()
	return len(s.roll.leaves)
}
