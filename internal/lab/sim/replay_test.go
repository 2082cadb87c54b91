package sim_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/golden"

	"github.com/canopy-scheduler/canopy/internal/cli/demo"
	"github.com/canopy-scheduler/canopy/internal/lab/sim"
	"github.com/canopy-scheduler/canopy/internal/server/loop"
	"github.com/canopy-scheduler/canopy/pkg/objects"
)

// replayResult is the result of a replay of the sample.
type replayResult struct {
	decisions string
	report    sim.Report
	audits    int
}

func replaySample(t *testing.T, seed uint64, mode func(*sim.Replay, context.Context) error) replayResult {
	t.Helper()
	ctx := testContext(t)
	var out replayResult
	clock := sim.NewClock()
	s, c := startPair(t, loop.Options{Now: clock.Now}, sim.OpenbConfig())
	nodes, tasks := sample(t)
	r := sim.Replay{
		Client: c, Clock: clock, Nodes: nodes, Tasks: tasks, Seed: seed,
		Audit: func(ctx context.Context) error { out.audits++; return s.Audit(ctx, c) },
	}
	assert.NilError(t, mode(&r, ctx))
	var b strings.Builder
	for _, e := range c.Log() {
		if e.Kind == sim.Placed {
			fmt.Fprintf(&b, "%s %s\n", e.Key, e.Node)
		}
	}
	out.decisions = b.String()
	out.report = c.Report()
	snap, err := s.Snapshot(ctx)
	assert.NilError(t, err)
	out.report.Queues = demo.QueueLines(snap)
	return out
}

// The decisions for the sample, in full. After a change of the scheduler run go test ./internal/lab/sim
// -update, and read the diff.
func TestReplay_Fill(t *testing.T) {
	got := replaySample(t, 0, (*sim.Replay).Fill)
	golden.Assert(t, got.decisions, "fill.txt")
	assert.Equal(t, got.audits, 1)
	r := got.report
	assert.Equal(t, r.Asks, 80)
	assert.Equal(t, r.Allocated+r.Pending, 80)
	assert.Assert(t, r.Pending > 0, "the sample must exceed the cluster")
	assert.Equal(t, r.Released, 0)
	assert.Equal(t, r.Queues[0].CurrentPriority, int32(200), "asks of the class ls are pending")

	for range 3 {
		assert.Equal(t, replaySample(t, 0, (*sim.Replay).Fill).decisions, got.decisions, "the same decisions each time")
	}
	for seed := range uint64(4) {
		assert.Equal(t, replaySample(t, seed, (*sim.Replay).Fill).decisions, got.decisions,
			"creation times count, not the order of submission")
	}
}

func TestReplay_Lifetimes(t *testing.T) {
	got := replaySample(t, 0, (*sim.Replay).Lifetimes)
	golden.Assert(t, got.decisions, "lifetimes.txt")
	assert.Assert(t, got.audits >= 2)
	r := got.report
	assert.Equal(t, r.Asks, 80)
	assert.Equal(t, r.Released, r.Allocated)
	assert.Equal(t, r.Pending, 0)
	assert.Assert(t, r.Allocated < 80, "some tasks must end while they are pending")
	for _, q := range r.Queues {
		assert.DeepEqual(t, q.Allocated, demo.Quantities{})
		assert.DeepEqual(t, q.Pending, demo.Quantities{})
	}
	for range 3 {
		assert.Equal(t, replaySample(t, 0, (*sim.Replay).Lifetimes).decisions, got.decisions, "the same decisions "+
			"each time")
	}
}

// Each task runs for as long as in the trace, from its placement, and the asks that wait are counted.
func TestReplay_Durations(t *testing.T) {
	var waited []objects.AllocationKey
	mode := func(r *sim.Replay, ctx context.Context) error {
		r.AskWaits = func(_ context.Context, key objects.AllocationKey, n int) error {
			waited = append(waited, key)
			assert.Equal(t, n, len(waited))
			return nil
		}
		return r.Durations(ctx)
	}
	got := replaySample(t, 0, mode)
	golden.Assert(t, got.decisions, "durations.txt")
	assert.Assert(t, got.audits >= 2)
	r := got.report
	assert.Equal(t, r.Asks, 80)
	assert.Equal(t, r.Allocated, 80, "none ends while it is pending")
	assert.Equal(t, r.Released, 80)
	assert.Assert(t, len(waited) > 0, "the sample must exceed the cluster")
	waited = nil
	assert.Equal(t, replaySample(t, 0, mode).decisions, got.decisions, "the same decisions each time")
}

func TestReplay_FailedAuditEndsIt(t *testing.T) {
	nodes, tasks := sample(t)
	for name, mode := range map[string]func(*sim.Replay, context.Context) error{
		"wrong": (*sim.Replay).Fill, "second 0 of the trace: wrong": (*sim.Replay).Lifetimes,
	} {
		clock := sim.NewClock()
		_, c := startPair(t, loop.Options{Now: clock.Now}, sim.OpenbConfig())
		r := sim.Replay{
			Client: c, Clock: clock, Nodes: nodes, Tasks: tasks,
			Audit: func(context.Context) error { return fmt.Errorf("wrong") },
		}
		tasks[0].Created = 0
		assert.Error(t, mode(&r, testContext(t)), name)
	}
}

func TestOpenbConfig_IsTheExample(t *testing.T) {
	example, err := os.ReadFile("../../../examples/openb.yaml")
	assert.NilError(t, err)
	assert.Equal(t, sim.OpenbConfig(), string(example))
}
