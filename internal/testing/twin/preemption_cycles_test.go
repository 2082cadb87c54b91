package twin

import (
	"slices"
	"strings"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/preemption"
)

// Preemption cycles: all moves of capacity are stored, and counted anew each time.

// cycleDetector has the moves and the cool-downs.
type cycleDetector struct {
	configured, active configs.Churn
	moves              []capacityMove
	coolDowns          []preemption.CoolDown
	detected           []string // cycles: each leaf and the first again
}

// capacityMove is capacity that moved between two places by a preemption. A place is a leaf or,
// for preemption within a leaf, its preemptors.
type capacityMove struct {
	from, to string
	movedAt  time.Time
	counted  bool // it has counted for a cycle
}

func (t *Twin) endCoolDowns() {
	c := &t.cycles
	if c.active != c.configured {
		c.active, c.moves = c.configured, nil
	}
	c.coolDowns = slices.DeleteFunc(c.coolDowns, func(p preemption.CoolDown) bool {
		over := !c.active.CircuitBreaker || !t.now.Before(p.Until)
		for _, w := range t.allocations {
			if leaf := t.app(w.ask.App).leaf; over && (leaf == p.A || leaf == p.B) {
				delete(t.backedOff, t.askGroupKey(w.ask)) // its back-off ends
			}
		}
		return over
	})
}

func (t *Twin) coolingDown(a, b objects.QueuePath) bool {
	for _, p := range t.cycles.coolDowns {
		if p.A == a && p.B == b || p.A == b && p.B == a {
			return true
		}
	}
	return false
}

// moveEndpoints returns the places that a preemption moves capacity from and to.
func moveEndpoints(victimLeaf, preemptorLeaf objects.QueuePath) (from, to string) {
	if victimLeaf == preemptorLeaf {
		return string(victimLeaf), string(preemptorLeaf) + " taken"
	}
	return string(victimLeaf), string(preemptorLeaf)
}

func (t *Twin) recordPreemption(w *allocation, victims []*allocation) {
	w.victimLeaves = nil
	for _, y := range victims {
		if leaf := t.app(y.ask.App).leaf; !slices.Contains(w.victimLeaves, leaf) {
			w.victimLeaves = append(w.victimLeaves, leaf)
		}
	}
	for _, leaf := range w.victimLeaves {
		t.recordMove(moveEndpoints(leaf, t.app(w.ask.App).leaf))
	}
}

func (t *Twin) recordReturn(w *allocation) {
	for _, leaf := range w.victimLeaves {
		to, from := moveEndpoints(leaf, t.app(w.ask.App).leaf)
		t.recordMove(from, to)
	}
	w.victimLeaves = nil
}

func (t *Twin) recordMove(from, to string) {
	c := &t.cycles
	if c.active.Cycles == 0 {
		return
	}
	before := len(t.countedMoves(from, to))
	c.moves = append(c.moves, capacityMove{from: from, to: to, movedAt: t.now})
	if len(t.countedMoves(from, to)) == before || !t.movesOften(from, to) {
		return
	}
	var shortest []string
	t.cyclePaths(from, []string{to}, func(way []string) {
		if shortest == nil || len(way) < len(shortest) || len(way) == len(shortest) && slices.Compare(way, shortest) < 0 {
			shortest = slices.Clone(way)
		}
	})
	if shortest == nil {
		return
	}
	first := slices.Index(shortest, slices.Min(shortest))
	shortest = slices.Concat(shortest[first:], shortest[:first])
	c.detected = append(c.detected, cycleText(shortest))
	for i, a := range shortest {
		b := shortest[(i+1)%len(shortest)]
		for k := range c.moves {
			m := &c.moves[k]
			m.counted = m.counted || m.from == a && m.to == b || m.from == b && m.to == a
		}
		leafA, _, _ := strings.Cut(a, " ")
		leafB, _, _ := strings.Cut(b, " ")
		low, high := objects.QueuePath(min(leafA, leafB)), objects.QueuePath(max(leafA, leafB))
		if c.active.CircuitBreaker && !t.coolingDown(low, high) {
			c.coolDowns = append(c.coolDowns,
				preemption.CoolDown{A: low, B: high, Since: t.now, Until: t.now.Add(c.active.CoolDown)})
		}
	}
}

// cycleText names the leaves of a cycle of places.
func cycleText(places []string) string {
	var leaves []string
	for _, s := range places {
		if leaf, _, _ := strings.Cut(s, " "); !slices.Contains(leaves, leaf) {
			leaves = append(leaves, leaf)
		}
	}
	return strings.Join(append(leaves, leaves[0]), " -> ")
}

// countedMoves returns the moves between two places that count: the first within the observed time, and
// those that follow a move to their origin.
func (t *Twin) countedMoves(from, to string) (at []time.Time) {
	came := false
	for _, m := range t.cycles.moves {
		came = came || m.to == from
		if m.counted || m.from != from || m.to != to {
			continue
		}
		if came || len(at) == 0 || m.movedAt.Sub(at[len(at)-1]) >= t.cycles.active.Window {
			at = append(at, m.movedAt)
			came = false
		}
	}
	return at
}

func (t *Twin) movesOften(from, to string) bool {
	at, rule := t.countedMoves(from, to), t.cycles.active
	return len(at) >= rule.Cycles && t.now.Sub(at[len(at)-rule.Cycles]) < rule.Window
}

// cyclePaths yields all paths of frequent moves between two places.
func (t *Twin) cyclePaths(to string, path []string, found func(path []string)) {
	if path[len(path)-1] == to {
		found(path)
		return
	}
	var next []string
	for _, m := range t.cycles.moves {
		if m.from == path[len(path)-1] && !slices.Contains(path, m.to) && !slices.Contains(next, m.to) &&
			t.movesOften(m.from, m.to) {
			next = append(next, m.to)
		}
	}
	for _, s := range next {
		t.cyclePaths(to, append(slices.Clone(path), s), found)
	}
}
