package spread_test

import (
	"maps"
	"slices"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/spread"
)

// cluster is a group whose members carry out each assignment at once.
type cluster struct {
	partitions []string
	members    map[string]bool
	loads      map[string]float64
	now        spread.Assignment
}

func newCluster(partitions []string, members ...string) *cluster {
	g := &cluster{partitions: partitions, members: map[string]bool{}, loads: map[string]float64{}}
	for _, name := range members {
		g.members[name] = true
	}
	return g
}

// announced are the members, which lead what is assigned to them.
func (g *cluster) announced() (all []spread.Member) {
	for _, name := range slices.Sorted(maps.Keys(g.members)) {
		m := spread.Member{Name: name, Leads: map[string]float64{}}
		for _, p := range g.now.Of(name) {
			m.Leads[p] = g.loads[p]
		}
		all = append(all, m)
	}
	return all
}

// rest assigns until nothing changes, and returns how many partitions were moved from one member to another.
func (g *cluster) rest(t *testing.T, opt spread.Options) (moves int) {
	t.Helper()
	bound := max(1, len(g.partitions)*len(g.members))
	for calls := 0; ; calls++ {
		next, changed := spread.Next(g.now, g.partitions, g.announced(), opt)
		if !changed {
			return moves
		}
		assert.Assert(t, calls < bound, "%d calls, and it still changes", calls)
		for p, name := range next.Members {
			if from := g.now.Members[p]; from != "" && from != name {
				moves++
			}
		}
		g.now = next
	}
}

// weights are those of members, counted anew in floating point.
func (g *cluster) weights() (of map[string]float64, members map[string]float64) {
	of, members = map[string]float64{}, map[string]float64{}
	total := 0.0
	for p := range g.now.Members {
		total += g.loads[p]
	}
	for name := range g.members {
		members[name] = 0
	}
	for p, name := range g.now.Members {
		of[p] = 1 / float64(len(g.now.Members))
		if total > 0 {
			of[p] = of[p]/2 + g.loads[p]/total/2
		}
		members[name] += of[p]
	}
	return of, members
}

// gaining is a move that would still gain: of one partition, or of the first of several small ones. Empty: none would.
func (g *cluster) gaining(gain float64) (partition, to string) {
	const rounding = 1e-9
	of, weights := g.weights()
	least := gain / float64(len(g.members))
	small := map[string]float64{}
	for p, name := range g.now.Members {
		if of[p] < least && slices.Contains(g.partitions, p) {
			small[name] += of[p]
		}
	}
	for p, from := range g.now.Members {
		if !slices.Contains(g.partitions, p) {
			continue
		}
		for to := range g.members {
			heavier := max(weights[from]-of[p], weights[to]+of[p])
			alone := to != from && weights[from]-heavier >= least+rounding
			together := to != from && of[p] < least-rounding && small[from] >= least+rounding && weights[from]-weights[to]-of[p] >= least+rounding
			if alone || together {
				return p, to
			}
		}
	}
	return "", ""
}
