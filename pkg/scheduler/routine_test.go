package scheduler

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/affinity"
	"github.com/canopy-scheduler/canopy/pkg/budgets"
	"github.com/canopy-scheduler/canopy/pkg/objects"
)

// busyCore is a Core with an application that has more asks than it decides in these tests, another that is Completing
// since now, and routine decisions.
func busyCore(t *testing.T, oracle *objects.Oracle, now time.Time) *Core {
	t.Helper()
	core := coreWithNodes(4, oracle, now)
	app, ok := core.part.Application("app")
	assert.Assert(t, ok)
	leaf := string(app.Queue().Path())
	for _, cmd := range []Command{
		AddApplication{App: "idle", Queue: leaf},
		SubmitAsk{Ask: &objects.Ask{Key: "idle-1", App: "idle", Amounts: amounts(1, 1)}},
		Release{App: "idle", Key: "idle-1", Type: StoppedByRM},
	} {
		core.Step(now, cmd)
	}
	for i := range 20 {
		core.Step(now, askOfClass(fmt.Sprint("k", i), ""))
	}
	for range 3 {
		_, more := core.Schedule(now, 1)
		assert.Assert(t, more)
	}
	assert.Assert(t, core.routineAt(now), "the decisions are not routine")
	return core
}

// said is the effects as text; of a placement only the ask.
func said(effects []Effect) string {
	var all []string
	for _, e := range effects {
		if placed, ok := e.(Allocated); ok {
			all = append(all, string(placed.Ask.Key))
			continue
		}
		all = append(all, e.String())
	}
	return strings.Join(all, ", ")
}

// A deadline is served before the next decision, although decisions are routine until then.
func TestSchedule_RoutineDecisionsServeDeadlines(t *testing.T) {
	now := time.Unix(1_000_000_000, 0)
	core := busyCore(t, nil, now)
	due := now.Add(objects.DefaultOptions().Lifetimes.Completing)
	core.Schedule(due.Add(-2), 1)
	effects, _ := core.Schedule(due.Add(-1), 1)
	assert.Equal(t, said(effects), "k4")
	assert.Assert(t, core.routineAt(due.Add(-1)) && !core.routineAt(due))
	effects, _ = core.Schedule(due, 1)
	assert.Equal(t, said(effects), "application idle is Completed, k5")
	assert.NilError(t, core.Check())
}

// Whatever a command has changed is examined by the next decision.
func TestSchedule_CommandsEndRoutine(t *testing.T) {
	now := time.Unix(1_000_000_000, 0)
	core := busyCore(t, nil, now)
	core.Step(now, Wake{})
	assert.Assert(t, !core.routineAt(now))
	core.Schedule(now, 1)
	assert.Assert(t, core.routineAt(now))
}

// An ask that the RM refused is evaluated again after a second, in the course of routine decisions.
func TestSchedule_RoutineDecisionsRetryRefusedAsks(t *testing.T) {
	now := time.Unix(1_000_000_000, 0)
	oracle := &refusing{refused: map[objects.AllocationKey]bool{"k3": true}}
	core := busyCore(t, &objects.Oracle{Fits: oracle.Fits}, now)
	now = now.Add(time.Hour) // nothing else is due soon
	core.Schedule(now, 0)
	effects, _ := core.Schedule(now, 1)
	assert.Equal(t, said(effects), "k4")
	delete(oracle.refused, "k3")
	effects, _ = core.Schedule(now.Add(refusalRetry-1), 1)
	assert.Equal(t, said(effects), "k5")
	effects, _ = core.Schedule(now.Add(refusalRetry), 1)
	assert.Equal(t, said(effects), "k3")
}

// refusing refuses some asks on all nodes.
type refusing struct {
	refused map[objects.AllocationKey]bool
}

func (o *refusing) Fits(ask objects.AllocationKey, _ objects.NodeID) bool { return !o.refused[ask] }

// A routine placement may let an ask be placed that was refused, and that goes before those behind it (CON-13).
func TestSchedule_RoutineEndsWhenAPlacementOpensNodes(t *testing.T) {
	now := time.Unix(1_000_000_000, 0)
	core := New(treeConfig(1, 1), nil)
	core.Step(now,
		AddNode{Node: "n", Total: amounts(100, 1<<20), Schedulable: true, Attributes: map[string]string{"zone": "a"}})
	leaf := core.part.Root()
	for !leaf.Leaf() {
		leaf = leaf.Children()[0]
	}
	for i, app := range []objects.AppID{"first", "second"} {
		core.Step(now.Add(time.Duration(i)), AddApplication{App: app, Queue: string(leaf.Path())})
	}
	ask := func(key objects.AllocationKey, app objects.AppID, tags map[string]string) {
		now = now.Add(time.Millisecond)
		x := &objects.Ask{Key: key, App: app, Amounts: amounts(1, 1)}
		core.Step(now, SubmitAsk{Ask: x.WithTags(tags)})
	}
	ask("needs-cache", "first",
		map[string]string{affinity.PodAffinityTag: `{"requiredDuringSchedulingIgnoredDuringExecution":[{` +
			`"topologyKey":"zone","labelSelector":{"matchLabels":{"app":"cache"}}}]}`})
	ask("k0", "second", nil)
	ask("k1", "second", nil)
	ask("cache", "second", map[string]string{budgets.LabelTag + "app": "cache"})
	ask("k2", "second", nil)
	for i, want := range []string{"k0", "k1", "cache", "needs-cache", "k2"} {
		assert.Equal(t, core.routineAt(now), i == 1 || i == 2 || i == 4, "before %s", want)
		effects, _ := core.Schedule(now, 1)
		assert.Assert(t, strings.HasSuffix(said(effects), want), "%s instead of %s", said(effects), want)
	}
	assert.NilError(t, core.Check())
}
