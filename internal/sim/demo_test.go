package sim_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"reflect"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/loop"
	"github.com/canopy-scheduler/canopy/internal/sim"
	"github.com/canopy-scheduler/canopy/pkg/configs"
)

func TestWorkloads(t *testing.T) {
	for _, size := range []sim.Size{
		{Nodes: 1, Queues: sim.LeastQueues, Asks: 1},
		{Nodes: 1, Queues: 2000, Asks: 10, Seed: 3},
		{Nodes: 100, Queues: 40, Asks: 5000, Seed: 1},
		{Nodes: 7, Queues: 11, Asks: 3000, Seed: 1 << 63},
	} {
		t.Run(fmt.Sprintf("%+v", size), func(t *testing.T) {
			w := sim.NewWorkload(size)
			conf, problems := configs.Load([]byte(w.Config))
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

func TestTheDemoConfigIsAnExample(t *testing.T) {
	example, err := os.ReadFile("../../examples/demo.yaml")
	assert.NilError(t, err)
	w := sim.NewWorkload(sim.Size{Nodes: 100, Queues: 40, Asks: 5000, Seed: 1})
	assert.Equal(t, w.Config, string(example), "canopy demo without flags; copy the one to the other")
}

func TestDemo(t *testing.T) {
	ctx := patient(t)
	w := sim.NewWorkload(sim.Size{Nodes: 4, Queues: 9, Asks: 400, Seed: 5})
	s, c := pair(t, loop.Options{}, w.Config)
	waited := 0
	d := sim.Demo{Client: c, Workload: w, Audit: func(ctx context.Context) error {
		waited += len(c.Waiting())
		return s.Audit(ctx, c)
	}}
	assert.NilError(t, d.Run(ctx))
	assert.Assert(t, waited > 0, "there is meant to be too much work")
	r := c.Report()
	assert.Equal(t, r.Allocated, 400)
	assert.Equal(t, r.Pending+r.Rejected, 0)
	assert.Equal(t, r.Allocated-r.Released, len(c.Running()))
	assert.Assert(t, r.LatencyMillis.P50 > 0 && r.LatencyMillis.P50 <= r.LatencyMillis.P99)

	snap, err := s.Snapshot(ctx)
	assert.NilError(t, err)
	lines := sim.Lines(snap)
	assert.Equal(t, len(lines), 10)
	assert.DeepEqual(t, lines[0].Allocated, r.AllocatedResources)
	conf, _ := configs.Load([]byte(w.Config))
	assert.DeepEqual(t, lines, c.Lines(conf.Partitions[0]))
}

func TestAFailedAuditEndsADemo(t *testing.T) {
	w := sim.NewWorkload(sim.Size{Nodes: 1, Queues: 6, Asks: 3})
	_, c := pair(t, loop.Options{}, w.Config)
	d := sim.Demo{Client: c, Workload: w, Audit: func(context.Context) error { return errors.New("wrong") }}
	assert.Error(t, d.Run(patient(t)), "wave 1 of 1: 3 asks: wrong")
}
