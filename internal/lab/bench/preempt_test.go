package bench

import (
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/lab/bench/workload"
	"github.com/canopy-scheduler/canopy/internal/lab/measure"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// preemptSpec returns a full cluster in which a few asks preempt.
func preemptSpec(right string) workload.Spec {
	s := smallSpec()
	s.Shapes, s.Saturation, s.Priorities, s.Preemptors, s.PreemptBy, s.Victims, s.AtOnce = 1, 1, 3, 20, right, 3, 5
	return s
}

func TestPreempt_MinimalVictims(t *testing.T) {
	for _, right := range []string{workload.ByLeaf, workload.ByFence, workload.ByGuarantee} {
		t.Run(right, func(t *testing.T) {
			a := runJob(t, Job{Spec: preemptSpec(right), Measure: Preempt, Seed: 1})
			assert.Equal(t, a.Sample["allocations"], 20.0)
			assert.Assert(t, a.Sample["victims"] >= 1 && a.Sample["victims"] <= 3, "%v", a.Sample)
			assert.Assert(t, a.Sample["nodesTried"] >= 1, "%v", a.Sample)
			alone := preemptSpec(right)
			alone.AtOnce = 1
			a = runJob(t, Job{Spec: alone, Measure: Preempt, Seed: 1})
			assert.Equal(t, a.Sample["victims"], 3.0, "victims of other preemptors do not count")
		})
	}
}

// alteredCore is a core whose effects are changed.
type alteredCore struct {
	*scheduler.Core
	change func([]scheduler.Effect) []scheduler.Effect
}

func (a alteredCore) Schedule(now time.Time, budget int) ([]scheduler.Effect, bool) {
	effects, more := a.Core.Schedule(now, budget)
	return a.change(effects), more
}

func TestPreempt_WrongOutcomeFails(t *testing.T) {
	s := streamOf(t, preemptSpec(workload.ByFence), 1)
	for _, c := range []struct {
		name   string
		change func(e scheduler.Effect) scheduler.Effect
		want   string
	}{
		{"a victim that is above its preemptor", func(e scheduler.Effect) scheduler.Effect {
			if y, ok := e.(scheduler.Released); ok {
				y.Key = s.key(s.firstPreemptor())
				return y
			}
			return e
		}, "was preempted, and is a preemptor"},
		{"a victim that was stopped", func(e scheduler.Effect) scheduler.Effect {
			if y, ok := e.(scheduler.Released); ok {
				y.Type = scheduler.StoppedByRM
				return y
			}
			return e
		}, "and not preempted"},
		{"a preemptor that is not placed", func(e scheduler.Effect) scheduler.Effect {
			if x, ok := e.(scheduler.Allocated); ok && numberOf(x.Ask.Key) >= s.firstPreemptor() {
				return scheduler.PartitionReset{}
			}
			return e
		}, "5 preemptors were submitted, and 0 are placed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := loadPreempting(s, alteredCore{newCore(s), func(all []scheduler.Effect) []scheduler.Effect {
				for i := range all {
					all[i] = c.change(all[i])
				}
				return all
			}})
			assert.NilError(t, err)
			assert.ErrorContains(t, p.runTo(5, measure.NewHistogram(), measure.NewHistogram()), c.want)
		})
	}
}

// If preemption is disabled, preemptors are not placed.
func TestPreempt_DisabledPreemptionFails(t *testing.T) {
	s := streamOf(t, preemptSpec(workload.ByFence), 1)
	s.partition.PreemptionEnabled = false
	p, err := loadPreempting(s, newCore(s))
	assert.NilError(t, err)
	assert.Error(t, p.runTo(5, measure.NewHistogram(), measure.NewHistogram()),
		"5 preemptors were submitted, and 0 are placed")
}
