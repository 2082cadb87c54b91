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
	"github.com/canopy-scheduler/canopy/pkg/hints"
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
	for _, key := range []string{"changed", "ended", "same", "gone"} {
		w.addInitial([]hints.Change{{Partition: "p", WaitingAsk: waits(key, objects.WaitFailed)}})
	}
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

// An ask is told again with the state that it has when it is nominated and when it no longer is; one without a state,
// too, unless the nomination has ended before it was told. Its end is told once. While the initial states are read,
// nominations that were delivered are later than those of the snapshot, which alone has the state.
func TestWaitingStates_Nominations(t *testing.T) {
	w := newWatchedStates()
	waits := func(key string, state objects.WaitingState, node objects.NodeID) hints.Change {
		return hints.Change{Partition: "p", Nominated: node, WaitingAsk: scheduler.WaitingAsk{
			Ask: &objects.Ask{Key: objects.AllocationKey(key), App: "app"}, State: state}}
	}
	event := func(kind scheduler.EventKind, key objects.AllocationKey, node objects.NodeID) scheduler.Effect {
		return scheduler.Event{Kind: kind, Subject: scheduler.AllocationRef{Key: key, App: "app"}, Node: node}
	}
	nominated := func(key objects.AllocationKey, node objects.NodeID) scheduler.Effect {
		return event(scheduler.EventNominated, key, node)
	}
	ended := func(key objects.AllocationKey) scheduler.Effect {
		return event(scheduler.EventNominationEnded, key, "n")
	}
	placed := func(key objects.AllocationKey) scheduler.Effect {
		return scheduler.Allocated{Binding: &scheduler.Binding{Ask: &objects.Ask{Key: key, App: "app"}}}
	}
	want := func(lines ...string) {
		t.Helper()
		var got []string
		for c, ok := w.next(); ok; c, ok = w.next() {
			got = append(got, strings.TrimSpace(fmt.Sprintf("%s of %s %s %s", c.Ask.Key, c.Ask.App, c.State, c.Nominated)))
			assert.Equal(t, c.Blocked == scheduler.NoQueueHeadroom, c.State == objects.WaitSkipped)
		}
		assert.DeepEqual(t, got, lines)
	}
	w.onEffects("p", []scheduler.Effect{nominated("new", "n1"), nominated("early", "n1"), ended("early"), ended("over"),
		nominated("late", "n3")})
	w.addInitial([]hints.Change{waits("old", objects.WaitFailed, "n2"), waits("new", objects.WaitFailed, ""),
		waits("over", objects.WaitFailed, "n2"), waits("early", objects.WaitUnreported, "n1"),
		waits("plain", objects.WaitUnreported, "n2")})
	w.endInitial()
	want("new of app FAILED n1", "late of app UNREPORTED n3", "old of app FAILED n2", "over of app FAILED",
		"plain of app UNREPORTED n2")
	assert.Assert(t, w.initialComplete())

	w.onEffects("p", []scheduler.Effect{ended("old"), ended("plain"), nominated("over", "n4"),
		ended("never"), nominated("brief", "n1"), ended("brief")})
	want("old of app FAILED", "plain of app UNREPORTED", "over of app FAILED n4")
	w.onEffects("p", []scheduler.Effect{nominated("over", "n4")})
	want()

	w.onEffects("p", []scheduler.Effect{scheduler.AsksWait{Asks: []scheduler.WaitingAsk{{
		Ask: &objects.Ask{Key: "over", App: "app"}, State: objects.WaitSkipped, Blocked: scheduler.NoQueueHeadroom}}}})
	want("over of app SKIPPED n4")
	w.onEffects("p", []scheduler.Effect{ended("over")})
	want("over of app SKIPPED")

	w.onEffects("p", []scheduler.Effect{placed("late"), ended("late"), placed("old"), placed("over"), placed("new")})
	want("late of app UNREPORTED", "old of app UNREPORTED", "over of app UNREPORTED", "new of app UNREPORTED")
	w.onEffects("p", []scheduler.Effect{ended("new")})
	want()
	assert.Equal(t, len(w.told)+len(w.nominated)+len(w.byAsk), 0)
	assert.Assert(t, !w.any.Load())
}

// The numbers of the states are those of the interface.
func TestWaitingStates_NumbersOfTheInterface(t *testing.T) {
	for _, state := range []objects.WaitingState{objects.WaitSkipped, objects.WaitFailed} {
		assert.Equal(t, si.UpdateContainerSchedulingStateRequest_SchedulingState(state).String(), state.String())
	}
}
