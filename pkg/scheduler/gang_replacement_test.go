package scheduler_test

import (
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// GAN-6: a resource manager that knows what is free refuses a node that placeholders fill. It is asked whether a member
// may run there when it has the resources.
func TestGangs_MembersReplacePlaceholdersOnAFullNode(t *testing.T) {
	now, free, refused := epoch, 2, false
	fits := func(objects.AllocationKey, objects.NodeID) bool { return free > 0 }
	whenFree := func(objects.AllocationKey, objects.NodeID) bool { return !refused }
	core := scheduler.New((&scenarioCore{queues: []scenarioQueue{{Path: "root.a"}}}).config(t),
		&objects.Oracle{Fits: fits, FitsWhenFree: whenFree})
	core.Step(epoch, scheduler.AddNode{Node: "n", Total: vcores(2), Schedulable: true})
	core.Step(epoch, scheduler.AddApplication{App: "x", Queue: "root.a", User: security.User{Name: "ann"}})
	ask := func(key objects.AllocationKey, placeholder bool) {
		core.Step(epoch, scheduler.SubmitAsk{Ask: &objects.Ask{Key: key, App: "x", Amounts: vcores(1),
			Placeholder: placeholder, Details: &objects.AskDetails{TaskGroup: "g"}}})
	}
	schedule := func() (placed, replaced []objects.AllocationKey) {
		effects, _ := core.Schedule(now, 10)
		assert.NilError(t, core.Check())
		for _, e := range effects {
			switch e := e.(type) {
			case scheduler.Allocated:
				placed = append(placed, e.Ask.Key)
			case scheduler.Released:
				assert.Equal(t, e.Type, scheduler.PlaceholderReplaced)
				replaced = append(replaced, e.Key)
			}
		}
		return placed, replaced
	}
	ask("p1", true)
	ask("p2", true)
	placed, _ := schedule()
	assert.Equal(t, len(placed), 2)
	free, refused = 0, true
	ask("m1", false)
	ask("m2", false)
	_, replaced := schedule()
	assert.Equal(t, len(replaced), 0, "the members are refused for another reason than what is free")
	refused = false
	now = now.Add(time.Second) // after which refused asks are tried again
	_, replaced = schedule()
	assert.DeepEqual(t, replaced, []objects.AllocationKey{"p1", "p2"})
}
