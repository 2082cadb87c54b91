package scheduler

import (
	"fmt"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/policies"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// coreWithFullNode is a Core with one full node, and a leaf root.guaranteed whose asks may preempt after delay.
func coreWithFullNode(delay time.Duration, now time.Time) *Core {
	guaranteed := configs.Queue{Name: "guaranteed", Settings: configs.DefaultSettings()}
	guaranteed.PreemptionDelay, guaranteed.PriorityPreemption = delay, policies.PriorityPreemptionDisabled
	guaranteed.Guaranteed = resources.GuaranteeFromMap(map[string]resources.Quantity{"vcore": 1000_000})
	core := New(configs.Partition{Name: "default", PreemptionEnabled: true, Root: configs.Queue{
		Name: "root", Parent: true, SubmitACL: security.Everyone(), Settings: configs.DefaultSettings(),
		Children: []configs.Queue{guaranteed, {Name: "other", Settings: configs.DefaultSettings()}},
	}}, nil)
	core.Step(now, AddNode{Node: "n", Total: amounts(1000, 1<<30), Schedulable: true})
	core.Step(now, AddApplication{App: "other", Queue: "root.other"})
	core.Step(now, ReportAllocation{Node: "n", Ask: &objects.Ask{Key: "run", App: "other", Amounts: amounts(1000, 1<<30)}})
	core.Step(now, AddApplication{App: "guaranteed", Queue: "root.guaranteed"})
	return core
}

func guaranteedAsk(key string, vcore int64) SubmitAsk {
	return SubmitAsk{Ask: &objects.Ask{
		Key: objects.AllocationKey(key), App: "guaranteed", Amounts: amounts(vcore, 1<<20),
		Policy: objects.PolicySent | objects.PolicyAllowPreemptOther,
	}}
}

// An ask preempts to the nanosecond when its delay ends, if the Core gets a Wake at each deadline (PRE-16).
func TestBackOff_DelayEndsAtItsDeadline(t *testing.T) {
	for _, delay := range []time.Duration{time.Nanosecond, time.Second, 7 * time.Second, 31*time.Second + 1, time.Hour} {
		now := time.Unix(1_000_000_000, 0)
		core := coreWithFullNode(delay, now)
		core.Step(now, guaranteedAsk("ask", 1000))
		asked, wakes := now, 0
		for len(core.part.Nominees()) == 0 {
			core.Schedule(now, 10)
			if len(core.part.Nominees()) > 0 {
				break
			}
			at, ok := core.NextDeadline()
			assert.Assert(t, ok && at.After(now), "after %s: the next deadline is %s, %t", now.Sub(asked), at, ok)
			now = at
			core.Step(now, Wake{})
			wakes++
		}
		assert.Equal(t, now.Sub(asked), delay)
		want := 1
		if delay > waitingInterval {
			want++ // the waiting states are evaluated once
		}
		assert.Equal(t, wakes, want, "there is no other deadline")
	}
}

// Waiting for delays costs one evaluation for each group and delay, however many asks wait (PRE-97): here
// 3,000 asks of 300 groups, submitted one after the other.
func TestBackOff_DelaysCostOneEvaluationEach(t *testing.T) {
	now := time.Unix(1_000_000_000, 0)
	core := coreWithFullNode(30*time.Second, now)
	core.Step(now, SetCapacity{Node: "n", Total: amounts(999, 1<<30)}) // no ask fits once the allocation has ended
	core.Step(now, SetSchedulable{Node: "n"})
	const groups, each = 300, 10
	for i := range each {
		for g := range groups {
			now = now.Add(time.Millisecond)
			core.Step(now, guaranteedAsk(fmt.Sprint("ask-", g, "-", i), int64(1000+g)))
			core.Schedule(now, 10)
		}
	}
	wakes := 0
	end := now.Add(5 * time.Minute)
	for at, ok := core.NextDeadline(); ok && at.Before(end); at, ok = core.NextDeadline() {
		now = at
		core.Step(now, Wake{})
		for more := true; more; {
			_, more = core.Schedule(now, 10)
		}
		wakes++
	}
	t.Logf("%d groups: %d evaluations, %d of them searches, %d wakes", groups, core.preemption.Stats().Evaluations,
		core.PreemptionSearchStats().Searches, wakes)
	// One for the new group, at most two for changes since, and one when the delay ends.
	assert.Assert(t, core.preemption.Stats().Evaluations <= 4*groups+groups, "%d evaluations of %d groups",
		core.preemption.Stats().Evaluations, groups)
	assert.Assert(t, wakes <= 2*groups+10, "%d wakes", wakes)
	assert.Assert(t, core.preemption.Stats().Delays == 0, "%d delays are left", core.preemption.Stats().Delays)
}

// Groups without pending asks are dropped from the back-off.
func TestBackOff_ForgetsGroupsThatAreGone(t *testing.T) {
	now := time.Unix(1_000_000_000, 0)
	core := coreWithFullNode(time.Hour, now)
	for i := range 100 {
		core.Step(now, guaranteedAsk(fmt.Sprint("ask-", i), int64(1000+i)))
	}
	core.Schedule(now, 10)
	assert.Equal(t, core.preemption.Stats().BackedOff, 100)
	assert.Equal(t, core.preemption.Stats().Delays, 100)
	core.Step(now, RemoveApplication{App: "guaranteed"})
	now = now.Add(5 * time.Second) // PRE-95
	core.Step(now, Wake{})
	core.Schedule(now, 10)
	assert.Equal(t, core.preemption.Stats().BackedOff, 0)
	assert.Equal(t, core.preemption.Stats().Delays, 0)
	assert.Equal(t, core.preemption.Stats().Queued, 0)
}

// rejectsFirstAsk is a resource manager that refuses every node to the ask "first".
type rejectsFirstAsk struct{}

func (rejectsFirstAsk) Fits(ask objects.AllocationKey, _ objects.NodeID) bool { return ask != "first" }

// When the first ask of a group is cancelled, the delay of the next one ends at its own time, although the
// delay of the first had ended already.
func TestBackOff_DelayOfTheNextAskEndsWhenTheFirstIsGone(t *testing.T) {
	now := time.Unix(1_000_000_000, 0)
	core := coreWithFullNode(7*time.Second, now)
	core.SetOracle(&objects.Oracle{Fits: rejectsFirstAsk{}.Fits})
	core.Step(now, guaranteedAsk("first", 1000))
	core.Step(now.Add(3*time.Second), guaranteedAsk("next", 1000))
	core.Schedule(now.Add(7*time.Second), 10)
	assert.Equal(t, len(core.part.Nominees()), 0, "first is refused, next is too young")
	core.Step(now.Add(8*time.Second), Release{App: "guaranteed", Key: "first", Type: StoppedByRM})
	// the waiting states are due, and their evaluation has no deadline of its own
	core.Step(now.Add(9*time.Second), Wake{})
	at, ok := core.NextDeadline()
	assert.Assert(t, ok && at.Equal(now.Add(10*time.Second)), "the next deadline is after %s", at.Sub(now))
	core.Schedule(at, 10)
	assert.Equal(t, len(core.part.Nominees()), 1)
	assert.NilError(t, core.Check())
}
