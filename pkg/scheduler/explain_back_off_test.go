package scheduler

import (
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/objects"
)

// countingOracle refuses every node, and counts its calls.
type countingOracle struct{ calls uint64 }

func (o *countingOracle) Fits(objects.AllocationKey, objects.NodeID) bool { o.calls++; return false }

// What an explanation says of a back-off is when the ask is tried again: not a nanosecond before, and at that time, if
// something has changed where that is needed (OBS-93).
func TestExplain_BackOffEndsWhenItSays(t *testing.T) {
	start := time.Unix(1_000_000_000, 0)
	refuses := &countingOracle{}
	for _, c := range []struct {
		reason     string
		needChange bool
		after      time.Duration // of the end of the back-off
		tried      func(*Core) uint64
		core       func() *Core
	}{
		{"nodesRejectedByRM", false, time.Second, func(*Core) uint64 { return refuses.calls }, func() *Core {
			core := coreWithFullNode(time.Hour, start)
			core.SetOracle(&objects.Oracle{Fits: refuses.Fits})
			core.Step(start, AddNode{Node: "free", Total: amounts(1000, 1<<30), Schedulable: true})
			// may not preempt
			core.Step(start, SubmitAsk{Ask: &objects.Ask{Key: "ask", App: "guaranteed", Amounts: amounts(1000, 1<<30)}})
			return core
		}},
		{"noVictims", true, evaluationRetry, evaluations, func() *Core {
			core := coreWithFullNode(0, start)
			core.Step(start, guaranteedAsk("ask", 1001)) // more than the node
			return core
		}},
		{"preemptionDelay", false, 3 * time.Second, evaluations, func() *Core {
			core := coreWithFullNode(3*time.Second, start)
			core.Step(start, guaranteedAsk("ask", 1000))
			return core
		}},
		{"victimsRefusedByRM", false, evaluationRetry, evaluations, func() *Core {
			core := coreWithFullNode(0, start)
			core.SetOracle(&objects.Oracle{Fits: refuses.Fits})
			core.Step(start, guaranteedAsk("ask", 1000))
			return core
		}},
	} {
		t.Run(c.reason, func(t *testing.T) {
			core := c.core()
			core.Schedule(start, 10)
			backOffs := core.Explain("ask", start).Verdict.BackOffs
			assert.Equal(t, len(backOffs), 1, "%v", backOffs)
			b := backOffs[0]
			assert.Equal(t, string(b.Reason), c.reason)
			assert.Equal(t, b.NeedChange, c.needChange)
			assert.Equal(t, b.Until.Time().Sub(start), c.after)

			if c.needChange {
				core.Step(start, SetCapacity{Node: "n", Total: amounts(1000, 1<<31)})
				b = core.Explain("ask", start).Verdict.BackOffs[0]
				assert.Assert(t, !b.NeedChange && b.Until.Time().Sub(start) == c.after, "%s: something has changed", b.Message)
			}
			before := c.tried(core)
			core.Step(b.Until.Time().Add(-1), Wake{})
			core.Schedule(b.Until.Time().Add(-1), 10)
			assert.Equal(t, c.tried(core), before, "before the end")
			core.Step(b.Until.Time(), Wake{})
			core.Schedule(b.Until.Time(), 10)
			assert.Assert(t, c.tried(core) > before, "not at the end")
			assert.NilError(t, core.Check())
		})
	}
}

func evaluations(core *Core) uint64 { return core.preemption.Stats().Evaluations }

// The counts of a snapshot are those of the asks that an explanation says it of (OBS-94).
func TestSnapshot_CountsWhatBacksOff(t *testing.T) {
	start := time.Unix(1_000_000_000, 0)
	core := coreWithFullNode(0, start)
	core.SetOracle(&objects.Oracle{Fits: new(countingOracle).Fits})
	core.Step(start, AddNode{Node: "free", Total: amounts(10, 1<<30), Schedulable: true})
	for _, key := range []string{"a", "b", "c"} {
		core.Step(start,
			SubmitAsk{Ask: &objects.Ask{Key: objects.AllocationKey(key), App: "guaranteed", Amounts: amounts(10, 1)}})
	}
	core.Step(start, guaranteedAsk("large", 1000))
	core.Schedule(start, 10)
	s := core.Snapshot(start)
	assert.DeepEqual(t, s.Refused, BackedOff{3, start.Add(refusalRetry)})
	assert.DeepEqual(t, s.NoVictims, BackedOff{1, start.Add(evaluationRetry)})
	core.Step(start, Release{App: "guaranteed", Key: "b", Type: StoppedByRM})
	assert.Equal(t, core.Snapshot(start).Refused.Count, 2)
	core.Step(start, RemoveApplication{App: "guaranteed"})
	s = core.Snapshot(start)
	assert.DeepEqual(t, s.Refused, BackedOff{})
}

// evaluationRetry is that of package preemption (PRE-95).
const evaluationRetry = 5 * time.Second
