package demo

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/objects"
)

// stepInterval is the time between two steps of a demo.
const stepInterval = time.Minute

// run is a workload that runs.
type run struct {
	*cluster
	rng      *rand.Rand
	progress func(phase string)
	report   Report
}

// Run runs a workload in virtual time: waves of asks arrive, each larger than the free resources, and half of the
// allocations end before each wave. After the last wave allocations end until no ask is pending. The invariants
// are checked after each step; the error says which is violated. progress is called after each step.
func Run(w Workload, progress func(phase string)) (*Report, error) {
	c, err := newCluster(w.Config)
	if err != nil {
		return nil, err
	}
	r := &run{cluster: c, rng: rand.New(rand.NewPCG(w.Seed, 2)), progress: progress, report: Report{Seed: w.Seed}}
	if err := r.add(w.Nodes, w.Applications); err != nil {
		return nil, err
	}
	progress(fmt.Sprintf("%d nodes and %d applications accepted", len(w.Nodes), len(w.Applications)))
	for i, wave := range w.Waves {
		if err := r.step(i+1, wave); err != nil {
			return nil, fmt.Errorf("wave %d of %d: %w", i+1, len(w.Waves), err)
		}
	}
	r.recordFull()
	for round := 1; len(r.pending) > 0; round++ {
		if len(r.running) == 0 {
			return nil, fmt.Errorf("%d asks are pending in an empty cluster", len(r.pending))
		}
		if err := r.step(0, nil); err != nil {
			return nil, fmt.Errorf("round %d without new asks: %w", round, err)
		}
	}
	r.report.Totals, r.report.Took = r.totals(), r.took
	return &r.report, nil
}

// step is a minute: half of the allocations end, the asks of a wave are submitted, and feasible asks are placed.
func (r *run) step(wave int, asks []*objects.Ask) error {
	r.now = epoch.Add(time.Duration(len(r.report.Steps)) * stepInterval)
	before := r.counts
	if err := r.endHalf(); err != nil {
		return err
	}
	if err := r.submit(asks); err != nil {
		return err
	}
	s := Step{
		Second: int64(r.now.Sub(epoch) / time.Second), Wave: wave, Ended: r.counts.Released - before.Released,
		Submitted: len(asks), Placed: r.counts.Allocated - before.Allocated, Running: len(r.running), Waiting: len(r.pending),
	}
	r.report.Steps = append(r.report.Steps, s)
	r.progress(fmt.Sprintf("step %d: %d ended, %d submitted, %d placed; %d running, %d waiting",
		len(r.report.Steps), s.Ended, s.Submitted, s.Placed, s.Running, s.Waiting))
	return r.check()
}

// endHalf ends half of the allocations, rounded up.
func (r *run) endHalf() error {
	keys := slices.Sorted(maps.Keys(r.running))
	r.rng.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
	over := keys[:(len(keys)+1)/2]
	slices.Sort(over)
	for _, key := range over {
		if err := r.end(key); err != nil {
			return err
		}
	}
	return nil
}

// recordFull records the state at the end of the last wave.
func (r *run) recordFull() {
	m := &r.report.Full
	m.Step = r.report.Steps[len(r.report.Steps)-1]
	m.Queues, m.AllocatedResources = QueueLines(r.core.Snapshot(r.now)), r.totals().AllocatedResources
	m.TopPending = r.explainTopPending()
}
