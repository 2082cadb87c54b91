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

// CycleDetector watches for room that goes round. Room goes from one leaf to another when somebody
// there takes the place of somebody here, and back when who took it then gives up: the others
// left for nothing. When it has gone round a circle of leaves often enough, the circle is
// named, and neighbours in it are paused: neither may take the place of the other.
//
// Only what goes round counts. A leaf that takes a thousand places at once has taken room
// once, until the other has got some in between.
type CycleDetector struct {
	rule           configs.Churn
	clock          uint64                      // grows with every move
	lastGain       map[vertex]uint64           // when room last went there
	transfers      map[transfer]*transferTimes // by where from and where to
	dropOldAt      int                         // how many moves there are when old ones are next looked for
	coolDowns      []CoolDown                  // the oldest first
	endedCoolDowns uint64
}

// vertex is where room can be: with the work of a leaf, or with those in it who took it from
// that work.
type vertex struct {
	leaf      objects.QueuePath
	preemptor bool
}

type transfer struct{ from, to vertex }

// transferTimes are when a move happened, as far as it counts: the last of them, the oldest first.
type transferTimes struct {
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

// CoolDown keeps two leaves from taking each other's place; with A for B, one from taking its own.
type CoolDown struct {
	A, B         objects.QueuePath // in name order
	Since, Until time.Time
}

// RecordPreemption notes that an ask of a leaf took the place of work in others, which are named once
// each. It returns the circles that this has closed.
func (c *CycleDetector) RecordPreemption(preemptor objects.QueuePath, from []objects.QueuePath, now time.Time) (closed []Cycle) {
	for _, leaf := range from {
		if cycle := c.record(vertex{leaf: leaf}, vertex{preemptor, preemptor == leaf}, now); cycle != nil {
			closed = append(closed, cycle)
		}
	}
	return closed
}

// RecordGiveUp notes that an ask for which others left has given up. As Took.
func (c *CycleDetector) RecordGiveUp(preemptor objects.QueuePath, to []objects.QueuePath, now time.Time) (closed []Cycle) {
	for _, leaf := range to {
		if cycle := c.record(vertex{preemptor, preemptor == leaf}, vertex{leaf: leaf}, now); cycle != nil {
			closed = append(closed, cycle)
		}
	}
	return closed
}

func (c *CycleDetector) record(from, to vertex, now time.Time) Cycle {
	if c.rule.Cycles <= 0 {
		return nil
	}
	c.clock++
	c.lastGain[to] = c.clock
	m := transfer{from, to}
	r := c.transfers[m]
	if r == nil {
		c.dropOldTransfers(now)
		r = &transferTimes{}
		c.transfers[m] = r
	}
	if n := len(r.times); n > 0 && c.withinWindow(r.times[n-1], now) && c.lastGain[from] < r.last {
		return nil
	}
	if r.last = c.clock; len(r.times) == c.rule.Cycles {
		r.times = slices.Delete(r.times, 0, 1)
	}
	r.times = append(r.times, now)
	cycle := c.shortestCycle(m, now)
	if cycle == nil {
		return nil
	}
	return c.closeCycle(cycle, now)
}

func (c *CycleDetector) withinWindow(at, now time.Time) bool { return now.Sub(at) < c.rule.Window }

// isFrequent reports whether a move has happened often enough.
func (c *CycleDetector) isFrequent(m transfer, now time.Time) bool {
	r := c.transfers[m]
	return r != nil && len(r.times) == c.rule.Cycles && c.withinWindow(r.times[0], now)
}

// shortestCycle is the shortest circle of moves that happen often with m in it, from where m leads;
// of several the first in name order. Nil: there is none.
func (c *CycleDetector) shortestCycle(m transfer, now time.Time) []vertex {
	if !c.isFrequent(m, now) {
		return nil
	}
	next := map[vertex][]vertex{}
	for other := range c.transfers {
		if c.isFrequent(other, now) {
			next[other.from] = append(next[other.from], other.to)
		}
	}
	before := map[vertex]vertex{m.to: {}}
	for queue := []vertex{m.to}; len(queue) > 0; queue = queue[1:] {
		slices.SortFunc(next[queue[0]], compareVertices)
		for _, s := range next[queue[0]] {
			if _, seen := before[s]; seen {
				continue
			}
			if before[s] = queue[0]; s == m.from {
				return pathTo(s, m.to, before)
			}
			queue = append(queue, s)
		}
	}
	return nil
}

func pathTo(s, start vertex, before map[vertex]vertex) []vertex {
	path := []vertex{s}
	for s != start {
		s = before[s]
		path = append(path, s)
	}
	slices.Reverse(path)
	return path
}

func compareVertices(a, b vertex) int {
	return cmp.Or(cmp.Compare(a.leaf, b.leaf), cmp.Compare(boolToInt(a.preemptor), boolToInt(b.preemptor)))
}

// closeCycle forgets how often room has gone round a circle, and pauses those beside each other.
func (c *CycleDetector) closeCycle(vertices []vertex, now time.Time) Cycle {
	first := slices.Index(vertices, slices.MinFunc(vertices, compareVertices))
	vertices = slices.Concat(vertices[first:], vertices[:first])
	var cycle Cycle
	for i, s := range vertices {
		other := vertices[(i+1)%len(vertices)]
		delete(c.transfers, transfer{s, other})
		delete(c.transfers, transfer{other, s})
		if c.rule.CircuitBreaker && !c.CoolingDown(s.leaf, other.leaf) {
			c.coolDowns = append(c.coolDowns, CoolDown{min(s.leaf, other.leaf), max(s.leaf, other.leaf), now, now.Add(c.rule.CoolDown)})
		}
		if i == 0 || s.leaf != vertices[i-1].leaf {
			cycle = append(cycle, s.leaf)
		}
	}
	return cycle
}

// dropOldTransfers forgets moves that have not happened for so long that they do not count.
func (c *CycleDetector) dropOldTransfers(now time.Time) {
	if len(c.transfers)+len(c.lastGain) < c.dropOldAt {
		return
	}
	starts := map[vertex]bool{}
	for m, r := range c.transfers {
		if !c.withinWindow(r.times[len(r.times)-1], now) {
			delete(c.transfers, m)
			continue
		}
		starts[m.from] = true
	}
	for s := range c.lastGain {
		if !starts[s] {
			delete(c.lastGain, s)
		}
	}
	c.dropOldAt = 2*(len(c.transfers)+len(c.lastGain)) + 64
}

// SetConfig puts a rule in force at a time and returns the pauses that end then. With another rule,
// counting begins anew. A pause lasts as long as it was made to, unless there is no breaker.
func (c *CycleDetector) SetConfig(rule configs.Churn, now time.Time) (ended []CoolDown) {
	if c.rule != rule {
		c.rule, c.lastGain, c.transfers = rule, map[vertex]uint64{}, map[transfer]*transferTimes{}
	}
	c.coolDowns = slices.DeleteFunc(c.coolDowns, func(p CoolDown) bool {
		over := !rule.CircuitBreaker || !now.Before(p.Until)
		if over {
			ended = append(ended, p)
		}
		return over
	})
	c.endedCoolDowns += uint64(len(ended))
	return ended
}

// CoolingDown reports whether neither of two leaves may take the place of the other.
func (c *CycleDetector) CoolingDown(a, b objects.QueuePath) bool {
	return slices.ContainsFunc(c.coolDowns, func(p CoolDown) bool { return p.A == min(a, b) && p.B == max(a, b) })
}

// CoolDowns are those that last, the oldest first. Read-only, and good until one begins or ends.
func (c *CycleDetector) CoolDowns() []CoolDown { return c.coolDowns }

// EndedCoolDowns is how many pauses have ended.
func (c *CycleDetector) EndedCoolDowns() uint64 { return c.endedCoolDowns }

// NextCoolDownEnd is when the first pause ends.
func (c *CycleDetector) NextCoolDownEnd() (at time.Time, ok bool) {
	for _, p := range c.coolDowns {
		if !ok || p.Until.Before(at) {
			at, ok = p.Until, true
		}
	}
	return at, ok
}
