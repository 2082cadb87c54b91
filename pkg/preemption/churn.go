package preemption

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/objects"
)

// Churn watches for room that goes round. Room goes from one leaf to another when somebody
// there takes the place of somebody here, and back when who took it then gives up: the others
// left for nothing. When it has gone round a circle of leaves often enough, the circle is
// named, and neighbours in it are paused: neither may take the place of the other.
//
// Only what goes round counts. A leaf that takes a thousand places at once has taken room
// once, until the other has got some in between.
type Churn struct {
	rule   configs.Churn
	clock  uint64           // grows with every move
	gained map[stop]uint64  // when room last went there
	moves  map[move]*rounds // by where from and where to
	sweep  int              // how many moves there are when old ones are next looked for
	pauses []Pause          // the oldest first
	ended  uint64
}

// stop is where room can be: with the work of a leaf, or with those in it who took it from
// that work.
type stop struct {
	leaf  objects.QueuePath
	taker bool
}

type move struct{ from, to stop }

// rounds are when a move happened, as far as it counts: the last of them, the oldest first.
type rounds struct {
	times []time.Time
	last  uint64
}

// Cycle is a circle of leaves: room goes from each to the next, and from the last to the first.
// One leaf alone: room goes from its work to others in it, and back. The first in name order
// is first.
type Cycle []objects.QueuePath

func (c Cycle) String() string {
	var b strings.Builder
	for _, leaf := range c {
		fmt.Fprintf(&b, "%s -> ", leaf)
	}
	return b.String() + string(c[0])
}

// Pause keeps two leaves from taking each other's place; with A for B, one from taking its own.
type Pause struct {
	A, B         objects.QueuePath // in name order
	Since, Until time.Time
}

// Took notes that an ask of a leaf took the place of work in others, which are named once
// each. It returns the circles that this has closed.
func (c *Churn) Took(taker objects.QueuePath, from []objects.QueuePath, now time.Time) (closed []Cycle) {
	for _, leaf := range from {
		if cycle := c.move(stop{leaf: leaf}, stop{taker, taker == leaf}, now); cycle != nil {
			closed = append(closed, cycle)
		}
	}
	return closed
}

// GaveBack notes that an ask for which others left has given up. As Took.
func (c *Churn) GaveBack(taker objects.QueuePath, to []objects.QueuePath, now time.Time) (closed []Cycle) {
	for _, leaf := range to {
		if cycle := c.move(stop{taker, taker == leaf}, stop{leaf: leaf}, now); cycle != nil {
			closed = append(closed, cycle)
		}
	}
	return closed
}

func (c *Churn) move(from, to stop, now time.Time) Cycle {
	if c.rule.Rounds <= 0 {
		return nil
	}
	c.clock++
	c.gained[to] = c.clock
	m := move{from, to}
	r := c.moves[m]
	if r == nil {
		c.forgetOld(now)
		r = &rounds{}
		c.moves[m] = r
	}
	if n := len(r.times); n > 0 && c.recent(r.times[n-1], now) && c.gained[from] < r.last {
		return nil
	}
	if r.last = c.clock; len(r.times) == c.rule.Rounds {
		r.times = slices.Delete(r.times, 0, 1)
	}
	r.times = append(r.times, now)
	around := c.around(m, now)
	if around == nil {
		return nil
	}
	return c.close(around, now)
}

func (c *Churn) recent(at, now time.Time) bool { return now.Sub(at) < c.rule.Window }

// often reports whether a move has happened often enough.
func (c *Churn) often(m move, now time.Time) bool {
	r := c.moves[m]
	return r != nil && len(r.times) == c.rule.Rounds && c.recent(r.times[0], now)
}

// around is the shortest circle of moves that happen often with m in it, from where m leads;
// of several the first in name order. Nil: there is none.
func (c *Churn) around(m move, now time.Time) []stop {
	if !c.often(m, now) {
		return nil
	}
	next := map[stop][]stop{}
	for other := range c.moves {
		if c.often(other, now) {
			next[other.from] = append(next[other.from], other.to)
		}
	}
	before := map[stop]stop{m.to: {}}
	for queue := []stop{m.to}; len(queue) > 0; queue = queue[1:] {
		slices.SortFunc(next[queue[0]], compareStops)
		for _, s := range next[queue[0]] {
			if _, seen := before[s]; seen {
				continue
			}
			if before[s] = queue[0]; s == m.from {
				return wayTo(s, m.to, before)
			}
			queue = append(queue, s)
		}
	}
	return nil
}

func wayTo(s, start stop, before map[stop]stop) []stop {
	way := []stop{s}
	for s != start {
		s = before[s]
		way = append(way, s)
	}
	slices.Reverse(way)
	return way
}

func compareStops(a, b stop) int {
	return cmp.Or(cmp.Compare(a.leaf, b.leaf), cmp.Compare(yes(a.taker), yes(b.taker)))
}

// close forgets how often room has gone round a circle, and pauses those beside each other.
func (c *Churn) close(around []stop, now time.Time) Cycle {
	first := slices.Index(around, slices.MinFunc(around, compareStops))
	around = slices.Concat(around[first:], around[:first])
	var cycle Cycle
	for i, s := range around {
		other := around[(i+1)%len(around)]
		delete(c.moves, move{s, other})
		delete(c.moves, move{other, s})
		if c.rule.Breaker && !c.Paused(s.leaf, other.leaf) {
			c.pauses = append(c.pauses, Pause{min(s.leaf, other.leaf), max(s.leaf, other.leaf), now, now.Add(c.rule.Pause)})
		}
		if i == 0 || s.leaf != around[i-1].leaf {
			cycle = append(cycle, s.leaf)
		}
	}
	return cycle
}

// forgetOld forgets moves that have not happened for so long that they do not count.
func (c *Churn) forgetOld(now time.Time) {
	if len(c.moves)+len(c.gained) < c.sweep {
		return
	}
	starts := map[stop]bool{}
	for m, r := range c.moves {
		if !c.recent(r.times[len(r.times)-1], now) {
			delete(c.moves, m)
			continue
		}
		starts[m.from] = true
	}
	for s := range c.gained {
		if !starts[s] {
			delete(c.gained, s)
		}
	}
	c.sweep = 2*(len(c.moves)+len(c.gained)) + 64
}

// Use puts a rule in force at a time and returns the pauses that end then. With another rule,
// counting begins anew. A pause lasts as long as it was made to, unless there is no breaker.
func (c *Churn) Use(rule configs.Churn, now time.Time) (ended []Pause) {
	if c.rule != rule {
		c.rule, c.gained, c.moves = rule, map[stop]uint64{}, map[move]*rounds{}
	}
	c.pauses = slices.DeleteFunc(c.pauses, func(p Pause) bool {
		over := !rule.Breaker || !now.Before(p.Until)
		if over {
			ended = append(ended, p)
		}
		return over
	})
	c.ended += uint64(len(ended))
	return ended
}

// Paused reports whether neither of two leaves may take the place of the other.
func (c *Churn) Paused(a, b objects.QueuePath) bool {
	return slices.ContainsFunc(c.pauses, func(p Pause) bool { return p.A == min(a, b) && p.B == max(a, b) })
}

// Pauses are those that last, the oldest first. Read-only, and good until one begins or ends.
func (c *Churn) Pauses() []Pause { return c.pauses }

// Ended is how many pauses have ended.
func (c *Churn) Ended() uint64 { return c.ended }

// NextEnd is when the first pause ends.
func (c *Churn) NextEnd() (at time.Time, ok bool) {
	for _, p := range c.pauses {
		if !ok || p.Until.Before(at) {
			at, ok = p.Until, true
		}
	}
	return at, ok
}
