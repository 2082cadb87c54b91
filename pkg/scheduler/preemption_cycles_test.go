package scheduler_test

import (
	"fmt"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/configs/queuesyaml"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// countUnsuccessfulPreemptions counts the victims of an ask that is never placed, within an hour; each
// victim is submitted again at once.
func countUnsuccessfulPreemptions(t *testing.T, breaker bool) (victims, cycles int) {
	conf, problems := queuesyaml.Load(fmt.Appendf(nil,
		"partitions: [{preemption: {churnbreakerenabled: %t, churncycles: 5, churnwindow: 20m, churncooldown: 10m}, "+
			"queues: [{name: root,"+
			" submitacl: '*', queues: [{name: a, properties: {preemption.priority: leaf}}]}]}]", breaker))
	assert.Assert(t, conf != nil, "%v", problems)
	core, now := scheduler.New(conf.Partitions[0], acceptsOnlyBeforeRelease{"high"}.oracle()), epoch
	apply := func(cmd scheduler.Command) {
		core.Step(now, cmd)
		assert.NilError(t, core.Check())
	}
	ask := func(n int) {
		apply(scheduler.SubmitAsk{Ask: &objects.Ask{Key: objects.AllocationKey(fmt.Sprint("low-", n)), App: "low",
			Amounts: vcores(10)}})
	}
	apply(scheduler.AddNode{Node: "n", Total: vcores(10), Schedulable: true})
	apply(scheduler.AddApplication{App: "low", Queue: "root.a"})
	apply(scheduler.AddApplication{App: "high", Queue: "root.a"})
	ask(0)
	core.Schedule(now, 10)
	apply(scheduler.SubmitAsk{Ask: &objects.Ask{
		Key: "high", App: "high", Amounts: vcores(10), Priority: 9,
		Policy: objects.PolicySent | objects.PolicyAllowPreemptOther,
	}})
	for range 720 {
		now = now.Add(5 * time.Second)
		effects, _ := core.Schedule(now, 10)
		var released []scheduler.Released
		for _, e := range effects {
			switch e := e.(type) {
			case scheduler.Released:
				released = append(released, e)
			case scheduler.Event:
				if e.Kind == scheduler.EventPreemptionCycle {
					cycles++
					assert.Equal(t, e.Cycle.String(), "root.a -> root.a")
					assert.Equal(t, e.Until.IsZero(), !breaker)
				}
			}
		}
		for _, e := range released {
			victims++
			apply(scheduler.Release{App: e.App, Key: e.Key, Type: scheduler.PreemptedByScheduler})
			ask(victims)
		}
	}
	return victims, cycles
}

func TestPreemptionCycle_CircuitBreakerBoundsVictims(t *testing.T) {
	with, cycles := countUnsuccessfulPreemptions(t, true)
	without, cyclesWithout := countUnsuccessfulPreemptions(t, false)
	t.Logf("%d victims and %d rounds with the breaker, %d and %d without", with, cycles, without, cyclesWithout)
	assert.Assert(t, without > 150, "only %d victims without a breaker: too few for the comparison", without)
	// Five rounds, then ten minutes of cool-down: six times in an hour at most.
	assert.Assert(t, with <= 6*6 && cycles >= 4, "%d victims, and %d cycles", with, cycles)
	assert.Assert(t, cyclesWithout >= without/6, "only %d cycles without a breaker", cyclesWithout)
}
