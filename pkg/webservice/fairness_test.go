package webservice

import (
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/server/usage"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

func TestStarved_BoundsOfWaitAndShare(t *testing.T) {
	now := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	vcore := func(n resources.Quantity) resources.Amounts {
		return resources.FromMap(map[string]resources.Quantity{"vcore": n})
	}
	q := &scheduler.QueueView{Path: "root.a", Allocated: vcore(900), Pending: vcore(1)}
	starved := func(wait time.Duration, owed resources.Quantity) bool {
		return queueFairness(&usage.Tree{View: q, Oldest: now.Add(-wait)}, vcore(owed), now, now).Starved
	}
	assert.Assert(t, starved(time.Minute, 1001))
	assert.Assert(t, !starved(time.Minute, 1000), "it has nine tenths")
	assert.Assert(t, !starved(time.Minute-1, 5000), "it waits for less than a minute")
	v := queueFairness(&usage.Tree{View: q}, vcore(5000), now, now)
	assert.Assert(t, !v.Starved && v.WaitSeconds == 0, "no ask is pending")
}
