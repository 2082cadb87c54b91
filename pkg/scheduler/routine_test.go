package scheduler

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/objects"
)

// busyCore is a Core with an application that has more asks than it decides in these tests, another that is Completing
// since now, and routine decisions.
func busyCore(t *testing.T, oracle Oracle, now time.Time) *Core {
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
	core := busyCore(t, oracle, now)
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
