package webservice

import (
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/preemption"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// Queues in a cool-down are named in a warning: the check succeeds.
func TestHealthCheck_CoolDownsAreWarnings(t *testing.T) {
	found := findings{partition: "p"}
	queuesInCoolDown(&scheduler.Snapshot{CoolDowns: []preemption.CoolDown{{A: "root.a", B: "root.b",
		Until: time.Unix(0, 0)}}}, &found)
	assert.Equal(t, found.String(), "partition p: queues root.a and root.b until 1970-01-01T00:00:00Z")
	check := checks[len(checks)-2]
	assert.Assert(t, check.name == "Preemption cool-downs" && viewCheck(&check, &found).Succeeded)
}
