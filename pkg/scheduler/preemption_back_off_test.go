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

// coreWithFullNode is a Core with one full node, and a leaf root.owed whose asks may preempt after delay.
func coreWithFullNode(delay time.Duration, now time.Time) *Core {
	owed := configs.Queue{Name: "owed", Settings: configs.DefaultSettings()}
	owed.PreemptionDelay, owed.PriorityPreemption = delay, policies.PriorityPreemptionDisabled
	owed.Guaranteed = resources.GuaranteeFromMap(map[string]resources.Quantity{"vcore": 1000_000})
	core := New(configs.Partition{Name: "default", PreemptionEnabled: true, Root: configs.Queue{
		Name: "root", Parent: true, SubmitACL: security.Everyone(), Settings: configs.DefaultSettings(),
		Children: []configs.Queue{owed, {Name: "other", Settings: configs.DefaultSettings()}},
	}}, nil)
	core.Step(now, AddNode{Node: "n", Total: amounts(1000, 1<<30), Schedulable: true})
	core.Step(now, AddApplication{App: "other", Queue: "root.other"})
	core.Step(now, ReportAllocation{Node: "n", Ask: &objects.Ask{Key: "run", App: "other", Amounts: amounts(1000, 1<<30)}})
	core.Step(now, AddApplication{App: "owed", Queue: "root.owed"})
	return core
}

func guaranteedAsk(key string, vcore int64) SubmitAsk {
	return SubmitAsk{Ask: &objects.Ask{
		Key: objects.AllocationKey(key), App: "owed", Amounts: amounts(vcore, 1<<20), Policy: objects.PolicySent | objects.PolicyAllowPreemptOther,
	}}
}

// An ask preempts to the nanosecond when its delay ends, if the Core is woken when it wants to be.
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
		assert.Equal(t, wakes, 1, "nothing else happens while it waits")
	}
}

// Waiting for delays costs one evaluation of each group for each delay, however many asks wait
// and however long: here of 3,000 asks in 300 groups, which were sent one after the other.
func TestBackOff_DelaysCostOneEvaluationEach(t *testing.T) {
	now := time.Unix(1_000_000_000, 0)
	core := coreWithFullNode(30*time.Second, now)
	core.Step(now, SetCapacity{Node: "n", Total: amounts(999, 1<<30)}) // and no ask finds room when the work there has left
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
	t.Logf("%d groups: %d evaluations, %d of them searches, %d wakes", groups, core.evaluated, core.PreemptionSearchStats().Searches, wakes)
	// When it comes, then at most twice because something has changed since, and when its delay ends.
	assert.Assert(t, core.evaluated <= 4*groups+groups, "%d evaluations of %d groups", core.evaluated, groups)
	assert.Assert(t, wakes <= 2*groups+10, "%d wakes", wakes)
	assert.Assert(t, len(core.backOff.delays) == 0, "%d delays are still awaited", len(core.backOff.delays))
}

// What waits is found again and forgotten, whatever becomes of it.
func TestBackOff_ForgetsGroupsThatAreGone(t *testing.T) {
	now := time.Unix(1_000_000_000, 0)
	core := coreWithFullNode(time.Hour, now)
	for i := range 100 {
		core.Step(now, guaranteedAsk(fmt.Sprint("ask-", i), int64(1000+i)))
	}
	core.Schedule(now, 10)
	assert.Equal(t, len(core.backOff.byGroup), 100)
	assert.Equal(t, len(core.backOff.delays), 100)
	core.Step(now, RemoveApplication{App: "owed"})
	now = now.Add(evaluationRetry)
	core.Step(now, Wake{})
	core.Schedule(now, 10)
	assert.Equal(t, len(core.backOff.byGroup), 0)
	assert.Equal(t, len(core.backOff.delays), 0)
	assert.Equal(t, len(core.backOff.queue), 0)
}

// rejectsFirstAsk is a resource manager that lets the ask "first" have no place of another.
type rejectsFirstAsk struct{}

func (rejectsFirstAsk) Fits(ask objects.AllocationKey, _ objects.NodeID) bool { return ask != "first" }

// When the first ask of a group goes, the delay of the next one ends at its own time, although no
// delay of the first was awaited any more.
func TestBackOff_DelayOfTheNextAskEndsWhenTheFirstIsGone(t *testing.T) {
	now := time.Unix(1_000_000_000, 0)
	core := coreWithFullNode(7*time.Second, now)
	core.oracle = rejectsFirstAsk{}
	core.Step(now, guaranteedAsk("first", 1000))
	core.Step(now.Add(3*time.Second), guaranteedAsk("next", 1000))
	core.Schedule(now.Add(7*time.Second), 10)
	assert.Equal(t, len(core.part.Nominees()), 0, "first is refused, next is too young")
	core.Step(now.Add(8*time.Second), Release{App: "owed", Key: "first", Type: StoppedByRM})
	at, ok := core.NextDeadline()
	assert.Assert(t, ok && at.Equal(now.Add(10*time.Second)), "the next deadline is after %s", at.Sub(now))
	core.Schedule(at, 10)
	assert.Equal(t, len(core.part.Nominees()), 1)
	assert.NilError(t, core.Check())
}
