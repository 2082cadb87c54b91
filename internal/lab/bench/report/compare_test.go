package report

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"pgregory.net/rapid"
)

// shuffled returns a report whose runs come in another order.
func shuffled(r *Report, order *rand.Rand) *Report {
	out := *r
	out.Suites = nil
	for _, s := range r.Suites {
		s.Cells = slices.Clone(s.Cells)
		for i := range s.Cells {
			samples := slices.Clone(s.Cells[i].Samples)
			order.Shuffle(len(samples), func(i, j int) { samples[i], samples[j] = samples[j], samples[i] })
			s.Cells[i].Samples = samples
		}
		out.Suites = append(out.Suites, s)
	}
	return &out
}

func TestCompare_SameReportNoDifference(t *testing.T) {
	const seed = 1
	t.Log("seed", seed)
	r := sampleReport()
	for _, now := range []*Report{r, shuffled(r, rand.New(rand.NewPCG(seed, 0)))} {
		c := Compare(r, now, 0)
		assert.Equal(t, c.Verdicts.Worse+c.Verdicts.Better, 0)
		assert.Equal(t, c.Verdicts.NoDifference+c.Verdicts.TooFewRuns, len(c.Figures))
		assert.Assert(t, len(c.Figures) > 30, "%d figures", len(c.Figures))
		assert.Equal(t, len(c.Warnings), 0)
	}
}

// What a comparison says must not depend on which of the two a difference is called after.
func TestCompare_IsAntisymmetric(t *testing.T) {
	opposite := map[Verdict]Verdict{Better: Worse, Worse: Better, NoDifference: NoDifference, TooFewRuns: TooFewRuns}
	rapid.Check(t, func(t *rapid.T) {
		side := func(name string) *Report {
			r := &Report{Suites: []Suite{{Name: "s"}}}
			for _, cell := range []string{"a", "b"} {
				c := Cell{Name: cell}
				for _, v := range someValues(8).Draw(t, name+cell) {
					c.Samples = append(c.Samples, Sample{headlineMetric: v, "decisionsPerSecond": v, "auditViolations": v})
				}
				r.Suites[0].Cells = append(r.Suites[0].Cells, c)
			}
			return r
		}
		before, now := side("old "), side("new ")
		there, back := Compare(before, now, 0), Compare(now, before, 0)
		for i, f := range there.Figures {
			assert.Equal(t, back.Figures[i].Verdict, opposite[f.Verdict], "%s %s", f.Cell, f.Metric)
		}
	})
}

// At most 5 % of the comparisons of equals may alarm, however many figures they have; the
// bound here has room for chance. Without Holm's correction nearly all would.
func TestCompare_FalsePositivesAreRare(t *testing.T) {
	const seed, comparisons, cells, runs = 1, 200, 60, 10
	t.Log("seed", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	side := func() *Report {
		r := &Report{Suites: []Suite{{Name: "s"}}}
		for i := range cells {
			c := Cell{Name: string(rune('A' + i))}
			for range runs {
				c.Samples = append(c.Samples, Sample{"gcShare": rng.ExpFloat64()})
			}
			r.Suites[0].Cells = append(r.Suites[0].Cells, c)
		}
		return r
	}
	alarms, uncorrected := 0, 0
	for range comparisons {
		before, now := side(), side()
		var ps []float64
		found := false
		for i, c := range before.Suites[0].Cells {
			ps = append(ps, mannWhitney(c.values("gcShare"), now.Suites[0].Cells[i].values("gcShare")))
			found = found || ps[i] <= significance
		}
		if slices.Min(holm(ps)) <= significance {
			alarms++
		}
		if found {
			uncorrected++
		}
	}
	assert.Assert(t, alarms <= comparisons/10, "%d of %d", alarms, comparisons)
	assert.Assert(t, uncorrected > comparisons/2, "%d of %d", uncorrected, comparisons)
}

func TestCompare_WarnsOfDifferentMachines(t *testing.T) {
	before := Report{CPU: "one\x1b[0m", Cores: 2, Go: "go1.25"}
	now := Report{Cores: 4, Go: "go1.26"}
	assert.DeepEqual(t, Compare(&before, &now, 0).Warnings, []string{
		"the CPU differs: one [0m, then unknown",
		"the number of cores differs: 2, then 4",
		"the version of Go differs: go1.25, then go1.26",
	})
}

func TestCompare_WarnsOfIncompleteReports(t *testing.T) {
	whole := Report{Suites: []Suite{{Name: "s"}}}
	half := whole
	half.Incomplete = "interrupted\x1b[0m after 3 of 8 samples"
	const why = "interrupted [0m after 3 of 8 samples"
	for _, c := range []struct {
		before, now *Report
		want        []string
	}{
		{&whole, &whole, []string{}},
		{&half, &whole, []string{"the old report is incomplete: " + why}},
		{&whole, &half, []string{"the new report is incomplete: " + why}},
		{&half, &half, []string{"the old report is incomplete: " + why, "the new report is incomplete: " + why}},
	} {
		got := Compare(c.before, c.now, 0)
		assert.DeepEqual(t, got.Warnings, c.want)
		var text strings.Builder
		assert.NilError(t, got.WriteText(&text))
		assert.Equal(t, strings.Count(text.String(), "warning: "), len(c.want), text.String())
		form, err := json.Marshal(got)
		assert.NilError(t, err)
		assert.Equal(t, strings.Count(string(form), "report is incomplete"), len(c.want), string(form))
	}
}

func TestCompare_JSON(t *testing.T) {
	sides := [2]*Report{}
	for i, values := range [][]float64{{0, 0, 0, 0}, {1, 1, 1, 1}} {
		c := Cell{Name: "c"}
		for _, v := range values {
			c.Samples = append(c.Samples, Sample{"idleCPU": v, "audited": 3})
		}
		sides[i] = &Report{Suites: []Suite{{Name: "s", Cells: []Cell{c}}}}
	}
	text, err := json.Marshal(Compare(sides[0], sides[1], 0.05))
	assert.NilError(t, err)
	assert.Equal(t, string(text), strings.Join(strings.Fields(`
		{"threshold":0.05,"warnings":[],"figures":[
		{"suite":"s","cell":"c","metric":"idleCPU","unit":"share",
			"old":{"value":0,"low":0,"high":0},"new":{"value":1,"low":1,"high":1},"oldRuns":4,"newRuns":4,
			"ratio":{"value":null,"low":null,"high":null},"p":0.02857142857142857,"verdict":"worse"},
		{"suite":"s","cell":"c","metric":"audited","unit":"count",
			"old":{"value":3,"low":3,"high":3},"new":{"value":3,"low":3,"high":3},"oldRuns":4,"newRuns":4,
			"ratio":{"value":1,"low":null,"high":null},"p":null,"verdict":"no`), "")+` difference"}],`+
		`"notCompared":[],"runsFor":4,"verdicts":{"better":0,"worse":1,"noDifference":1,"tooFewRuns":0}}`)
}
