package scheduler

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// waitingCore is a core with a full node, and asks of an application that wait.
func waitingCore(now time.Time, asks int) *Core {
	core := coreWithFullNode(time.Hour, now)
	core.Step(now, SetSchedulable{Node: "n", Schedulable: false})
	for i := range asks {
		core.Step(now, guaranteedAsk(fmt.Sprint("ask-", i), 1000))
	}
	return core
}

// evaluateWaiting returns the keys of the asks that have changed their state two seconds later.
func evaluateWaiting(core *Core, now *time.Time) (keys []objects.AllocationKey) {
	*now = now.Add(2 * time.Second)
	core.Step(*now, Wake{})
	effects, _ := core.Schedule(*now, 10)
	for _, e := range effects {
		if e, ok := e.(AsksWait); ok {
			for _, w := range e.Asks {
				keys = append(keys, w.Ask.Key)
			}
		}
	}
	return keys
}

// The asks of a group are looked at if its asks have changed, or another number of them is within the quotas (ASK-64):
// here the state of one is changed behind the back of the core.
func TestWaitingStates_UnchangedGroupsCostNoLookAtTheirAsks(t *testing.T) {
	now := time.Unix(1_000_000_000, 0)
	core := waitingCore(now, 100)
	assert.Equal(t, len(evaluateWaiting(core, &now)), 100)
	x, _ := core.part.Allocation("ask-7")
	x.SetWaitingReport(objects.WaitingReport{})
	core.Step(now, SetListening{Listening: true}) // a command that changes nothing
	assert.Equal(t, len(evaluateWaiting(core, &now)), 0)
	core.Step(now, guaranteedAsk("another", 1000))
	assert.DeepEqual(t, evaluateWaiting(core, &now), []objects.AllocationKey{"ask-7", "another"})
}

// An application that only the capacity of the cluster bounds is visited if it has changed, or the configuration has
// (ASK-64).
func TestWaitingStates_SettledApplicationsAreNotVisited(t *testing.T) {
	now := time.Unix(1_000_000_000, 0)
	core := waitingCore(now, 3)
	core.Step(now, AddApplication{App: "other", Queue: "root.guaranteed"})
	core.Step(now, SubmitAsk{Ask: &objects.Ask{Key: "of-other", App: "other", Amounts: amounts(1000, 1)}})
	visited := func() (apps []objects.AppID) {
		yielded := core.waits.eachGroup(core.part,
			func(g *objects.AskGroup) { apps = append(apps, g.Application().ID()) })
		assert.Equal(t, yielded, len(apps))
		return apps
	}
	first := visited()
	assert.Equal(t, len(first), 2)
	assert.Equal(t, len(visited()), 0)
	core.Step(now, SubmitAsk{Ask: &objects.Ask{Key: "another", App: "other", Amounts: amounts(1000, 1)}})
	assert.DeepEqual(t, visited(), []objects.AppID{"other"})
	core.Step(now, Operate{Action: HoldApplication, App: "other"})
	assert.DeepEqual(t, visited(), []objects.AppID{"other"})
	core.Step(now, UseConfig{Partition: core.part.Config()})
	assert.DeepEqual(t, visited(), first)
}

// Few applications that a max bounds are visited in selection order, without a walk over the others; those that only
// the capacity of the cluster bounds as they have changed (ASK-63, ASK-64).
func TestWaitingStates_FewOfManyApplicationsAreVisitedInSelectionOrder(t *testing.T) {
	now := time.Unix(1_000_000_000, 0)
	core := waitingCore(now, 1)
	partition := core.part.Config()
	for _, name := range []string{"bounded-b", "bounded-a"} {
		leaf := configs.Queue{Name: name, Settings: configs.DefaultSettings()}
		leaf.Max = resources.LimitFromMap(map[string]resources.Quantity{"vcore": 1000_000})
		partition.Root.Children = append(slices.Clone(partition.Root.Children), leaf)
	}
	core.Step(now, UseConfig{Partition: partition})
	ask := func(app, key string) {
		core.Step(now,
			SubmitAsk{Ask: &objects.Ask{Key: objects.AllocationKey(key), App: objects.AppID(app), Amounts: amounts(1000, 1)}})
	}
	bounded := []string{"app-3", "app-20", "app-7", "app-38"}
	for i := range 40 {
		now = now.Add(time.Second)
		app := fmt.Sprint("app-", 97*i%40) // the order is not that of the names
		queues := []string{"root.other", "root.guaranteed"}
		if slices.Contains(bounded, app) {
			queues = []string{"root.bounded-a", "root.bounded-b"}
		}
		core.Step(now, AddApplication{App: objects.AppID(app), Queue: queues[i%2]})
		ask(app, "first-of-"+app)
	}
	visited := func() (apps []string) {
		core.waits.eachGroup(core.part,
			func(g *objects.AskGroup) { apps = append(apps, string(g.Application().ID())) })
		return apps
	}
	order := visited()
	assert.Equal(t, len(order), 41)
	inOrder := slices.DeleteFunc(order, func(app string) bool { return !slices.Contains(bounded, app) })
	assert.Equal(t, len(inOrder), 4)
	assert.DeepEqual(t, visited(), inOrder)
	for _, app := range []string{"app-20", "app-2", "app-11", "app-38", "app-1"} {
		ask(app, "second-of-"+app)
	}
	core.Step(now, Release{App: "app-11", Key: "first-of-app-11"})
	core.Step(now, Release{App: "app-11", Key: "second-of-app-11"})
	core.Step(now, Release{App: "app-5", Key: "first-of-app-5"})
	assert.DeepEqual(t, visited(), append([]string{"app-2", "app-1"}, inOrder...))
	assert.DeepEqual(t, visited(), inOrder)
}

// An evaluation of many groups makes the next one later.
func TestWaitingStates_ManyGroupsAreEvaluatedLessOften(t *testing.T) {
	for groups, want := range map[int]time.Duration{0: time.Second, 19_999: time.Second, 20_000: 2 * time.Second,
		100_000: 6 * time.Second} {
		now := time.Unix(1_000_000_000, 0)
		w := waitingReport{last: groups}
		w.onCommand(SubmitAsk{}, true, now)
		assert.Equal(t, w.dueAt.Sub(now), want, "%d groups", groups)
	}
	now := time.Unix(1_000_000_000, 0)
	core := waitingCore(now, 100)
	evaluateWaiting(core, &now)
	assert.Equal(t, core.waiting.last, 1)
}

// An evaluation in which nothing has changed.
func BenchmarkWaitingStates(b *testing.B) {
	for _, n := range []struct{ apps, asks int }{{1, 100_000}, {10_000, 10}, {100_000, 1}} {
		b.Run(fmt.Sprintf("%d applications with %d asks", n.apps, n.asks), func(b *testing.B) {
			now := time.Unix(1_000_000_000, 0)
			core := coreWithFullNode(time.Hour, now)
			core.Step(now, SetSchedulable{Node: "n", Schedulable: false})
			for a := range n.apps {
				app := objects.AppID(fmt.Sprint("app-", a))
				core.Step(now, AddApplication{App: app, Queue: "root.guaranteed"})
				for i := range n.asks {
					core.Step(now,
						SubmitAsk{Ask: &objects.Ask{Key: objects.AllocationKey(fmt.Sprint(app, "-", i)), App: app,
							Amounts: amounts(1000, 1)}})
				}
			}
			first := len(evaluateWaiting(core, &now))
			if first != n.apps*n.asks {
				b.Fatalf("%d asks have a state", first)
			}
			for b.Loop() {
				core.waiting.due = true
				core.reportWaiting(now)
			}
		})
	}
}

// A snapshot shows the waiting state that was reported, also when the ask has not changed otherwise.
func TestSnapshot_ShowsWaitingStates(t *testing.T) {
	now := time.Unix(1_000_000_000, 0)
	core := waitingCore(now, 3)
	evaluatedAt := now.Add(2 * time.Second)
	waiting := func() (states []objects.WaitingState) {
		for app := range core.Snapshot(now).Root.Children.At(0).Applications.All() {
			for w := range app.Allocations.All() {
				states = append(states, w.Waiting.State)
				if w.Waiting.State != objects.WaitUnreported {
					assert.Equal(t, w.Waiting.At, evaluatedAt.UTC())
				}
			}
		}
		return states
	}
	assert.DeepEqual(t, waiting(), []objects.WaitingState{0, 0, 0})
	assert.Equal(t, len(evaluateWaiting(core, &now)), 3)
	assert.DeepEqual(t, waiting(), []objects.WaitingState{objects.WaitFailed, objects.WaitFailed, objects.WaitFailed})
}

// A report says why the ask is skipped, and has a place for each reason.
func TestWaitingStates_ReportHasTheReason(t *testing.T) {
	for o := NotPending; o <= InRecoveryQueue; o++ {
		x, report := &objects.Allocation{}, objects.WaitingReport{State: objects.WaitSkipped, Blocked: uint8(o)}
		x.SetWaitingReport(report)
		assert.Equal(t, x.WaitingReport().Blocked, report.Blocked, o.Code())
	}
	now := time.Unix(1_000_000_000, 0)
	core := waitingCore(now, 1)
	withMax := core.part.Config()
	bounded := configs.Queue{Name: "bounded", Settings: configs.DefaultSettings()}
	bounded.Max = resources.LimitFromMap(map[string]resources.Quantity{"vcore": 999})
	withMax.Root.Children = append(slices.Clone(withMax.Root.Children), bounded)
	core.Step(now, UseConfig{Partition: withMax})
	core.Step(now, AddApplication{App: "bounded", Queue: "root.bounded"})
	core.Step(now, SubmitAsk{Ask: &objects.Ask{Key: "more-than-the-max", App: "bounded", Amounts: amounts(1000, 1)}})
	assert.Equal(t, len(evaluateWaiting(core, &now)), 2)
	x, _ := core.part.Allocation("more-than-the-max")
	assert.DeepEqual(t, x.WaitingReport(),
		objects.WaitingReport{State: objects.WaitSkipped, Blocked: uint8(AskExceedsMax), At: now.UTC()})
}
