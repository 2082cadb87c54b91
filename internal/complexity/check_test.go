package complexity

import (
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/testscale"
)

// What size.check names.
const (
	checkByRecount = 1 // Core.Check
	checkByAudit   = 2 // an audit in steps
)

// runChecks is what is counted: as many checks of the books as there are decisions.
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

// TestCheck_CostIsLinearInAsksOfApplication compares what a check of the books executes with asks
// that all are of one application and one group, and with ten times as many. In a full run what is
// searched in a list counts too, by the package slices: for that much of the standard library is built anew.
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
			assert.Assert(t, smallCost > 10*1000, "hardly anything was counted")
			assert.Assert(t, largeCost <= 13*smallCost, "%.1f times the statements for 10 times the asks, at most 13 times are due", largeCost/smallCost)
		})
	}
}
