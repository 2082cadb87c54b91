package tune

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/lab/whatif"
	"github.com/canopy-scheduler/canopy/internal/testing/testscale"
	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/configs/queuesyaml"
)

// fixed returns an evaluation that has the same outcome whatever is changed.
func fixed(groups ...whatif.Group) func(*configs.Config) (*whatif.Comparison, error) {
	return func(*configs.Config) (*whatif.Comparison, error) {
		return &whatif.Comparison{Partition: "default", Changed: whatif.Outcome{Queues: groups}}, nil
	}
}

// landscape has, by how far each of three ladders is climbed (0: not at all), how much less root.team.prod waits and
// how much more root.team.dev does. All are monotone.
type landscape struct {
	offset, above, guarantee [][2]time.Duration // less, more
	maxVcore                 int                // of root.team.prod; 0: none
}

func randomLandscape(g *rand.Rand) landscape {
	ladder := func(n int) [][2]time.Duration {
		out := [][2]time.Duration{{}}
		scale := [2]int64{1 + g.Int64N(40), 1 + g.Int64N(25)}
		for range n {
			last := out[len(out)-1]
			out = append(out,
				[2]time.Duration{last[0] + time.Duration(g.Int64N(scale[0]))*time.Second,
					last[1] + time.Duration(g.Int64N(scale[1]))*time.Second})
		}
		return out
	}
	return landscape{ladder(len(offsetLadder)), ladder(len(offsetLadder)), ladder(len(guaranteeLadder)),
		[]int{0, 12, 16, 40}[g.IntN(4)]}
}

func (l landscape) text() string {
	if l.maxVcore == 0 {
		return teams
	}
	return strings.Replace(teams, "guaranteed: {vcore: 10, gpu: 3}",
		"guaranteed: {vcore: 10, gpu: 3}, max: {vcore: "+strconv.Itoa(l.maxVcore)+"}", 1)
}

// at returns the outcome at a point of the ladders.
func (l landscape) at(i, j, k int) whatif.Outcome {
	less, more := l.offset[i][0]+l.above[j][0]+l.guarantee[k][0], l.offset[i][1]+l.above[j][1]+l.guarantee[k][1]
	return whatif.Outcome{Queues: []whatif.Group{
		{Name: "root.team.dev", Asks: 1, Waits: []time.Duration{20*time.Second + more}},
		{Name: "root.team.prod", Asks: 1, Waits: []time.Duration{max(0, 100*time.Second-less)}},
	}}
}

func (l landscape) evaluate(c *configs.Config) (*whatif.Comparison, error) {
	queues := queuesOf(&c.Partitions[0])
	i := 1 + slices.Index(offsetLadder, int64(queues["root.team.prod"].PriorityOffset)+5)
	j := 1 + slices.Index(offsetLadder, int64(queues["root.team"].PriorityOffset))
	n, _ := queues["root.team.prod"].Guaranteed.Get("vcore")
	return &whatif.Comparison{Partition: "default", Changed: l.at(i, j, slices.Index(prodGuarantees, int64(n)))}, nil
}

// prodGuarantees is what root.team.prod is guaranteed, by how far the ladder is climbed.
var prodGuarantees = []int64{10_000, 13_000, 15_000, 20_000, 30_000, 50_000}

// bruteForce tries everything, in the order of the families, and returns the point of the first that meets all.
func (l landscape) bruteForce(below, dev time.Duration) (point [3]int, ok bool) {
	meets := func(i, j, k int) bool {
		o := l.at(i, j, k)
		return o.Queues[1].Waits[0] < below && o.Queues[0].Waits[0] <= dev &&
			(l.maxVcore == 0 || prodGuarantees[k] <= int64(l.maxVcore)*1000)
	}
	tops := len(offsetLadder)
	for i := 1; i <= tops; i++ {
		if meets(i, 0, 0) {
			return [3]int{i, 0, 0}, true
		}
	}
	for j := 1; j <= tops; j++ {
		if meets(0, j, 0) {
			return [3]int{0, j, 0}, true
		}
	}
	for k := 1; k < len(prodGuarantees); k++ {
		if meets(0, 0, k) {
			return [3]int{0, 0, k}, true
		}
	}
	own := l.at(tops, 0, 0).Queues[1].Waits[0] <= l.at(0, tops, 0).Queues[1].Waits[0]
	for k := 1; k < len(prodGuarantees); k++ {
		for x := 1; x <= tops; x++ {
			switch {
			case own && meets(x, 0, k):
				return [3]int{x, 0, k}, true
			case !own && meets(0, x, k):
				return [3]int{0, x, k}, true
			}
		}
	}
	return point, false
}

// The search finds what trying everything finds, with at most 4 trials of a ladder of up to 7 values.
func TestRun_FindsWhatBruteForceFinds(t *testing.T) {
	first := rand.Uint64N(1 << 40)
	kinds := map[string]int{}
	runs := testscale.Runs(1000)
	// few need both changes together
	for n := 0; n < runs || n < 10*runs && min(kinds["none"], kinds["one"], kinds["together"]) < 3; n++ {
		seed := first + uint64(n)
		g := rand.New(rand.NewPCG(seed, 1))
		l := randomLandscape(g)
		below := time.Duration(1+g.Int64N(95)) * time.Second
		objectives, dev := []Objective{{"root.team.prod", "p95", below}}, 41*time.Second // twice its wait and a second
		if g.IntN(2) == 0 {
			dev = time.Duration(20+g.Int64N(40)) * time.Second
			objectives = append(objectives, Objective{"root.team.dev", "max", dev + 1}) // it holds, and must hold still
		}
		r, err := Run([]byte(l.text()), "default",
			Options{Objectives: objectives, Others: 2, MaxTrials: 100, Evaluate: l.evaluate})
		assert.NilError(t, err, "seed %d", seed)
		want, ok := l.bruteForce(below, dev)
		evaluated := 0
		for _, x := range r.Trials {
			if x.Refused == "" {
				evaluated++
			}
		}
		assert.Assert(t, evaluated <= 4+4+4+12, "seed %d: %d trials", seed, evaluated)
		if !ok {
			kinds["none"]++
			assert.Equal(t, r.Status, NotFound, "seed %d: %v", seed, r.Proposal)
			assert.Assert(t, r.Proposal == nil || r.Proposal.MeetsOthers && r.Proposal.Figures[0] < r.Base.Figures[0], "seed %d",
				seed)
			continue
		}
		assert.Equal(t, r.Status, Found, "seed %d: %v", seed, want)
		conf, problems := queuesyaml.Load(r.Text)
		assert.Assert(t, conf != nil, "%v", problems)
		got, err := l.evaluate(conf)
		assert.NilError(t, err)
		assert.DeepEqual(t, got.Changed, l.at(want[0], want[1], want[2]))
		var c Change
		queues := teamQueues(t)
		if want[0] > 0 {
			c = append(c, offsetFamilies([]string{"root.team.prod"}, queues)[0][want[0]-1]...)
		}
		if want[1] > 0 {
			c = append(c, offsetFamilies([]string{"root.team.prod"}, queues)[1][want[1]-1]...)
		}
		if want[2] > 0 {
			c = append(c, guaranteeFamily([]string{"root.team.prod"}, queues, nil)[want[2]-1]...)
		}
		assert.Equal(t, r.Proposal.Change.String(), c.String(), "seed %d", seed)
		kinds[map[bool]string{true: "one", false: "together"}[want[2] == 0 || want[0]+want[1] == 0]]++
	}
	assert.Assert(t, min(kinds["none"], kinds["one"], kinds["together"]) >= 3, "%v", kinds)
}
