package rmproxy

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/testing/fakerm"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// linkedCoreWithMax is a core with a node, and an application in a leaf with a max of 120 vcores.
func linkedCoreWithMax(t *testing.T, s *fakerm.Recorder) *linkedCore {
	d := newLinkedCore(t, s)
	assert.NilError(t, d.UpdateConfiguration(&si.UpdateConfigurationRequest{
		RmID: "rm",
		Config: `{partitions: [{name: default, queues: [{name: root, submitacl: "*", queues: [{name: a, resources: {max: ` +
			`{vcore: 120m}}}]}]}]}`,
	}))
	d.addNodes("n1")
	d.addApp()
	return d
}

func keys(prefix string, n int) (all []string) {
	for i := range n {
		all = append(all, fmt.Sprintf("%s%02d", prefix, i))
	}
	return all
}

// The node takes ten asks, and the max allows two more (RMI-65, ASK-62).
func TestInProcess_WaitingStatesAreSentOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &fakerm.Recorder{}
		d := linkedCoreWithMax(t, s)
		d.submitAsks(keys("k", 14)...)
		time.Sleep(time.Second - 1)
		assert.Equal(t, len(s.States()), 0, "not before a second has passed")
		time.Sleep(time.Hour) // k10 reserves the node
		assert.DeepEqual(t, s.States(), []string{
			"k10 of app is FAILED: its quotas allow it, and no node can take it now",
			"k11 of app is FAILED: its quotas allow it, and no node can take it now",
			"k12 of app is SKIPPED: no headroom in queue root.a",
			"k13 of app is SKIPPED: no headroom in queue root.a",
		})
		d.release("k00") // k10 is placed, k11 reserves the node, and the max allows k12
		time.Sleep(30 * time.Minute)
		assert.DeepEqual(t, s.States()[4:], []string{
			"k12 of app is FAILED: its quotas allow it, and no node can take it now",
		})
	})
}

func (d *linkedCore) release(key string) {
	d.t.Helper()
	assert.NilError(d.t, d.UpdateAllocation(&si.AllocationRequest{RmID: "rm", Releases: &si.AllocationReleasesRequest{
		AllocationsToRelease: []*si.AllocationRelease{{ApplicationID: "app", AllocationKey: key,
			TerminationType: si.TerminationType_STOPPED_BY_RM}},
	}}))
}

// A shim writes a state to the API server of its cluster. Decisions do not wait for that, and an ask that was placed or
// cancelled meanwhile has no state any more.
func TestInProcess_DecisionsDoNotWaitForWaitingStates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		blocked := make(chan struct{})
		s := &fakerm.Recorder{OnState: func() { <-blocked }}
		d := linkedCoreWithMax(t, s)
		d.submitAsks(keys("k", 14)...)
		time.Sleep(time.Minute)
		assert.Equal(t, len(s.States()), 1)
		s.ForgetCalls()
		d.release("k13")
		d.addNodes("n2")
		synctest.Wait()
		calls := strings.Join(s.Calls(), "\n")
		assert.Assert(t, strings.Contains(calls, "allocations k11@n2"), calls)
		close(blocked)
		synctest.Wait()
		assert.DeepEqual(t, s.States(), []string{
			"k10 of app is FAILED: its quotas allow it, and no node can take it now",
			"k12 of app is SKIPPED: no headroom in queue root.a",
		})
	})
}

// Of an ask the last state is kept, at the place of the first; the order does not grow with the asks that have ended.
func TestWaitingStates_KeepsTheLastOfEachAsk(t *testing.T) {
	w := newWaitingStates()
	state := func(key string, state objects.WaitingState) scheduler.WaitingAsk {
		return scheduler.WaitingAsk{Ask: &objects.Ask{Key: objects.AllocationKey(key)}, State: state}
	}
	wait := func(asks ...scheduler.WaitingAsk) scheduler.Effect { return scheduler.AsksWait{Asks: asks} }
	w.onEffects("p",
		[]scheduler.Effect{wait(state("a", objects.WaitFailed), state("b", objects.WaitFailed)),
			wait(state("a", objects.WaitSkipped))})
	w.onEffects("q", []scheduler.Effect{wait(state("b", objects.WaitSkipped))})
	for range 1000 {
		w.onEffects("p", []scheduler.Effect{wait(state("c", objects.WaitFailed)), scheduler.AskCancelled{Key: "c"}})
	}
	assert.Assert(t, len(w.order) < 100, "%d entries", len(w.order))
	w.onEffects("p",
		[]scheduler.Effect{scheduler.AskTimedOut{Key: "b"},
			scheduler.Allocated{Binding: &scheduler.Binding{Ask: &objects.Ask{Key: "d"}}}})
	for _, want := range []scheduler.WaitingAsk{state("a", objects.WaitSkipped), state("b", objects.WaitSkipped)} {
		got, ok := w.next()
		assert.Assert(t, ok)
		assert.DeepEqual(t, got.WaitingAsk, want)
	}
	_, ok := w.next()
	assert.Assert(t, !ok)
}

// A stream of hints begins with the states of a snapshot that was made after it was opened, and is told the end of the
// asks whose state it was told. What ends or changes while the snapshot is made is not taken from it.
func TestWaitingStates_OfAStreamOfHints(t *testing.T) {
	w := newWatchedStates()
	ask := func(key string) *objects.Ask { return &objects.Ask{Key: objects.AllocationKey(key), App: "app"} }
	waits := func(key string, state objects.WaitingState) scheduler.WaitingAsk {
		return scheduler.WaitingAsk{Ask: ask(key), State: state}
	}
	want := func(lines ...string) {
		t.Helper()
		var got []string
		for c, ok := w.next(); ok; c, ok = w.next() {
			got = append(got, fmt.Sprintf("%s %s of %s %s", c.Partition, c.Ask.Key, c.Ask.App, c.State))
		}
		assert.DeepEqual(t, got, lines)
	}
	w.onEffects("p", []scheduler.Effect{
		scheduler.AsksWait{Asks: []scheduler.WaitingAsk{waits("changed", objects.WaitSkipped)}},
		scheduler.AskCancelled{Key: "ended", App: "app"},
	})
	w.addInitial("p", []scheduler.WaitingAsk{waits("changed", objects.WaitFailed), waits("ended", objects.WaitFailed),
		waits("same", objects.WaitFailed), waits("gone", objects.WaitFailed)})
	assert.Assert(t, !w.initialComplete())
	w.endInitial()
	w.onEffects("p", []scheduler.Effect{scheduler.AskCancelled{Key: "gone", App: "app"}})
	assert.Assert(t, !w.initialComplete())
	want("p changed of app SKIPPED", "p same of app FAILED")
	assert.Assert(t, w.initialComplete())

	// only what was told has an end, and only in its own partition; the last state counts
	w.onEffects("q", []scheduler.Effect{scheduler.AskTimedOut{Key: "same", App: "app"}})
	w.onEffects("p", []scheduler.Effect{
		scheduler.Allocated{Binding: &scheduler.Binding{Ask: ask("same")}}, scheduler.AskCancelled{Key: "other", App: "app"},
		scheduler.AskTimedOut{Key: "changed", App: "app"},
		scheduler.AsksWait{Asks: []scheduler.WaitingAsk{waits("changed", objects.WaitFailed)}},
	})
	want("p same of app UNREPORTED", "p changed of app FAILED")
	w.onEffects("p", []scheduler.Effect{scheduler.AskTimedOut{Key: "changed", App: "app"}})
	want("p changed of app UNREPORTED")
	assert.Assert(t, len(w.told) == 0 && !w.any.Load())
}

// The numbers of the states are those of the interface.
func TestWaitingStates_NumbersOfTheInterface(t *testing.T) {
	for _, state := range []objects.WaitingState{objects.WaitSkipped, objects.WaitFailed} {
		assert.Equal(t, si.UpdateContainerSchedulingStateRequest_SchedulingState(state).String(), state.String())
	}
}
