package sim

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/objects"
)

// stepInterval is the time between two steps of a demo.
const stepInterval = time.Minute

// Demo runs a workload in virtual time: waves of asks arrive, each larger than the free resources, and
// half of the allocations end before each wave. After the last wave allocations end until no ask is
// pending.
//
// Decisions and reports depend only on the workload, although the messages go over gRPC: the nodes are
// drained while a wave is submitted and are opened in one message, so that the whole wave is known
// before the first decision; nothing is sent before all effects of the last message are delivered; and
// the scheduler uses the clock of the demo.
type Demo struct {
	Client   *Client
	Server   *Server
	Clock    *Clock // of the scheduler
	Workload Workload
	Progress func(phase string)              // nil: no progress is reported
	Audit    func(ctx context.Context) error // called while the scheduler is idle

	rng    *rand.Rand
	report DemoReport
}

// Run runs the workload. The client must be registered with the configuration of the workload, and the
// scheduler must not have been used for anything else.
func (d *Demo) Run(ctx context.Context) (*DemoReport, error) {
	w := d.Workload
	d.rng = rand.New(rand.NewPCG(w.Seed, 2))
	d.report = DemoReport{Seed: w.Seed}
	if err := d.setUp(ctx); err != nil {
		return nil, err
	}
	for i, wave := range w.Waves {
		if err := d.runWave(ctx, i+1, wave); err != nil {
			return nil, fmt.Errorf("wave %d of %d: %w", i+1, len(w.Waves), err)
		}
	}
	if err := d.recordFull(ctx); err != nil {
		return nil, err
	}
	for round := 1; len(d.Client.Waiting()) > 0; round++ {
		if len(d.Client.Running()) == 0 {
			return nil, fmt.Errorf("%d asks are pending in an empty cluster", len(d.Client.Waiting()))
		}
		if err := d.finishRound(ctx); err != nil {
			return nil, fmt.Errorf("round %d without new asks: %w", round, err)
		}
	}
	d.report.Totals = d.Client.Totals()
	return &d.report, nil
}

// setUp adds the nodes, drained, and the applications.
func (d *Demo) setUp(ctx context.Context) error {
	nodes := slices.Clone(d.Workload.Nodes)
	for i := range nodes {
		nodes[i].Draining = true
	}
	if err := d.Client.AddNodes(ctx, nodes...); err != nil {
		return err
	}
	if err := d.Client.AddApplications(ctx, d.Workload.Applications...); err != nil {
		return err
	}
	d.reportProgress("%d nodes and %d applications accepted", len(nodes), len(d.Workload.Applications))
	return nil
}

// runWave ends half of the allocations, submits the asks of a wave and then opens the nodes.
func (d *Demo) runWave(ctx context.Context, number int, asks []Ask) error {
	ids := make([]objects.NodeID, len(d.Workload.Nodes))
	for i, n := range d.Workload.Nodes {
		ids[i] = n.ID
	}
	step := DemoStep{Wave: number, Submitted: len(asks)}
	if number > 1 {
		d.advanceClock()
		if err := d.Client.DrainNodes(ctx, ids...); err != nil {
			return err
		}
		if err := d.Client.WaitIdle(ctx); err != nil { // asks use another stream, and could arrive first
			return err
		}
		var err error
		if step.Ended, err = d.releaseHalf(ctx); err != nil {
			return err
		}
	}
	for some := range slices.Chunk(asks, messageBatch) {
		if err := d.Client.Submit(ctx, some...); err != nil {
			return err
		}
	}
	if err := d.Client.WaitIdle(ctx); err != nil {
		return err
	}
	if err := d.Client.OpenNodes(ctx, ids...); err != nil {
		return err
	}
	return d.waitIdle(ctx, step)
}

// finishRound ends half of the allocations, and waits until pending asks are placed.
func (d *Demo) finishRound(ctx context.Context) error {
	d.advanceClock()
	ended, err := d.releaseHalf(ctx)
	if err != nil {
		return err
	}
	return d.waitIdle(ctx, DemoStep{Ended: ended})
}

// releaseHalf releases half of the allocations, at least one, and returns the number.
func (d *Demo) releaseHalf(ctx context.Context) (int, error) {
	running := d.Client.Running()
	if len(running) == 0 {
		return 0, nil
	}
	d.rng.Shuffle(len(running), func(i, j int) { running[i], running[j] = running[j], running[i] })
	over := running[:(len(running)+1)/2]
	slices.Sort(over)
	for some := range slices.Chunk(over, messageBatch) {
		if err := d.Client.Release(ctx, some...); err != nil {
			return 0, err
		}
		if err := d.Client.WaitIdle(ctx); err != nil { // otherwise the time of decisions would depend on the machine
			return 0, err
		}
	}
	return len(over), nil
}

// waitIdle waits until the scheduler is idle, and records and checks the state.
func (d *Demo) waitIdle(ctx context.Context, step DemoStep) error {
	if err := d.Client.WaitIdle(ctx); err != nil {
		return err
	}
	placed := d.Client.Counts().Allocated
	for _, s := range d.report.Steps {
		placed -= s.Placed
	}
	step.Second = int64(d.Clock.Now().Sub(epoch) / time.Second)
	step.Placed, step.Running, step.Waiting = placed, len(d.Client.Running()), len(d.Client.Waiting())
	d.report.Steps = append(d.report.Steps, step)
	d.reportProgress("step %d: %d ended, %d submitted, %d placed; %d running, %d waiting",
		len(d.report.Steps), step.Ended, step.Submitted, step.Placed, step.Running, step.Waiting)
	return d.Client.ExcludeFromTiming(func() error { return d.Audit(ctx) })
}

// advanceClock advances the clock by a step.
func (d *Demo) advanceClock() { d.Clock.Set(d.Clock.Now().Add(stepInterval)) }

func (d *Demo) reportProgress(format string, args ...any) {
	if d.Progress != nil {
		d.Progress(fmt.Sprintf(format, args...))
	}
}
