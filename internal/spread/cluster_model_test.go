package spread_test

import (
	"cmp"
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
			from := g.now.Members[p]
			if from == "" || from == name {
				continue
			}
			moves++
			if g.members[from] && opt.MaxMoves <= 1 {
				assert.Assert(t, g.gains(p, name, cmp.Or(opt.Gain, spread.DefaultGain), -rounding), "%s moves from %s to %s, and that gains nothing: %v", p, from, name, g.now)
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

// small is the weight of the partitions on a member that may move and weigh less than the least gain.
func (g *cluster) small(of map[string]float64, member string, least float64) (sum float64) {
	for p, name := range g.now.Members {
		if name == member && of[p] < least && slices.Contains(g.partitions, p) {
			sum += of[p]
		}
	}
	return sum
}

// gains reports whether a move lowers the heavier member by the gain, alone or as one of several small partitions. It must do so by rounding
// more; with a negative one, by as much less.
func (g *cluster) gains(partition, to string, gain, rounding float64) bool {
	of, weights := g.weights()
	from, least := g.now.Members[partition], gain/float64(len(g.members))
	w := of[partition]
	if from == to || !slices.Contains(g.partitions, partition) || weights[from]-weights[to]-w < least+rounding {
		return false
	}
	return w >= least+rounding || w < least-rounding && g.small(of, from, least) >= least+rounding
}

// rounding is by how much sums of weights may differ.
const rounding = 1e-9

// gaining is a move that would still gain. Empty: none would.
func (g *cluster) gaining(gain float64) (partition, to string) {
	for p := range g.now.Members {
		for to := range g.members {
			if g.gains(p, to, gain, rounding) {
				return p, to
			}
		}
	}
	return "", ""
}
