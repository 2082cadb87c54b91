package main

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/webservice/dao"
)

// Usage over time has a column if any of the queues has it.
func TestPrintQueues_UsageOverTime(t *testing.T) {
	list := []dao.QueueFairness{{QueueName: "root"}, {QueueName: "root.a", Starved: true}}
	text := func() string {
		var out strings.Builder
		assert.NilError(t, printQueues(&out, list, "vcore", true))
		return out.String()
	}
	assert.Assert(t, !strings.Contains(text(), "OVER TIME"), text())
	list[1].UsageOverTime = &dao.UsageOverTime{Share: 0.0312}
	assert.Assert(t, strings.Contains(text(), "OVER TIME"), text())
	assert.Assert(t, strings.Contains(text(), "3.1 %"), text())
	assert.Assert(t, strings.HasSuffix(strings.TrimSpace(text()), "STARVED"), text())
}
