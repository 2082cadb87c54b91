package report

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

func TestReport_WarnsOfStolenTime(t *testing.T) {
	r := &Report{Stolen: 0.01}
	assert.Assert(t, strings.Contains(r.runInfo(), "took 1.0 % of its processors"), r.runInfo())
	r.Stolen = 0.004
	assert.Assert(t, !strings.Contains(r.runInfo(), "host"), r.runInfo())
}
