package report

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/canopy-scheduler/canopy/internal/lab/bench/workload"
)

// sampleReport is small and has everything that a report can have: lines along an axis,
// levels, latencies, exact figures, failures, and names that must be escaped.
func sampleReport() *Report {
	return &Report{
		Version: "v0.3.0", Go: "go1.26.8", CPU: "Example CPU @ 2.00GHz", Cores: 2,
		Started: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Seed: 7, Runs: 3, LoadBefore: 0.25, LoadAfter: -1,
		Suites: []Suite{nodesSuite(), depthSuite(), churnSuite(), {Name: "trace", About: "A trace.", Cells: []Cell{
			{Name: "openb", Failure: "no file:\n\x1b[31mnodes.csv"},
		}}},
	}
}

// runFactors is what the runs of a cell differ by.
var runFactors = []float64{1.02, 1, 0.97}

func nodesSuite() Suite {
	s := Suite{Name: "nodes", About: "More and more nodes, in both orders.", Axis: "nodes"}
	for line, power := range map[string]float64{"binpacking": 0.25, "fair": 0.125} {
		for size := 100.0; size <= 1e5; size *= 10 {
			c := Cell{
				Name: fmt.Sprintf("%s-%g", line, size), Line: line, Size: size, Digest: digestOf(line, size),
				Spec: workload.Spec{Depth: 1, Fanout: 1, AppsPerLeaf: 1, Asks: 1000, Nodes: int(size), NodeSort: line},
			}
			for _, j := range runFactors {
				cost := math.Pow(size, power) * j
				c.Samples = append(c.Samples, Sample{
					headlineMetric: cost, "wallPerDecision": cost * 1.5, "decisionsPerSecond": 1e6 / cost / 1.5,
				})
			}
			s.Cells = append(s.Cells, c)
		}
	}
	return sorted(s)
}

func depthSuite() Suite {
	s := Suite{Name: "depth", About: "The same leaves below ever more levels.", Axis: "levels"}
	for _, levels := range []float64{1, 2, 5, 10} {
		c := Cell{Name: fmt.Sprintf("%g", levels), Size: levels, Digest: digestOf("depth", levels)}
		for _, j := range runFactors {
			c.Samples = append(c.Samples, Sample{headlineMetric: (3 + 0.5*levels) * j})
		}
		s.Cells = append(s.Cells, c)
	}
	s.Cells = append(s.Cells, Cell{Name: "50", Size: 50, Failure: "killed after 10 minutes"})
	return s
}

func churnSuite() Suite {
	full := Cell{Name: "full", Digest: digestOf("full", 1)}
	named := Cell{Name: `<b onclick="x()">&'` + "`{{.}}</script>", Digest: digestOf("named", 1)}
	for i, j := range runFactors {
		full.Samples = append(full.Samples, Sample{
			headlineMetric: 4.5 * j, "decisionP50": 3 * j, "decisionP99": 21 * j, "decisionP999": 480 * j,
			"askToAllocationP50": 1200 * j, "askToAllocationP99": 25_000 * j, "idleCPU": 0,
			"heapAllocsPerDecision": 2, "heapBytesPerDecision": 160 * j, "gcShare": 0.0123 * j,
			"allocations": 1_000_000, "utilisation": 0.9876543, "audited": 20_000, "auditViolations": float64(i / 2),
		})
	}
	full.Merged = Sample{"decisionP50": 3.03, "decisionP99": 21.2, "decisionP999": 488}
	named.Samples = []Sample{{headlineMetric: 5.25, "decisionP50": 4, "decisionP99": 30, "allocations": 12}}
	return Suite{Name: "churn", About: "A full cluster.", Cells: []Cell{full, named}}
}

func digestOf(what string, size float64) string {
	return fmt.Sprintf("%x", sha256.Sum256(fmt.Append(nil, what, size)))
}

func sorted(s Suite) Suite {
	slices.SortFunc(s.Cells, func(a, b Cell) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Size, b.Size))
	})
	return s
}
