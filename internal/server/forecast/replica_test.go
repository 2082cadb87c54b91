package forecast

import (
	"fmt"
	"slices"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/testing/randomrun"
	"github.com/canopy-scheduler/canopy/internal/testing/testscale"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// In the state after any steps of a random run a replica has what the original has, its accounting is consistent, and
// its scheduler runs on to the end of a forecast.
func TestReplica_OfRandomRuns(t *testing.T) {
	runs := uint64(testscale.Runs(600))
	replicas, broken, asks := 0, 0, 0
	for seed := uint64(1); seed <= runs; seed++ {
		s := randomrun.RandomRun(seed, 300)
		core := scheduler.NewWith(s.Partition, s.Oracle.Oracle(),
			objects.Options{Shapes: s.Shapes, Lifetimes: s.Lifetimes, Candidates: s.MaxCandidates})
		now := randomrun.StartTime()
		for i, step := range s.Steps {
			now = now.Add(step.After)
			if step.Command == nil {
				core.Schedule(now, step.Budget)
			} else {
				core.Step(now, step.Command)
			}
			if i%60 != 59 {
				continue
			}
			before := core.FullSnapshot(now)
			o := newOriginal(State{Snapshot: before, Config: core.Partition().Config(), Lifetimes: s.Lifetimes},
				func(map[string]string) string { return "" }, nil)
			copied, err := o.replica(nil)
			if err != nil {
				assert.ErrorContains(t, err, "takes no applications", "seed %d, step %d", seed, i) // it is draining
				broken++
				continue
			}
			replicas++
			assert.NilError(t, copied.Check(), "seed %d, step %d", seed, i)
			after := copied.FullSnapshot(now)
			assert.DeepEqual(t, heldBy(after), heldBy(before))
			assert.DeepEqual(t, heldBy(core.FullSnapshot(now)), heldBy(before)) // the original is as it was
			d := newDraws(o, learntOf(s.Partition.Name).Estimator(s.Partition.Name, now, o.running()))
			var keys []objects.AllocationKey
			for _, x := range o.asks {
				if y, _ := copied.Partition().Allocation(x.Ask.Key); y.Ask() == x.Ask {
					t.Fatalf("seed %d, step %d: %s is in both partitions", seed, i, x.Ask.Key)
				}
				keys = append(keys, x.Ask.Key)
			}
			asks += len(keys)
			r, err := newRun(0, d, keys, nil)
			assert.NilError(t, err)
			r.play(t.Context())
			assert.NilError(t, r.core.Check(), "seed %d, step %d", seed, i)
			assert.Equal(t, len(r.starts)+len(r.targets), len(keys))
		}
	}
	assert.Assert(t, replicas > 2*int(runs) && asks > replicas, "%d replicas, %d asks, %d not copied", replicas, asks,
		broken)
}

// heldBy is what nodes hold, by the keys of the allocations on them, and what waits.
func heldBy(s *scheduler.Snapshot) (lines []string) {
	for n := range s.Nodes.All() {
		line := fmt.Sprintf("%s %v %v %t:", n.ID, n.Total, n.Occupied, n.Schedulable)
		for x := range n.Allocations.All() {
			line += fmt.Sprintf(" %s=%v", x.Ask.Key, x.Ask.Amounts)
		}
		lines = append(lines, line)
	}
	var below func(q *scheduler.QueueView)
	below = func(q *scheduler.QueueView) {
		for child := range q.Children.All() {
			below(child)
		}
		for a := range q.Applications.All() {
			for x := range a.Allocations.All() {
				lines = append(lines,
					fmt.Sprintf("%s in %s: %s %s=%v %d", a.ID, q.Path, x.Node, x.Ask.Key, x.Ask.Amounts, x.Ask.Priority))
			}
		}
	}
	below(s.Root)
	slices.Sort(lines)
	return lines
}
