package tune

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/lab/whatif"
	"github.com/canopy-scheduler/canopy/pkg/configs"
)

// prodBelow returns the objective of most of these tests.
func prodBelow(below time.Duration) Options {
	return Options{Objectives: []Objective{{"root.team.prod", "p95", below}}, Others: 2, MaxTrials: 40}
}

// offsets returns an evaluation in which prod waits 90 s less 1 s for each of its offset, and dev as much more.
func offsets(c *configs.Config) (*whatif.Comparison, error) {
	n := min(90, int(queuesOf(&c.Partitions[0])["root.team.prod"].PriorityOffset)+5)
	return fixed(group("root.batch", 7), group("root.team.dev", 20+n), group("root.team.prod", 90-n, 5))(c)
}

func TestRun_NothingIsNeeded(t *testing.T) {
	o := prodBelow(91 * time.Second)
	o.Evaluate = offsets
	r, err := Run([]byte(teams), "default", o)
	assert.NilError(t, err)
	assert.Equal(t, r.Status, NotNeeded)
	assert.Assert(t, r.Proposal == nil && r.Text == nil && len(r.Trials) == 0 && len(r.Diff) == 0)
	assert.Assert(t, strings.Contains(textOf(t, r), "no change is needed"))
}

// All objectives must hold. Only the queues whose own do not are changed.
func TestRun_AllObjectivesMustHold(t *testing.T) {
	for below, want := range map[time.Duration]Status{31 * time.Second: Found, 30 * time.Second: NotFound} {
		o := prodBelow(85 * time.Second)
		o.Objectives = append(o.Objectives, Objective{"root.team.dev", "p50", below})
		o.Evaluate = offsets
		r, err := Run([]byte(teams), "default", o)
		assert.NilError(t, err)
		assert.Equal(t, r.Status, want, "%s", textOf(t, r))
		if want == Found {
			assert.Equal(t, r.Proposal.Change.String(), "root.team.prod priority.offset -5 > 5")
			assert.DeepEqual(t, r.Proposal.Figures, []Wait{Wait(80 * time.Second), Wait(30 * time.Second)})
			assert.Assert(t, strings.Contains(textOf(t, r), "90.0s > 80.0s       20.0s > 30.0s"), "%s", textOf(t, r))
		}
	}
}

func textOf(t *testing.T, r *Result) string {
	t.Helper()
	var b strings.Builder
	assert.NilError(t, r.WriteText(&b))
	return b.String()
}

func TestRun_TextAndJSON(t *testing.T) {
	o := prodBelow(85 * time.Second)
	o.Evaluate = offsets
	var tried []string
	o.Tried = func(x *Trial) { tried = append(tried, x.Change.String()) }
	r, err := Run([]byte(teams), "default", o)
	assert.NilError(t, err)
	assert.Equal(t, textOf(t, r), `partition default, 0001-01-01T00:00:00Z to 0001-01-01T00:00:00Z (0s), 0 steps
objective: root.team.prod p95 < 1m25s
others: a median of at most 2 times what it was and 1 s, and at most 2 times as many asks that never ran and 1

TRIAL  CHANGE                                   root.team.prod p95  WORST OF THE OTHERS                      VERDICT
0      none                                     90.0s               -                                        as given
1      root.team.prod priority.offset -5 > 995  90.0s > 5.00s       root.team.dev p50 20.0s > 1m50s (x5.50)  `+
		`others wait too long
2      root.team.prod priority.offset -5 > 5    90.0s > 80.0s       root.team.dev p50 20.0s > 30.0s (x1.50)  meets all
3      root.team.prod priority.offset -5 > -4   90.0s > 89.0s       root.team.dev p50 20.0s > 21.0s (x1.05)  `+
		`an objective does not hold
4      root.team.prod priority.offset -5 > 0    90.0s > 85.0s       root.team.dev p50 20.0s > 25.0s (x1.25)  `+
		`an objective does not hold

proposal: root.team.prod priority.offset -5 > 5

lines of queues.yaml that it changes:
-10               - {name: prod, resources: {guaranteed: {vcore: 10, gpu: 3}}, `+
		`properties: {priority.offset: -5}} # the shop
+10               - {name: prod, resources: {guaranteed: {vcore: 10, gpu: 3}}, `+
		`properties: {priority.offset: 5}} # the shop
`)
	assert.Equal(t, len(tried), 4)
	out, err := json.Marshal(r)
	assert.NilError(t, err)
	var all struct {
		Status   string
		Trials   []map[string]any
		Proposal struct {
			Change  []map[string]string
			Figures []float64
			Worst   map[string]any
		}
		Diff []string
	}
	assert.NilError(t, json.Unmarshal(out, &all))
	assert.Equal(t, all.Status, "found")
	assert.Equal(t, len(all.Trials), 4)
	assert.DeepEqual(t, all.Proposal.Change,
		[]map[string]string{{"queue": "root.team.prod", "name": "priority.offset", "before": "-5", "after": "5"}})
	assert.DeepEqual(t, all.Proposal.Figures, []float64{80})
	assert.DeepEqual(t, all.Proposal.Worst, map[string]any{
		"queue": "root.team.dev", "factor": 1.5, "median": map[string]any{"before": 20.0, "after": 30.0},
		"neverRan": map[string]any{"before": 0.0, "after": 0.0},
	})
	assert.Equal(t, len(all.Diff), 2)
}

// When nothing meets all, the nearest that the others bear is shown, with what is missing.
func TestRun_SaysWhyNothingWasFound(t *testing.T) {
	o := prodBelow(40 * time.Second)
	o.Evaluate = offsets
	r, err := Run([]byte(teams), "default", o)
	assert.NilError(t, err)
	assert.Equal(t, r.Status, NotFound)
	assert.Equal(t, r.Proposal.Change.String(), "root.team.prod priority.offset -5 > 5")
	assert.Equal(t, r.Reasons[0], "root.team.prod p95 is 80.0s, not below 40s")
	assert.Equal(t, r.Reasons[1],
		"root.team.prod priority.offset -5 > 95 would be enough for root.team.prod p95 < 40s, but then root.team.dev p50 "+
			"20.0s > 1m50s (x5.50)")
	assert.Assert(t,
		strings.Contains(textOf(t, r),
			"no change was found that meets all; the nearest is: root.team.prod priority.offset -5 > 5\n  - root.team.prod "+
				"p95 is"))

	o.Evaluate = fixed(group("root.team.prod", never))
	r, err = Run([]byte(teams), "default", o)
	assert.NilError(t, err)
	assert.Assert(t, r.Status == NotFound && r.Proposal == nil)
	assert.DeepEqual(t, r.Reasons,
		[]string{"no change that the others bear, of those that were tried, comes nearer to the objective",
			"root.team.prod p95 is never, not below 40s"})
}

func TestRun_EndsAfterMaxTrials(t *testing.T) {
	o := prodBelow(40 * time.Second)
	o.MaxTrials, o.Evaluate = 2, offsets
	r, err := Run([]byte(teams), "default", o)
	assert.NilError(t, err)
	assert.Equal(t, len(r.Trials), 2)
	assert.Equal(t, r.Status, NotFound)
	assert.Equal(t, r.Reasons[len(r.Reasons)-1], "the search has ended after 2 trials, as many as it may make")

	o = prodBelow(85 * time.Second)
	o.MaxTrials, o.Others, o.Evaluate = 1, 10, offsets
	r, err = Run([]byte(teams), "default", o)
	assert.NilError(t, err)
	assert.Equal(t, r.Status, Found)
	assert.Equal(t, r.Proposal.Change.String(), "root.team.prod priority.offset -5 > 995",
		"not the smallest, and Reasons says so")
	assert.Equal(t, len(r.Reasons), 1)
}

func TestRun_AnErrorEndsIt(t *testing.T) {
	broken, n := errors.New("broken"), 0
	o := prodBelow(40 * time.Second)
	o.Evaluate = func(c *configs.Config) (*whatif.Comparison, error) {
		n++
		if n == 3 {
			return nil, broken
		}
		return offsets(c)
	}
	_, err := Run([]byte(teams), "default", o)
	assert.ErrorIs(t, err, broken)
	assert.Equal(t, n, 3)
}

// A change that makes the configuration invalid is shown with the reason, and does not count as a trial.
func TestRun_ShowsWhatIsRefused(t *testing.T) {
	o := prodBelow(40 * time.Second)
	o.MaxTrials, o.Evaluate = 4, fixed(group("root.team.prod", 90))
	r, err := Run([]byte(strings.Replace(teams, "gpu: 3}", "gpu: 3}, max: {vcore: 20}", 1)), "default", o)
	assert.NilError(t, err)
	var refused []string
	for _, x := range r.Trials {
		if x.Refused != "" {
			refused = append(refused, x.Verdict())
		}
	}
	assert.DeepEqual(t, refused,
		[]string{"refused: guaranteed vcore 50 is more than the queue's max 20",
			"refused: guaranteed vcore 30 is more than the queue's max 20"})
	assert.Equal(t, len(r.Trials), 6, "offsets of prod and of team, guarantees, both")
	assert.Assert(t, strings.Contains(textOf(t, r), "refused: guaranteed vcore 50"))
}

// The bound of others is their median and how many asks never run, each with an allowance.
func TestWorstOf(t *testing.T) {
	objectives := []Objective{{Queue: "root.team"}}
	for _, c := range []struct {
		name          string
		before, after whatif.Group
		want          string
		meets         bool
	}{
		{"twice and a second is allowed", group("root.a", 10), group("root.a", 21), "root.a p50 10.0s > 21.0s (x2.10)", true},
		{"more is not", group("root.a", 10), group("root.a", 22), "root.a p50 10.0s > 22.0s (x2.20)", false},
		{"nor is more than a second after nothing", group("root.a", 0), group("root.a", 2), "root.a p50 0 > 2.00s", false},
		{"a median of for ever is none", group("root.a", 3), group("root.a", never), "root.a p50 3.00s > never", false},
		{"what never ran cannot wait longer", group("root.a", never), group("root.a", never),
			"root.z p50 4.00s > 4.00s (x1.00)", true},
		{"one more may never run", group("root.a", 9, 9, 9), group("root.a", 1, 1, never), "root.a never ran 0 > 1", true},
		{"two may not", group("root.a", 9, 9, 9, 9, 9), group("root.a", 9, 9, 9, never, never), "root.a never ran 0 > 2",
			false},
		{"queues of the objective are none of the others", group("root.team.dev", 1), group("root.team.dev", 99),
			"root.z p50 4.00s > 4.00s (x1.00)", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			z := group("root.z", 4)
			got := worstOf(objectives, 2, &whatif.Outcome{Queues: []whatif.Group{c.before, z}},
				&whatif.Outcome{Queues: []whatif.Group{c.after, z}})
			assert.Equal(t, got.String(), c.want)
			assert.Equal(t, got.excess <= 1, c.meets)
		})
	}
	assert.Assert(t, worstOf(objectives, 2, &whatif.Outcome{}, &whatif.Outcome{}) == nil)
	out, err := json.Marshal(Other{Queue: "root.a", Median: [2]Wait{0, Wait(whatif.Forever)}})
	assert.NilError(t, err)
	assert.Equal(t, string(out),
		`{"queue":"root.a","median":{"before":0,"after":null},"factor":null,"neverRan":{"before":0,"after":0}}`)
}
