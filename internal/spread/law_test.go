package spread_test

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/spread"
	"github.com/canopy-scheduler/canopy/internal/testscale"
)

// eachSeed runs a law with many seeds. A run is repeated by CANOPY_SPREAD_SEED.
func eachSeed(t *testing.T, runs int, law func(t *testing.T, random *rand.Rand)) {
	t.Helper()
	first, n := uint64(1), uint64(testscale.Runs(runs))
	if seed, err := strconv.ParseUint(os.Getenv("CANOPY_SPREAD_SEED"), 10, 64); err == nil {
		first, n = seed, 1
	}
	var seed uint64
	defer func() {
		if t.Failed() {
			t.Logf("CANOPY_SPREAD_SEED=%d", seed)
		}
	}()
	for seed = first; seed < first+n; seed++ {
		law(t, rand.New(rand.NewPCG(seed, 5)))
	}
}

// input is a call of Next in which anything may be: members that are gone, partitions that are led twice, loads that are none.
type input struct {
	now        spread.Assignment
	partitions []string
	members    []spread.Member
	opt        spread.Options
}

func randomLoad(random *rand.Rand) float64 {
	switch random.IntN(8) {
	case 0:
		return 0
	case 1:
		return []float64{math.NaN(), math.Inf(1), math.Inf(-1), -1, math.MaxFloat64, math.SmallestNonzeroFloat64}[random.IntN(6)]
	case 2:
		return float64(random.IntN(3))
	}
	return math.Exp(10*random.Float64()) - 1
}

func randomInput(random *rand.Rand) (in input) {
	all := names(1 + random.IntN(12))
	in.now = spread.Assignment{Members: map[string]string{}, Round: random.Uint64N(100)}
	for _, p := range all {
		if random.IntN(4) > 0 {
			in.partitions = append(in.partitions, p)
		}
	}
	for i := range random.IntN(6) {
		m := spread.Member{Name: fmt.Sprintf("m%d", i), Leads: map[string]float64{}}
		if random.IntN(5) > 0 {
			in.members = append(in.members, m)
		}
	}
	calm := random.IntN(2) == 0 // nothing is to be placed, and everything is led where it is assigned
	if calm {
		in.partitions = all
	}
	for _, p := range all {
		switch {
		case calm && len(in.members) > 0:
			in.now.Members[p] = in.members[random.IntN(1+random.IntN(len(in.members)))].Name
		case random.IntN(5) > 0:
			in.now.Members[p] = fmt.Sprintf("m%d", random.IntN(6))
		}
		for _, m := range in.members {
			if calm && in.now.Members[p] == m.Name || !calm && random.IntN(4) == 0 {
				m.Leads[p] = randomLoad(random)
			}
		}
	}
	in.opt = spread.Options{Gain: []float64{0, 0.1, 0.01, 0.5, -1, math.NaN(), math.Inf(1)}[random.IntN(7)], MaxMoves: random.IntN(4)}
	return in
}

func (in *input) next() (spread.Assignment, bool) {
	return spread.Next(in.now, in.partitions, in.members, in.opt)
}

func (in *input) leaders(partition string) (all []string) {
	for _, m := range in.members {
		if _, ok := m.Leads[partition]; ok {
			all = append(all, m.Name)
		}
	}
	return all
}

func (in *input) living(name string) bool {
	return slices.ContainsFunc(in.members, func(m spread.Member) bool { return m.Name == name })
}

// With a member, each partition of the configuration is assigned to a living one, a partition that has left it to a member that leads it, and no
// other is assigned. Moves from one living member to another are bounded, and there are none while another is under way.
func TestLaw_EachPartitionIsAssigned(t *testing.T) {
	moved, drained := 0, 0
	eachSeed(t, 100_000, func(t *testing.T, random *rand.Rand) {
		in := randomInput(random)
		next, changed := in.next()
		assert.Equal(t, changed, !maps.Equal(next.Members, in.now.Members))
		if !changed {
			assert.Equal(t, next.Round, in.now.Round)
		} else {
			assert.Equal(t, next.Round, in.now.Round+1)
		}
		if len(in.members) == 0 {
			assert.Assert(t, !changed)
			return
		}
		for _, p := range in.partitions {
			assert.Assert(t, in.living(next.Members[p]), "%s: %v", p, next)
			if leaders := in.leaders(p); !in.living(in.now.Members[p]) && len(leaders) > 0 {
				assert.Assert(t, slices.Contains(leaders, next.Members[p]), "%s is led by %v: %v", p, leaders, next)
			}
		}
		under := false
		for p, name := range next.Members {
			leaders := in.leaders(p)
			if before := in.now.Members[p]; in.living(before) && !slices.Contains(leaders, before) {
				under = true
			}
			if !slices.Contains(in.partitions, p) {
				drained++
				assert.Assert(t, slices.Contains(leaders, name), "%s has left and is led by %v: %v", p, leaders, next)
				if before := in.now.Members[p]; slices.Contains(leaders, before) {
					assert.Equal(t, name, before)
				}
			}
		}
		for _, m := range in.members {
			for p := range m.Leads {
				assert.Assert(t, next.Members[p] != "", "%s is led and not assigned: %v", p, next)
			}
		}
		n := moves(in, next)
		moved += n
		assert.Assert(t, n <= max(1, in.opt.MaxMoves), "%d moves: %v", n, next)
		assert.Assert(t, n == 0 || !under, "a move while another is under way: %v, then %v", in.now, next)
	})
	if os.Getenv("CANOPY_SPREAD_SEED") == "" {
		assert.Assert(t, moved > 100 && drained > 100, "%d moves, %d partitions that drain", moved, drained)
	}
}

// moves are how many partitions of the configuration go from one living member to another.
func moves(in input, next spread.Assignment) (n int) {
	for _, p := range in.partitions {
		if before := in.now.Members[p]; in.living(before) && next.Members[p] != before {
			n++
		}
	}
	return n
}

// The result depends neither on the order of the arguments nor on chance, and shares nothing with them.
func TestLaw_OrderAndAliases(t *testing.T) {
	eachSeed(t, 30_000, func(t *testing.T, random *rand.Rand) {
		in := randomInput(random)
		before := fmt.Sprint(in)
		next, changed := in.next()
		assert.Equal(t, fmt.Sprint(in), before, "the arguments have changed")
		other := input{in.now.Clone(), slices.Clone(in.partitions), slices.Clone(in.members), in.opt}
		random.Shuffle(len(other.partitions), func(i, j int) { other.partitions[i], other.partitions[j] = other.partitions[j], other.partitions[i] })
		random.Shuffle(len(other.members), func(i, j int) { other.members[i], other.members[j] = other.members[j], other.members[i] })
		other.partitions = append(other.partitions, other.partitions...)
		again, changedAgain := other.next()
		assert.DeepEqual(t, again, next)
		assert.Equal(t, changedAgain, changed)
		next.Members["new"] = "m"
		assert.Equal(t, fmt.Sprint(in), before, "the result shares something with the arguments")
	})
}

// Placements go to the members with the least weight: none that was placed could be on a lighter member by more than its own weight.
func TestLaw_PlacementsAreOnTheLightest(t *testing.T) {
	eachSeed(t, 30_000, func(t *testing.T, random *rand.Rand) {
		g := newCluster(names(1+random.IntN(12)), "m1", "m2", "m3", "m4")
		for _, p := range g.partitions {
			g.loads[p] = 100 * random.Float64()
		}
		g.rest(t, spread.Options{})
		gone := fmt.Sprintf("m%d", 1+random.IntN(4))
		delete(g.members, gone)
		placed := g.now.Of(gone)
		now := g.now.Clone()
		loads := g.loads
		g.loads = map[string]float64{}
		for p, load := range loads {
			if now.Members[p] != gone {
				g.loads[p] = load // no member says what the load of the others is
			}
		}
		g.now, _ = spread.Next(now, g.partitions, g.announced(), spread.Options{})
		of, weights := g.weights()
		for _, p := range placed {
			for name, weight := range weights {
				assert.Assert(t, weights[g.now.Members[p]]-of[p] <= weight+1e-9, "%s is on %s, and %s is lighter: %v", p, g.now.Members[p], name, weights)
			}
		}
		for p, name := range now.Members {
			assert.Assert(t, name == gone || g.now.Members[p] == name, "%s has moved with a placement", p)
		}
	})
}

// With constant loads an assignment that is carried out comes to rest: within as many calls as partitions times members, after which no move
// would gain. Members come and go in between.
func TestLaw_ComesToRest(t *testing.T) {
	most, moved := 0.0, 0
	eachSeed(t, 10_000, func(t *testing.T, random *rand.Rand) {
		opt := spread.Options{Gain: []float64{0.1, 0.01, 0.001, 0.5}[random.IntN(4)], MaxMoves: 1 + random.IntN(2)*random.IntN(3)}
		g := newCluster(names(1+random.IntN(30)), "m0")
		for _, p := range g.partitions {
			g.loads[p] = []float64{0, 1, 100 * random.Float64(), math.Exp(12 * random.Float64())}[random.IntN(4)]
		}
		for range 5 {
			switch name := fmt.Sprintf("m%d", random.IntN(8)); {
			case !g.members[name]:
				g.members[name] = true
			case len(g.members) > 1:
				delete(g.members, name)
			}
			n := g.rest(t, opt)
			moved += n
			most = max(most, float64(n)/float64(len(g.partitions)))
			partition, to := g.gaining(opt.Gain)
			_, weights := g.weights()
			assert.Equal(t, partition, "", "%v: a move to %s would gain: %v", weights, to, g.now)
		}
	})
	t.Logf("%d moves; at most %.2f for each partition until it rests", moved, most)
	assert.Assert(t, moved > 1000 || os.Getenv("CANOPY_SPREAD_SEED") != "", "%d moves", moved)
}

// Where all partitions weigh the same, a member that comes gets its share, within the gain.
func TestLaw_MembersThatComeGetTheirShare(t *testing.T) {
	eachSeed(t, 2000, func(t *testing.T, random *rand.Rand) {
		g := newCluster(names(1+random.IntN(80)), "m0")
		for i := range 1 + random.IntN(6) {
			g.rest(t, spread.Options{})
			g.members[fmt.Sprintf("m%d", i+1)] = true
		}
		g.rest(t, spread.Options{})
		share := float64(len(g.partitions)) / float64(len(g.members))
		for name := range g.members {
			got := float64(len(g.now.Of(name)))
			assert.Assert(t, got >= math.Floor(share-2*max(1, spread.DefaultGain*share)), "%s has %v of %v: %v", name, got, share, g.now)
		}
	})
}
