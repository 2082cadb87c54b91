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

// CycleDetector counts how often resources move between leaves by preemption, and detects cycles, a livelock in which
// leaves preempt each other in turn without progress (PRE-103).
// Resources move from the leaf of a victim to the leaf of the preemptor, and back when the nomination of the
// preemptor is given up. When each move of a circle of leaves has happened often enough, the cycle is reported,
// and its neighbours are put in a cool-down: neither may preempt the other (PRE-105).
//
// Rounds count, not victims: any number of moves from one leaf to another count once until the first leaf has gained
// something in between.
//
// The zero value detects nothing until SetConfig.
type CycleDetector struct {
	rule           configs.Churn
	clock          uint64                      // incremented by each move
	lastGain       map[vertex]uint64           // the clock at the last move to a vertex
	transfers      map[transfer]*transferTimes // by source and target
	dropOldAt      int                         // the number of entries at which old ones are dropped next
	coolDowns      []CoolDown                  // the oldest first
	endedCoolDowns uint64
}

// vertex holds resources: the victims of a leaf, or (preemptor) the asks of the leaf that preempt allocations of
// their own leaf (PRE-104).
type vertex struct {
	leaf      objects.QueuePath
	preemptor bool
}

// transfer is a move of resources.
type transfer struct{ from, to vertex }

// transferTimes holds the times at which a transfer counted.
type transferTimes struct {
	times []time.Time // the last rule.Cycles of them, the oldest first
	last  uint64      // the clock at the last one
}

// Cycle is a circle of leaves: resources move from each to the next, and from the last to the first. It begins
// with the first leaf in path order. A single leaf: resources move between its allocations and asks of the leaf
// itself.
type Cycle []objects.QueuePath

func (c Cycle) String() string {
	var b strings.Builder
	for _, leaf := range c {
		fmt.Fprintf(&b, "%s -> ", leaf)
	}
	return b.String() + string(c[0])
}

// CoolDown forbids preemption between two leaves in both directions; if A equals B, within that leaf.
type CoolDown struct {
	A, B         objects.QueuePath // in path order
	Since, Until time.Time
}

// RecordPreemption records that an ask of leaf preemptor preempted allocations of other leaves, each of which is
// named once. It returns the cycles that this closes.
func (c *CycleDetector) RecordPreemption(preemptor objects.QueuePath, from []objects.QueuePath,
	now time.Time) (closed []Cycle) {
	for _, leaf := range from {
		if cycle := c.record(vertex{leaf: leaf}, vertex{preemptor, preemptor == leaf}, now); cycle != nil {
			closed = append(closed, cycle)
		}
	}
	return closed
}

// RecordGiveUp records that the nomination of an ask that preempted allocations of other leaves was given up or
// timed out. It returns the cycles that this closes.
func (c *CycleDetector) RecordGiveUp(preemptor objects.QueuePath, to []objects.QueuePath,
	now time.Time) (closed []Cycle) {
	for _, leaf := range to {
		if cycle := c.record(vertex{preemptor, preemptor == leaf}, vertex{leaf: leaf}, now); cycle != nil {
			closed = append(closed, cycle)
		}
	}
	return closed
}

// record counts a move and returns the cycle that it closes, nil if none.
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
	r.last = c.clock
	if len(r.times) == c.rule.Cycles {
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

// isFrequent reports whether a transfer happened rule.Cycles times within the window.
func (c *CycleDetector) isFrequent(m transfer, now time.Time) bool {
	r := c.transfers[m]
	return r != nil && len(r.times) == c.rule.Cycles && c.withinWindow(r.times[0], now)
}

// shortestCycle returns the shortest circle of frequent transfers through m, beginning with the target of m; a tie is
// broken by path. nil: there is none.
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
			before[s] = queue[0]
			if s == m.from {
				return pathTo(s, m.to, before)
			}
			queue = append(queue, s)
		}
	}
	return nil
}

// pathTo returns the path from start to s that the search has found; before has the predecessor of each vertex.
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
	return cmp.Or(cmp.Compare(a.leaf, b.leaf), comparePreemptor(a, b))
}

// comparePreemptor returns a negative number when b is a preemptor and a is not.
func comparePreemptor(a, b vertex) int {
	switch {
	case a.preemptor == b.preemptor:
		return 0
	case b.preemptor:
		return -1
	}
	return 1
}

// closeCycle resets the counts of the transfers of a cycle, and puts its neighbours in a cool-down.
func (c *CycleDetector) closeCycle(vertices []vertex, now time.Time) Cycle {
	first := slices.Index(vertices, slices.MinFunc(vertices, compareVertices))
	vertices = slices.Concat(vertices[first:], vertices[:first])
	var cycle Cycle
	for i, s := range vertices {
		other := vertices[(i+1)%len(vertices)]
		delete(c.transfers, transfer{s, other})
		delete(c.transfers, transfer{other, s})
		if c.rule.CircuitBreaker && !c.CoolingDown(s.leaf, other.leaf) {
			c.coolDowns = append(c.coolDowns,
				CoolDown{min(s.leaf, other.leaf), max(s.leaf, other.leaf), now, now.Add(c.rule.CoolDown)})
		}
		if i == 0 || s.leaf != vertices[i-1].leaf {
			cycle = append(cycle, s.leaf)
		}
	}
	return cycle
}

// dropOldTransfers drops the transfers that are older than the window, once enough have accumulated (PRE-108).
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

// SetConfig sets the rule and returns the cool-downs that end at now (PRE-106). Another rule resets the counts. A
// cool-down keeps its end, unless the circuit breaker is off.
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

// CoolingDown reports whether two leaves, in any order, are in a cool-down.
func (c *CycleDetector) CoolingDown(a, b objects.QueuePath) bool {
	return slices.ContainsFunc(c.coolDowns, func(p CoolDown) bool { return p.A == min(a, b) && p.B == max(a, b) })
}

// CoolDowns returns the current cool-downs, the oldest first. Read-only, and valid until one begins or ends.
func (c *CycleDetector) CoolDowns() []CoolDown { return c.coolDowns }

// EndedCoolDowns returns how many cool-downs have ended.
func (c *CycleDetector) EndedCoolDowns() uint64 { return c.endedCoolDowns }

// NextCoolDownEnd returns the end of the first cool-down that ends after a time; ok is false when none does.
func (c *CycleDetector) NextCoolDownEnd(after time.Time) (at time.Time, ok bool) {
	for _, p := range c.coolDowns {
		if p.Until.After(after) && (!ok || p.Until.Before(at)) {
			at, ok = p.Until, true
		}
	}
	return at, ok
}
