package report

import (
	"fmt"
	"math"
	"slices"
)

// Verdict is the result for one figure.
type Verdict string

// The verdicts. TooFewRuns: among so many figures, no result of so few runs could have been
// significant.
const (
	Better       Verdict = "better"
	Worse        Verdict = "worse"
	NoDifference Verdict = "no difference"
	TooFewRuns   Verdict = "too few runs"
)

// Comparison is the result of `canopy-lab bench compare`.
type Comparison struct {
	Threshold float64 `json:"threshold"` // share by which medians must differ; 0: any difference counts
	// Warnings are reasons for differences outside of the program, such as another CPU, and for missing
	// figures, such as an interrupted run. Never nil.
	Warnings    []string      `json:"warnings"`
	Figures     []Compared    `json:"figures"`     // in the order of the old report
	NotCompared []NotCompared `json:"notCompared"` // cells and metrics without a counterpart
	// runs per report needed for a significant difference among so many figures
	RunsFor  int      `json:"runsFor"`
	Verdicts Verdicts `json:"verdicts"` // number of each verdict
}

// Verdicts counts verdicts. Worse includes cells that now fail.
type Verdicts struct {
	Better       int `json:"better"`
	Worse        int `json:"worse"`
	NoDifference int `json:"noDifference"`
	TooFewRuns   int `json:"tooFewRuns"`
}

// Compared is one figure of one cell in both reports.
type Compared struct {
	Suite  string `json:"suite"`
	Cell   string `json:"cell"`
	Metric string `json:"metric"`
	Unit   string `json:"unit"`
	// Old and New are medians with their 95 % intervals; of an exact metric, with the least
	// and the greatest value.
	Old     Estimate `json:"old"`
	New     Estimate `json:"new"`
	OldRuns int      `json:"oldRuns"`
	NewRuns int      `json:"newRuns"`
	Ratio   Estimate `json:"ratio"` // of the medians, new over old; infinite, and null in JSON, if old is 0
	// P is the p-value of the difference, corrected for the number of figures. nil: the metric is
	// exact.
	P       *float64 `json:"p"`
	Verdict Verdict  `json:"verdict"`
	metric  Metric
}

// NotCompared is a suite, cell or metric that only one report has, or whose work differs.
type NotCompared struct {
	Suite  string `json:"suite"`
	Cell   string `json:"cell,omitempty"`   // empty: the whole suite
	Metric string `json:"metric,omitempty"` // empty: the whole cell
	Why    string `json:"why"`
	Worse  bool   `json:"worse"` // the old report has samples and the new one a failure
}

// Compare compares two reports, cell by cell. A figure is better or worse when a Mann-Whitney test
// finds a difference at 5 %, after Holm's correction over all figures of the comparison, and the
// medians differ by more than threshold, a share of the old one. So at most 5 of 100 comparisons of
// equal programs report a difference. For exact metrics any difference counts. threshold must be >= 0.
func Compare(before, now *Report, threshold float64) *Comparison {
	c := &Comparison{
		Threshold: threshold, Warnings: warningsAbout(before, now), Figures: []Compared{}, NotCompared: []NotCompared{},
	}
	for _, old := range before.Suites {
		s := suiteNamed(now.Suites, old.Name)
		if s == nil {
			c.NotCompared = append(c.NotCompared, NotCompared{Suite: old.Name, Why: onlyOld})
			continue
		}
		c.suite(old, *s)
	}
	for _, s := range now.Suites {
		if suiteNamed(before.Suites, s.Name) == nil {
			c.NotCompared = append(c.NotCompared, NotCompared{Suite: s.Name, Why: onlyNew})
		}
	}
	c.decideVerdicts()
	return c
}

const (
	onlyOld = "only in the old report"
	onlyNew = "only in the new report"
)

func warningsAbout(before, now *Report) []string {
	warnings := []string{}
	cutShort := func(which, why string) {
		if why != "" {
			warnings = append(warnings, fmt.Sprintf("the %s report is incomplete: %s", which, SingleLine(why)))
		}
	}
	cutShort("old", before.Incomplete)
	cutShort("new", now.Incomplete)
	differ := func(what, a, b string) {
		if a != b {
			warnings = append(warnings, fmt.Sprintf("%s differs: %s, then %s", what, orUnknown(a), orUnknown(b)))
		}
	}
	differ("the CPU", before.CPU, now.CPU)
	differ("the number of cores", fmt.Sprint(before.Cores), fmt.Sprint(now.Cores))
	differ("the version of Go", before.Go, now.Go)
	return warnings
}

func orUnknown(s string) string {
	if s == "" {
		return "unknown"
	}
	return SingleLine(s)
}

func (c *Comparison) suite(before, now Suite) {
	for _, old := range before.Cells {
		other := NotCompared{Suite: before.Name, Cell: old.Name}
		cell := cellNamed(now.Cells, old.Name)
		switch {
		case cell == nil:
			other.Why = onlyOld
		case len(cell.Samples) == 0:
			other.Why = "no samples in the new report" + failureSuffix(cell.Failure)
			other.Worse = cell.Failure != "" && len(old.Samples) > 0
		case len(old.Samples) == 0:
			other.Why = "no samples in the old report" + failureSuffix(old.Failure)
		case old.Digest != cell.Digest:
			other.Why = "different work"
		default:
			c.cell(before.Name, old, *cell)
			continue
		}
		c.NotCompared = append(c.NotCompared, other)
	}
	for _, cell := range now.Cells {
		if cellNamed(before.Cells, cell.Name) == nil {
			c.NotCompared = append(c.NotCompared, NotCompared{Suite: now.Name, Cell: cell.Name, Why: onlyNew})
		}
	}
}

func failureSuffix(failure string) string {
	if failure == "" {
		return ""
	}
	return ": " + failure
}

func (c *Comparison) cell(suite string, before, now Cell) {
	for _, m := range Metrics {
		old, young := before.values(m.Name), now.values(m.Name)
		switch {
		case len(old) == 0 && len(young) == 0:
			continue
		case len(young) == 0:
			c.NotCompared = append(c.NotCompared, NotCompared{Suite: suite, Cell: before.Name, Metric: m.Name, Why: onlyOld})
			continue
		case len(old) == 0:
			c.NotCompared = append(c.NotCompared, NotCompared{Suite: suite, Cell: before.Name, Metric: m.Name, Why: onlyNew})
			continue
		}
		f := Compared{
			Suite: suite, Cell: before.Name, Metric: m.Name, Unit: m.Unit,
			OldRuns: len(old), NewRuns: len(young), metric: m,
		}
		if m.Exact {
			f.Old, f.New = spreadOf(old), spreadOf(young)
			f.Ratio = Estimate{ratio(f.Old.Value, f.New.Value), math.NaN(), math.NaN()}
			f.Verdict = f.exactVerdict()
		} else {
			p := mannWhitney(old, young)
			f.Old, f.New, f.Ratio, f.P = medianOf(old), medianOf(young), ratioOf(old, young), &p
		}
		c.Figures = append(c.Figures, f)
	}
}

// exactVerdict compares the worst runs first: one wrong decision in ten runs is worse than none,
// whatever the median is.
func (f Compared) exactVerdict() Verdict {
	pairs := [][2]float64{{f.Old.High, f.New.High}, {f.Old.Low, f.New.Low}, {f.Old.Value, f.New.Value}}
	if f.metric.Higher {
		pairs[0], pairs[1] = pairs[1], pairs[0]
	}
	for _, p := range pairs {
		if p[0] != p[1] {
			return direction(p[1] > p[0], f.metric.Higher)
		}
	}
	return NoDifference
}

func direction(rose, higher bool) Verdict {
	if rose == higher {
		return Better
	}
	return Worse
}

func suiteNamed(suites []Suite, name string) *Suite {
	i := slices.IndexFunc(suites, func(s Suite) bool { return s.Name == name })
	if i < 0 {
		return nil
	}
	return &suites[i]
}

func cellNamed(cells []Cell, name string) *Cell {
	i := slices.IndexFunc(cells, func(c Cell) bool { return c.Name == name })
	if i < 0 {
		return nil
	}
	return &cells[i]
}
