package sim_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/lab/sim"
	"github.com/canopy-scheduler/canopy/internal/server/loop"
	"github.com/canopy-scheduler/canopy/pkg/configs/queuesyaml"
	"github.com/canopy-scheduler/canopy/pkg/objects"
)

func TestWorkload_HasRequestedSize(t *testing.T) {
	for _, size := range []sim.Size{
		{Nodes: 1, Queues: sim.MinQueues, Asks: 1},
		{Nodes: 1, Queues: 2000, Asks: 10, Seed: 3},
		{Nodes: 100, Queues: 40, Asks: 5000, Seed: 1},
		{Nodes: 7, Queues: 11, Asks: 3000, Seed: 1 << 63},
	} {
		t.Run(fmt.Sprintf("%+v", size), func(t *testing.T) {
			w := sim.NewWorkload(size)
			conf, problems := queuesyaml.Load([]byte(w.Config))
			assert.Equal(t, len(problems), 0, "%v", problems)
			queues := 0
			for _, tenant := range conf.Partitions[0].Root.Children {
				queues += 1 + len(tenant.Children)
				assert.Assert(t, len(tenant.Children) > 0)
			}
			assert.Equal(t, queues, size.Queues)
			asks := 0
			for _, wave := range w.Waves {
				asks += len(wave)
			}
			assert.Equal(t, asks, size.Asks)
			assert.Equal(t, len(w.Nodes), size.Nodes)
			assert.Assert(t, reflect.DeepEqual(w, sim.NewWorkload(size)), "the same each time")
		})
	}
}

func TestDemo_ConfigIsTheExample(t *testing.T) {
	example, err := os.ReadFile("../../../examples/demo.yaml")
	assert.NilError(t, err)
	w := sim.NewWorkload(sim.Size{Nodes: 100, Queues: 40, Asks: 5000, Seed: 1})
	assert.Equal(t, w.Config, string(example), "canopy demo without flags; copy the one to the other")
}

// newDemo starts a scheduler in virtual time and a demo with it.
func newDemo(t *testing.T, size sim.Size) *sim.Demo {
	t.Helper()
	clock, w := sim.NewClock(), sim.NewWorkload(size)
	s, c := startPair(t, loop.Options{Now: clock.Now}, w.Config)
	return &sim.Demo{Client: c, Server: s, Clock: clock, Workload: w,
		Audit: func(ctx context.Context) error { return s.Audit(ctx, c) }}
}

func TestDemo_PlacesAllAsks(t *testing.T) {
	ctx, waited := testContext(t), 0
	d := newDemo(t, sim.Size{Nodes: 4, Queues: 9, Asks: 400, Seed: 5})
	audit := d.Audit
	d.Audit = func(ctx context.Context) error {
		waited += len(d.Client.Waiting())
		return audit(ctx)
	}
	r, err := d.Run(ctx)
	assert.NilError(t, err)
	assert.Assert(t, waited > 0, "the workload must exceed the cluster")
	assert.Equal(t, r.Allocated, 400)
	assert.Equal(t, r.Pending+r.Rejected, 0)
	assert.Equal(t, r.Allocated-r.Released, len(d.Client.Running()))
	assert.Equal(t, r.Steps[len(r.Steps)-1].Running, len(d.Client.Running()))
	timing := d.Client.Timing()
	assert.Assert(t, timing.LatencyMillis.P50 > 0 && timing.LatencyMillis.P50 <= timing.LatencyMillis.P99)

	snap, err := d.Server.Snapshot(ctx)
	assert.NilError(t, err)
	lines := sim.QueueLines(snap)
	assert.Equal(t, len(lines), 10)
	assert.DeepEqual(t, lines[0].Allocated, r.AllocatedResources)
	conf, _ := queuesyaml.Load([]byte(d.Workload.Config))
	assert.DeepEqual(t, lines, d.Client.QueueLines(conf.Partitions[0]))
}

// All asks of a wave are known before its first placement, however many messages it takes: no ask is
// pending while an ask of lower priority of its application and of the same size is placed.
func TestDemo_WholeWaveIsKnownBeforeDecisions(t *testing.T) {
	d := newDemo(t, sim.Size{Nodes: 80, Queues: sim.MinQueues, Asks: 3500, Seed: 1})
	d.Workload.Waves = [][]sim.Ask{slices.Concat(d.Workload.Waves...)}
	for _, wave := range d.Workload.Waves {
		slices.SortFunc(wave, func(a, b sim.Ask) int { return cmp.Compare(a.Priority, b.Priority) }) // the worst order
	}
	first := true
	d.Audit = func(context.Context) error {
		if !first {
			return nil
		}
		first = false
		ran, waits := map[objects.AllocationKey]bool{}, 0
		for _, key := range d.Client.Running() {
			ran[key] = true
		}
		least := map[string]int32{}
		what := func(a sim.Ask) string { return fmt.Sprint(a.App, a.Amounts) }
		for _, a := range d.Workload.Waves[0] {
			if n, known := least[what(a)]; ran[a.Key] && (!known || a.Priority < n) {
				least[what(a)] = a.Priority
			}
		}
		for _, a := range d.Workload.Waves[0] {
			if n, known := least[what(a)]; !ran[a.Key] {
				waits++
				assert.Assert(t, !known || a.Priority <= n, "%s of priority %d waits, and one like it of %d runs", a.Key,
					a.Priority, n)
			}
		}
		assert.Assert(t, waits > 500 && len(ran) > 500, "%d wait and %d run", waits, len(ran))
		return nil
	}
	_, err := d.Run(testContext(t))
	assert.NilError(t, err)
}

func TestDemo_FailedAuditEndsIt(t *testing.T) {
	d := newDemo(t, sim.Size{Nodes: 1, Queues: 6, Asks: 3})
	d.Audit = func(context.Context) error { return errors.New("wrong") }
	_, err := d.Run(testContext(t))
	assert.Error(t, err, "wave 1 of 1: wrong")
}
