package complexity

import (
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/testing/testscale"
)

// The checks of size.check.
const (
	checkByRecount = 1 // Core.Check
	checkByAudit   = 2 // an audit in steps
)

// runChecks is the counted work: as many checks of the accounting as there are decisions.
func (s size) runChecks() {
	c, _ := s.cluster()
	for range s.decisions {
		var err error
		if s.check == checkByRecount {
			err = c.Check()
		} else {
			a := c.NewAudit()
			for done := false; !done; {
				done, err = a.Step(200)
			}
		}
		if err != nil {
			panic(err)
		}
	}
}

// TestCheck_CostIsLinearInAsksOfApplication compares the statements of a check of the accounting for
// asks of one application and one group, and for ten times as many. A full run also counts package
// slices, for which that part of the standard library is rebuilt.
func TestCheck_CostIsLinearInAsksOfApplication(t *testing.T) {
	packages := countedPackages
	if testscale.Full() {
		packages += ",slices"
	}
	binary := buildCounting(t, packages)
	for name, check := range map[string]int{"a whole recount": checkByRecount, "an audit in steps": checkByAudit} {
		t.Run(name, func(t *testing.T) {
			small := size{leaves: 1, levels: 1, apps: 1, asks: 1000, nodes: 1, shapes: 1, check: check, decisions: 1}
			large := small
			large.asks = 10_000
			smallCost, largeCost := statementsPerDecision(t, binary, small), statementsPerDecision(t, binary, large)
			t.Logf("%.0f statements, and %.0f: %.1f times as many", smallCost, largeCost, largeCost/smallCost)
			assert.Assert(t, smallCost > 10*1000, "too few statements were counted")
			assert.Assert(t, largeCost <= 13*smallCost, "%.1f times the statements for 10 times the asks, the bound is 13 times",
				largeCost/smallCost)
		})
	}
}
