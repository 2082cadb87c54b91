package sim

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
)

// Demo lets a client live through a workload: waves of asks come, each for more than
// there is room, and between them half of what runs ends. When all have come, work ends
// until the last ask has its place.
type Demo struct {
	Client   *Client
	Workload Workload
	Progress func(phase string)              // nil: nobody wants to know
	Audit    func(ctx context.Context) error // called with the books at rest
}

// Run does it. Requires: the client has registered with the configuration of the
// workload.
func (d *Demo) Run(ctx context.Context) error {
	w, dice := d.Workload, rand.New(rand.NewPCG(d.Workload.Seed, 2))
	if err := d.Client.AddNodes(ctx, w.Nodes...); err != nil {
		return err
	}
	if err := d.Client.AddApplications(ctx, w.Applications...); err != nil {
		return err
	}
	d.tell("%d nodes and %d applications accepted", len(w.Nodes), len(w.Applications))
	for i, wave := range w.Waves {
		if i > 0 {
			if err := d.endHalf(ctx, dice, fmt.Sprintf("before wave %d", i+1)); err != nil {
				return err
			}
		}
		for some := range slices.Chunk(wave, batch) {
			if err := d.Client.Submit(ctx, some...); err != nil {
				return err
			}
		}
		if err := d.rest(ctx, fmt.Sprintf("wave %d of %d: %d asks", i+1, len(w.Waves), len(wave))); err != nil {
			return err
		}
	}
	for round := 1; len(d.Client.Waiting()) > 0; round++ {
		if len(d.Client.Running()) == 0 {
			return fmt.Errorf("%d asks are pending in an empty cluster", len(d.Client.Waiting()))
		}
		if err := d.endHalf(ctx, dice, fmt.Sprintf("letting the rest in, round %d", round)); err != nil {
			return err
		}
	}
	return nil
}

// endHalf releases half of what runs, at least one.
func (d *Demo) endHalf(ctx context.Context, dice *rand.Rand, when string) error {
	running := d.Client.Running()
	if len(running) == 0 {
		return nil
	}
	dice.Shuffle(len(running), func(i, j int) { running[i], running[j] = running[j], running[i] })
	over := running[:(len(running)+1)/2]
	slices.Sort(over)
	for some := range slices.Chunk(over, batch) {
		if err := d.Client.Release(ctx, some...); err != nil {
			return err
		}
	}
	return d.rest(ctx, fmt.Sprintf("%s: %d released", when, len(over)))
}

// rest waits until nothing more can happen, and checks what there is.
func (d *Demo) rest(ctx context.Context, phase string) error {
	if err := d.Client.Settle(ctx); err != nil {
		return fmt.Errorf("%s: %w", phase, err)
	}
	d.tell("%s; %d running, %d waiting", phase, len(d.Client.Running()), len(d.Client.Waiting()))
	if err := d.Client.Aside(func() error { return d.Audit(ctx) }); err != nil {
		return fmt.Errorf("%s: %w", phase, err)
	}
	return nil
}

func (d *Demo) tell(format string, args ...any) {
	if d.Progress != nil {
		d.Progress(fmt.Sprintf(format, args...))
	}
}
