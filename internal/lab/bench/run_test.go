package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/lab/bench/backfill"
	"github.com/canopy-scheduler/canopy/internal/lab/bench/report"
	"github.com/canopy-scheduler/canopy/internal/lab/bench/workload"
	"github.com/canopy-scheduler/canopy/internal/lab/measure"
)

func planOf(names ...string) []Plan {
	p := Plan{Name: "suite", About: "A suite."}
	for i, name := range names {
		spec := smallSpec()
		spec.Asks += i // to tell them apart
		p.cells = append(p.cells, plannedCell{name: name, line: name, spec: spec, measure: Fill})
	}
	return []Plan{p}
}

// answerOf returns an answer with times in ms.
func answerOf(t *testing.T, digest string, cpu float64, millis ...int) Answer {
	t.Helper()
	h := measure.NewHistogram()
	for _, ms := range millis {
		h.Add(time.Duration(ms) * time.Millisecond)
	}
	text, err := h.Encode()
	assert.NilError(t, err)
	return Answer{digest, report.Sample{"cpuPerDecision": cpu}, map[string]string{decisionTimes: text}}
}

func TestRun_OrderFollowsFromSeed(t *testing.T) {
	order := func(seed uint64) (cells []int) {
		o := Options{Runs: 3, Seed: seed, Progress: func(Step) {}}
		o.Spawn = func(_ context.Context, j Job) (Answer, error) {
			assert.Equal(t, j.Seed, seed)
			cells = append(cells, j.Spec.Asks-smallSpec().Asks)
			return answerOf(t, "d", 1), nil
		}
		Run(context.Background(), planOf("a", "b", "c", "d", "e"), o)
		return cells
	}
	one := order(1)
	assert.DeepEqual(t, order(1), one)
	assert.Assert(t, !slices.Equal(order(2), one))
	assert.Equal(t, len(one), 15)
	assert.Assert(t, !slices.Equal(one[:5], one[5:10]), "every round has an order of its own: %v", one)
	for round := range slices.Chunk(one, 5) {
		assert.DeepEqual(t, slices.Sorted(slices.Values(round)), []int{0, 1, 2, 3, 4})
	}
}

func TestRun_MergesPercentiles(t *testing.T) {
	runs := [][]int{{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, {9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9}}
	n := 0
	o := Options{Runs: 2, Seed: 1, Progress: func(Step) {}}
	o.Spawn = func(context.Context, Job) (Answer, error) {
		n++
		return answerOf(t, "d", float64(n), runs[n-1]...), nil
	}
	r := Run(context.Background(), planOf("a"), o)
	c := r.Suites[0].Cells[0]
	assert.Equal(t, c.Failure, "")
	p50 := c.Merged["decisionP50"]
	assert.Assert(t, p50 > 8990 && p50 < 9010, "13 of 24 took 9 ms: %v", p50) // the mean of medians would be 5
}

func TestRun_TracesHaveTheirSeedsAndAreComparedWithOff(t *testing.T) {
	waits := map[uint64]float64{3: 1, 4: 3}
	o := Options{Version: "v", Runs: 2, Seed: 3, Progress: func(Step) {}}
	o.Spawn = func(_ context.Context, j Job) (Answer, error) {
		wait := waits[j.Seed]
		switch j.Backfill.Mode {
		case backfill.EASY:
			wait *= wait
		case backfill.Bounded:
			return Answer{}, errors.New("killed")
		}
		return Answer{Digest: "d", Sample: report.Sample{backfill.GangWaitP50: wait}}, nil
	}
	r := Run(context.Background(), []Plan{backfillPlan(Quick)}, o)
	for _, c := range r.Suites[0].Cells {
		switch {
		case strings.HasSuffix(c.Name, "-off"):
			assert.DeepEqual(t, c.Merged, report.Sample{"gangWaitP50": 2})
		case strings.Contains(c.Name, "-easy-"):
			assert.DeepEqual(t, c.Merged, report.Sample{"gangWaitP50": 5, "gangWaitP50Ratio": 2.5})
			assert.DeepEqual(t, c.Samples[1], report.Sample{"gangWaitP50": 9, "gangWaitP50Ratio": 3})
		case strings.Contains(c.Name, "-bounded-"):
			assert.Equal(t, c.Failure, "run 1: killed")
		}
	}
	readBack(t, r)
}

func TestRun_FailureBelongsToCell(t *testing.T) {
	var steps []Step
	o := Options{Version: "v", Runs: 2, Seed: 1, Progress: func(s Step) { steps = append(steps, s) }}
	seen := 0
	o.Spawn = func(_ context.Context, j Job) (Answer, error) {
		switch at := j.Spec.Asks - smallSpec().Asks; {
		case at == 1:
			return Answer{}, errors.New("killed")
		case at == 2:
			seen++
			return answerOf(t, fmt.Sprint("digest ", seen), 1), nil
		}
		return answerOf(t, "d", 1), nil
	}
	r := Run(context.Background(), planOf("good", "dead", "changing"), o)
	cells := r.Suites[0].Cells
	assert.Equal(t, cells[0].Failure, "")
	assert.Equal(t, len(cells[0].Samples), 2)
	assert.Equal(t, cells[1].Failure, "run 1: killed")
	assert.Equal(t, len(cells[1].Samples), 0)
	assert.Equal(t, cells[2].Failure, "run 2: the requests were not those of the other runs")
	assert.Equal(t, len(cells[2].Samples), 1)
	assert.Equal(t, r.Failures(), 2)
	assert.Equal(t, len(steps), 6)
	assert.Equal(t, steps[5].Done, 6)
	assert.Equal(t, steps[5].Total, 6)
	readBack(t, r)
}

func readBack(t *testing.T, r *report.Report) {
	t.Helper()
	text, err := json.Marshal(r)
	assert.NilError(t, err)
	back, err := report.ReadReport(bytes.NewReader(text))
	assert.NilError(t, err)
	assert.Equal(t, back.Incomplete, r.Incomplete)
}

func TestRun_InterruptedIsIncomplete(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	o := Options{Version: "v", Runs: 3, Seed: 1, Progress: func(Step) {}}
	n := 0
	o.Spawn = func(context.Context, Job) (Answer, error) {
		n++
		if n == 3 {
			cancel()
			return Answer{}, errors.New("killed by the interrupt")
		}
		return answerOf(t, "d", 1), nil
	}
	r := Run(ctx, planOf("a", "b"), o)
	assert.Equal(t, n, 3, "nothing is started after the interrupt")
	assert.Equal(t, r.Incomplete, "interrupted after 2 of 6 samples")
	for _, c := range r.Suites[0].Cells {
		assert.Equal(t, len(c.Samples), 1)
		assert.Equal(t, c.Failure, "2 of 3 runs were not made")
	}
	var out strings.Builder
	assert.NilError(t, report.WriteText(&out, r))
	assert.Assert(t, strings.Contains(out.String(), "warning: incomplete: interrupted after 2 of 6 samples"), out.String())
	out.Reset()
	assert.NilError(t, report.WriteHTML(&out, r))
	assert.Assert(t, strings.Contains(out.String(), "interrupted after 2 of 6 samples"))
	readBack(t, r)
}

func TestServe_AnswersJob(t *testing.T) {
	job, err := json.Marshal(Job{Spec: smallSpec(), Measure: Fill, Seed: 1, Once: true})
	assert.NilError(t, err)
	gone := make(chan struct{})
	a, err := Serve(context.Background(), bytes.NewReader(job), func() { close(gone) })
	assert.NilError(t, err)
	assert.Equal(t, a.Digest, streamOf(t, smallSpec(), 1).digest)
	<-gone // the input has ended

	_, err = Serve(context.Background(), strings.NewReader("nonsense"), nil)
	assert.ErrorContains(t, err, "the job: ")
}

func TestSpawner_Errors(t *testing.T) {
	for _, c := range []struct{ command, want string }{
		{"no-such-program", "executable file not found"},
		{"false", "exit status 1"},
		{"true", "the answer of the process"},
	} {
		_, err := Spawner(c.command)(context.Background(), Job{})
		assert.ErrorContains(t, err, c.want)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := Spawner("cat")(ctx, Job{})
	assert.ErrorIs(t, err, context.Canceled)
	assert.Equal(t, firstErrorLine("\n panic: no\tway \nat line 1"), ": panic: no way")
}

func TestChoose_ByName(t *testing.T) {
	all, err := Choose(nil, Full, Trace{}, "")
	assert.NilError(t, err)
	assert.Equal(t, len(all), len(SuiteNames())-2, "all but those that play a trace")
	names := map[string]bool{}
	for _, p := range suites(Full, Trace{"a", "b"}) {
		cells := map[string]bool{}
		for _, c := range p.cells {
			assert.Assert(t, !cells[c.name], "%s %s is there twice", p.Name, c.name)
			cells[c.name] = true
		}
		assert.Assert(t, !names[p.Name] && len(p.cells) > 0)
		names[p.Name] = true
	}
	for _, c := range []struct{ name, via, want string }{
		{"dept", "", `there is no suite "dept": did you mean "depth"?; canopy-lab bench list shows them`},
		{"shaps", "", `did you mean "shapes"?`},
		{"everything", "", `there is no suite "everything"; canopy-lab bench list shows them`},
		{"trace", "", "suite trace needs the files of a trace: --trace NODES.csv,PODS.csv"},
		{"backfill-openb", "", "suite backfill-openb needs the files of a trace: --trace NODES.csv,PODS.csv"},
		{"reload", workload.ViaGRPC, "suite reload is measured via core: it cannot be measured via grpc"},
		{"latency", workload.ViaCore, "suite latency has nothing that is measured via core"},
		{"fanout", "post", "--via is \"post\""},
	} {
		_, err := Choose([]string{c.name}, Full, Trace{}, c.via)
		assert.ErrorContains(t, err, c.want)
	}
	_, err = Choose([]string{"flat", "flat"}, Full, Trace{}, "")
	assert.ErrorContains(t, err, "suite flat is there twice")
	only, err := Choose([]string{"churn"}, Full, Trace{}, workload.ViaGRPC)
	assert.NilError(t, err)
	assert.Equal(t, only[0].Cells(), 1)
	moved, err := Choose([]string{"fanout"}, Full, Trace{}, workload.ViaGRPC)
	assert.NilError(t, err)
	assert.Equal(t, moved[0].cells[0].spec.Via, workload.ViaGRPC)
}

func TestSmallWorkloads_KeepTheKind(t *testing.T) {
	all := SmallWorkloads(600)
	for _, p := range suites(Full, Trace{}) {
		for _, c := range p.cells {
			s, chosen := all[p.Name+" "+c.name]
			if !chosen {
				continue
			}
			assert.NilError(t, s.Check(), "%s %s", p.Name, c.name)
			_, leaves := s.Queues()
			assert.Assert(t, leaves <= smallLeaves && s.Asks <= 600 && s.Nodes <= 40, "%s %s", p.Name, c.name)
			assert.Equal(t, s.Shapes == s.Asks, c.spec.Shapes == c.spec.Asks, "%s %s", p.Name, c.name)
			assert.Equal(t, s.Sort+s.NodeSort, c.spec.Sort+c.spec.NodeSort)
		}
	}
	assert.Assert(t, len(all) > 20, "%d workloads", len(all))
}

func TestFairShares_AreMaxMinFair(t *testing.T) {
	assert.DeepEqual(t, maxMinFair(10, []float64{1, 100, 100}), []float64{1, 4.5, 4.5})
	assert.DeepEqual(t, maxMinFair(10, []float64{1, 2, 3}), []float64{1, 2, 3})
	assert.DeepEqual(t, fairShares(12, []float64{1, 1, 100, 100}, 2), []float64{1, 1, 5, 5})
	assert.DeepEqual(t, fairShares(5, []float64{7}, 1), []float64{5})
}

func TestSpec_EstimatesMemory(t *testing.T) {
	spec := workload.DefaultSpec()
	spec.Asks = workload.MaxAsks
	assert.Assert(t, spec.Bytes() > 4<<30)
	assert.Assert(t, smallSpec().Bytes() < 16<<20)
	assert.ErrorContains(t, Custom(spec).check(1, 1<<30), "MiB of memory, and 1024 MiB are available")
	assert.NilError(t, Custom(smallSpec()).check(1, 1<<30))
	assert.NilError(t, Custom(smallSpec()).check(1, 0), "not known is no reason to refuse")
}
