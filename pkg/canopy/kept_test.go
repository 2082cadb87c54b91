package canopy_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/testing/fakerm"
	"github.com/canopy-scheduler/canopy/pkg/canopy"
)

// What runs with an enforced bound keeps its end over a restart (RUN-7).
func TestDataDir_WhatRunsKeepsItsEnd(t *testing.T) {
	const text = "partitions: [{queues: [{name: root, submitacl: '*', queues: [{name: a, properties: " +
		"{runtime.default: 1h, runtime.enforce: 'true'}}]}]}]"
	now := time.Date(2031, 2, 3, 12, 0, 0, 0, time.UTC)
	opt := canopy.Options{DataDir: t.TempDir(), HTTP: canopy.HTTP{Address: free}, Now: func() time.Time { return now }}
	until := func(s *canopy.Server) time.Time {
		status, body := get(t, fmt.Sprintf("http://%s/ws/v1/partition/default/ask/k/explain", s.HTTPAddress()))
		assert.Equal(t, status, 200, body)
		var e struct{ RunsUntil int64 }
		assert.NilError(t, json.Unmarshal([]byte(body), &e))
		return time.Unix(0, e.RunsUntil).UTC()
	}
	end := now.Add(time.Hour)
	first, _ := start(t, opt)
	r := newRM("rm")
	r.register(t, first.Scheduler(), text, "root.a")
	r.ask(t, first.Scheduler(), "k")
	r.Want(t, "allocated k (app) on rm-node")
	assert.Equal(t, until(first), end)
	assert.NilError(t, first.Close())

	later := now.Add(20 * time.Minute)
	opt.Now = func() time.Time { return later }
	second, _ := start(t, opt)
	r = newRM("rm")
	r.register(t, second.Scheduler(), text, "root.a")
	x := fakerm.Ask("k", "app")
	x.ResourcePerAlloc, x.NodeID = fakerm.Resource(1, 1), "rm-node"
	assert.NilError(t, second.Scheduler().UpdateAllocation(&si.AllocationRequest{RmID: "rm",
		Allocations: []*si.Allocation{x}}))
	r.Want(t, "allocated k (app) on rm-node")
	assert.Equal(t, until(second), end)
}
