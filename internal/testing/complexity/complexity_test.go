package complexity

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/testing/testscale"
)

// countedPackages are the packages whose statements are counted.
const countedPackages = "github.com/canopy-scheduler/canopy/pkg/resources," +
	"github.com/canopy-scheduler/canopy/pkg/policies," +
	"github.com/canopy-scheduler/canopy/pkg/objects,github.com/canopy-scheduler/canopy/pkg/scheduler," +
	"github.com/canopy-scheduler/canopy/pkg/preemption"

// TestDecision_CostDoesNotGrowWithCluster compares the statements of a release, a new ask and the
// following decision in a small cluster and in one that is larger in one dimension.
func TestDecision_CostDoesNotGrowWithCluster(t *testing.T) {
	small := size{leaves: 10, levels: 2, apps: 20, asks: 400, nodes: 20, shapes: 3, decisions: 100}
	binary := buildCounting(t, countedPackages)
	for _, tc := range []struct {
		name   string
		larger func(s *size)
		most   float64 // bound of the cost, as a multiple of that of the small cluster
		slow   bool    // omitted in a quick run: similar to another case, or takes a second
	}{
		{"a hundred times the leaves", func(s *size) { s.leaves, s.apps, s.asks = 1000, 2000, 8000 }, 1.5, false},
		{"a hundred times the leaves, fair", func(s *size) { s.leaves, s.apps, s.asks, s.fair = 1000, 2000, 8000, 1 }, 1.5,
			true},
		{"a hundred times the applications", func(s *size) { s.apps, s.asks = 2000, 8000 }, 1.5, false},
		{"a hundred times the applications, fair", func(s *size) { s.apps, s.asks, s.fair = 2000, 8000, 1 }, 1.5, true},
		{"a hundred times the asks", func(s *size) { s.asks = 40_000 }, 1.5, true},
		{"a hundred times the nodes", func(s *size) { s.asks, s.nodes = 8000, 2000 }, 1.5, false},
		{"a hundred times the nodes, the fullest first", func(s *size) { s.asks, s.nodes, s.pack = 8000, 2000, 1 }, 1.5,
			true},
		{"thirty times the shapes", func(s *size) { s.shapes = 100 }, 1.5, false},
		{"as many priorities as asks", func(s *size) { s.apps, s.asks, s.priorities = 10, 40_000, 40_000 }, 1.5, true},
		{"ten more levels", func(s *size) { s.levels = 12 }, 3.2, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if tc.slow && !testscale.Full() {
				t.Skip("a quick run leaves it out; make check runs it")
			}
			large := small
			tc.larger(&large)
			smallCost, largeCost := statementsPerDecision(t, binary, small), statementsPerDecision(t, binary, large)
			t.Logf("%.0f statements, and %.0f: %.2f times as many", smallCost, largeCost, largeCost/smallCost)
			assert.Assert(t, smallCost > 100, "too few statements were counted")
			assert.Assert(t, largeCost <= tc.most*smallCost, "%.2f times the statements, the bound is %.1f times",
				largeCost/smallCost, tc.most)
		})
	}
}

// TestVictimSearch_CostDoesNotGrowWithNodes compares the statements of a victim search, with the
// release and the placement that follow, on nodes of ten allocations. Up to 100 nodes all are compared,
// on larger clusters no more; what grows is the list of candidates, until it is an eighth of the nodes.
func TestVictimSearch_CostDoesNotGrowWithNodes(t *testing.T) {
	small := size{leaves: 10, levels: 2, apps: 10, asks: 1000, nodes: 100, shapes: 1, preempt: preemptByPriority,
		decisions: 20}
	binary := buildCounting(t, countedPackages)
	for _, tc := range []struct {
		name  string
		right int
		most  float64
	}{
		{"a hundred times the nodes, by priority", preemptByPriority, 1.5},
		{"a hundred times the nodes, by guarantee", preemptByGuarantee, 1.5},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if tc.right == preemptByGuarantee && !testscale.Full() {
				t.Skip("a quick run leaves it out; make check runs it")
			}
			small.preempt = tc.right
			large := small
			large.nodes, large.asks = 10_000, 100_000
			smallCost, largeCost := statementsPerDecision(t, binary, small), statementsPerDecision(t, binary, large)
			t.Logf("%.0f statements, and %.0f: %.2f times as many", smallCost, largeCost, largeCost/smallCost)
			assert.Assert(t, smallCost > 1000, "too few statements were counted")
			assert.Assert(t, largeCost <= tc.most*smallCost, "%.2f times the statements, the bound is %.1f times",
				largeCost/smallCost, tc.most)
		})
	}
}

// TestBackfill_CostDoesNotGrowWithCluster compares the statements of a backfilled ask, with its release and the run of
// decisions that follows.
func TestBackfill_CostDoesNotGrowWithCluster(t *testing.T) {
	small := size{leaves: 10, apps: 20, nodes: 20, backfill: 1, decisions: 100}
	binary := buildCounting(t, countedPackages+",github.com/canopy-scheduler/canopy/pkg/backfill,"+
		"github.com/canopy-scheduler/canopy/pkg/reservation,github.com/canopy-scheduler/canopy/pkg/runtimes")
	for name, larger := range map[string]func(s *size){
		"a hundred times the applications that wait": func(s *size) { s.apps = 2000 },
		"a hundred times the nodes":                  func(s *size) { s.nodes = 2000 },
	} {
		t.Run(name, func(t *testing.T) {
			large := small
			larger(&large)
			smallCost, largeCost := statementsPerDecision(t, binary, small), statementsPerDecision(t, binary, large)
			t.Logf("%.0f statements, and %.0f: %.2f times as many", smallCost, largeCost, largeCost/smallCost)
			assert.Assert(t, smallCost > 100, "too few statements were counted")
			assert.Assert(t, largeCost <= 1.5*smallCost, "%.2f times the statements, the bound is 1.5 times",
				largeCost/smallCost)
		})
	}
}

// buildCounting builds a program of this package in which the statements of some packages are counted.
func buildCounting(t *testing.T, counted string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "subject")
	out, err := exec.CommandContext(t.Context(), "go", "test", "-c", "-covermode=count", "-coverpkg="+counted, "-o", path,
		".").CombinedOutput()
	assert.NilError(t, err, "%s", out)
	return path
}

// statementsPerDecision returns the number of statements of a decision in a cluster of that size, with the
// release and the ask before it. It is the difference of two runs, so that building the cluster is not
// counted.
func statementsPerDecision(t *testing.T, binary string, s size) float64 {
	t.Helper()
	some, more := s, s
	more.decisions = 2 * s.decisions
	return (statements(t, binary, more) - statements(t, binary, some)) / float64(s.decisions)
}

func statements(t *testing.T, binary string, s size) (total float64) {
	t.Helper()
	profile := filepath.Join(t.TempDir(), "profile")
	cmd := exec.CommandContext(t.Context(), binary, "-test.run=^$", "-test.coverprofile="+profile)
	cmd.Env = append(os.Environ(), sizeVariable+"="+s.String())
	out, err := cmd.CombinedOutput()
	assert.NilError(t, err, "%s", out)
	f, err := os.Open(profile)
	assert.NilError(t, err)
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() { // file.go:line.column,line.column statements count
		var place string
		var n, times float64
		if _, err := fmt.Sscan(lines.Text(), &place, &n, &times); err == nil {
			total += n * times
		}
	}
	assert.NilError(t, lines.Err())
	return total
}
