package twin

import (
	"math/rand/v2"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/testing/randomrun"
	"github.com/canopy-scheduler/canopy/internal/testing/testscale"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// TestReload_RoundTripLeavesNoState executes a run on two Cores. One of them sometimes reloads another
// configuration and the first again, which must have no effect on its state or its later decisions.
// There is no such round trip while a queue drains, because its settings under the other configuration
// are kept, or while a queue exceeds its max or an allocation its bound, because the delay or the grace
// would start anew (QUO-48, RUN-6). After a reload all applications are evaluated, so the waiting asks of
// one evaluation may be in another order (ASK-63).
func TestReload_RoundTripLeavesNoState(t *testing.T) {
	runs, trips := uint64(testscale.Runs(150)), 0
	first := envNumber(t, "CANOPY_TWIN_SEED", 1)
	for seed := first; seed < first+runs; seed++ {
		trips += roundTrip(t, randomrun.RandomRun(seed, stepsPerRun).WithoutFairness())
	}
	assert.Assert(t, trips > 20*int(runs), "only %d other configurations were in force", trips)
}

// followNodes puts the quotas in percent in force that follow from the nodes, as a reload does: the operator names no
// node that there is.
func followNodes(c *scheduler.Core, now time.Time) []scheduler.Effect {
	return c.Step(now, scheduler.Operate{Action: scheduler.UncordonNode, Node: "none"})
}

// roundTrip executes one run and returns the number of round trips.
func roundTrip(t *testing.T, s randomrun.Run) (trips int) {
	t.Helper()
	oracle := s.Oracle.Oracle()
	opt := objects.DefaultOptions()
	opt.Evaluations = 1 << 30 // the bound of evaluations leaves no state
	reference, reloaded := scheduler.NewWith(s.Partition, oracle, opt), scheduler.NewWith(s.Partition, oracle, opt)
	gen := &randomrun.Generator{Rand: rand.New(rand.NewPCG(s.Seed, 1)), Conf: s.Partition}
	now, drains := randomrun.StartTime(), false
	for i, step := range s.Steps {
		now = now.Add(step.After)
		want, more := applyStep(step, reference, now)
		wantText, alsoMore := exactEffects(want), more
		got, more := applyStep(step, reloaded, now)
		assert.Equal(t, exactEffects(got), wantText, "seed %d, step %d: %s", s.Seed, i, step)
		assert.Equal(t, more, alsoMore)
		switch step.Command.(type) {
		case scheduler.DrainPartition:
			drains = true // and is not in the first configuration
		case scheduler.UseConfig:
			drains = drains && len(scheduler.WithoutEvents(want)) > 0
		}
		assert.Equal(t, effectsText(followNodes(reference, now)), effectsText(followNodes(reloaded, now)))
		before := reloaded.Snapshot(now)
		if drains || anyDraining(before.Root) || anyAboveMax(before.Root) || anyBeyondBound(before) || !gen.OneIn(3) {
			continue
		}
		// A command without an effect, for the deadline of the waiting states: any command sets it.
		assert.Equal(t, effectsText(reference.Step(now, scheduler.SetListening{Listening: reference.Listening()})), "")
		original := reloaded.Partition().Config()
		gen.Conf = original
		if len(scheduler.WithoutEvents(reloaded.Step(now, scheduler.UseConfig{Partition: gen.ReloadConfig()}))) > 0 {
			continue // rejected
		}
		assert.NilError(t, reloaded.Check(), "seed %d, step %d", s.Seed, i)
		assert.Equal(t, effectsText(scheduler.WithoutEvents(reloaded.Step(now, scheduler.UseConfig{Partition: original}))),
			"", "seed %d, step %d", s.Seed, i)
		assert.NilError(t, reloaded.Check(), "seed %d, step %d", s.Seed, i)
		if SnapshotDifference(withoutBackOff(reloaded.Snapshot(now)), withoutBackOff(before)) != "" {
			t.Fatalf("seed %d: the way back from step %d, %s, leads somewhere else:\n%+v\n%+v",
				s.Seed, i, step, reloaded.Snapshot(now).Root, before.Root)
		}
		trips++
	}
	assert.Equal(t, SnapshotDifference(withoutBackOff(reloaded.Snapshot(now)), withoutBackOff(reference.Snapshot(now))),
		"", "seed %d: at the end", s.Seed)
	return trips
}

// withoutBackOff is s without what backs off: a reload is a change after which it is tried again.
func withoutBackOff(s *scheduler.Snapshot) *scheduler.Snapshot {
	c := *s
	c.Refused, c.NoVictims = scheduler.BackedOff{}, scheduler.BackedOff{}
	return &c
}

// anyDraining reports whether q, or a queue below it, drains.
func anyDraining(q *scheduler.QueueView) bool {
	for child := range q.Children.All() {
		if anyDraining(child) {
			return true
		}
	}
	return q.Draining
}

// anyBeyondBound reports whether an allocation runs for longer than its bound, and is in its grace.
func anyBeyondBound(s *scheduler.Snapshot) bool {
	for n := range s.Nodes.All() {
		for x := range n.Allocations.All() {
			if until := x.Run.RunsUntil; !until.IsZero() && !s.At.Before(until.Time()) {
				return true
			}
		}
	}
	return false
}

// anyAboveMax reports whether q, or a queue below it, exceeds an enforced max.
func anyAboveMax(q *scheduler.QueueView) bool {
	for child := range q.Children.All() {
		if anyAboveMax(child) {
			return true
		}
	}
	return q.AboveMax != nil
}
