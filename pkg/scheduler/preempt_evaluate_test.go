package scheduler

import (
	"fmt"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/limits"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/policies"
	"github.com/canopy-scheduler/canopy/pkg/preemption"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// Hundreds of applications have identical pending asks, and no allocation is eligible: one of the asks is
// evaluated, or one for each user if users have limits (PRE-93).
func TestPreemption_IdenticalAsksShareOneSearch(t *testing.T) {
	for _, c := range []struct {
		name  string
		rules []limits.Limit
		want  int
	}{
		{"no limits", nil, 1},
		{"each user has a limit", []limits.Limit{{Users: []string{limits.Wildcard}, MaxApplications: 100}}, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			leaf := configs.Queue{Name: "a", Settings: configs.DefaultSettings(), Limits: c.rules}
			leaf.PriorityPreemption = policies.PriorityPreemptionLeaf
			opt := objects.DefaultOptions()
			opt.Evaluations = 1000
			core := NewWith(configs.Partition{Name: "default", PreemptionEnabled: true, Root: configs.Queue{
				Name: "root", Parent: true, SubmitACL: security.Everyone(), Settings: configs.DefaultSettings(),
				Children: []configs.Queue{leaf},
			}}, nil, opt)
			now := time.Unix(1_000_000_000, 0).UTC()
			one := resources.FromMap(map[string]resources.Quantity{"vcore": 1})
			core.Step(now, AddNode{Node: "n", Total: one, Schedulable: true})
			add := func(i int, priority int32) {
				app := objects.AppID(fmt.Sprint("app-", i))
				core.Step(now, AddApplication{App: app, Queue: "root.a", User: security.User{Name: fmt.Sprint("user-", i%3)}})
				core.Step(now, SubmitAsk{Ask: &objects.Ask{
					Key: objects.AllocationKey(fmt.Sprint("ask-", i)), App: app, Amounts: one, Priority: priority,
					Policy: objects.PolicySent | objects.PolicyAllowPreemptOther,
				}})
			}
			add(0, 10) // it gets the node, and has higher priority than the others
			core.Schedule(now, 10)
			for i := range 300 {
				add(1+i, 5)
			}
			core.Schedule(now, 10)
			assert.Equal(t, core.preemption.Stats().RunSearches, c.want)
			assert.Equal(t, core.preemption.Stats().BackedOff, 300)
		})
	}
}

// searchBoundCore is a Core with a node of 5 vcores that is full of allocations of 1 vcore each. submit adds
// asks of 1 vcore to the leaf root.a, which has preemption by priority and by gangs.
func searchBoundCore(runningPriority int32, oracle *objects.Oracle) (
	core *Core, now time.Time, submit func(app objects.AppID, taskGroup string, priority int32, asks int),
) {
	leaf := configs.Queue{Name: "a", Settings: configs.DefaultSettings()}
	leaf.PriorityPreemption, leaf.GangPreemption = policies.PriorityPreemptionLeaf, true
	core = New(configs.Partition{Name: "default", PreemptionEnabled: true, Root: configs.Queue{
		Name: "root", Parent: true, SubmitACL: security.Everyone(), Settings: configs.DefaultSettings(),
		Children: []configs.Queue{leaf},
	}}, oracle)
	now = time.Unix(1_000_000_000, 0).UTC()
	one := resources.FromMap(map[string]resources.Quantity{"vcore": 1})
	core.Step(now,
		AddNode{Node: "n", Total: resources.FromMap(map[string]resources.Quantity{"vcore": 5}), Schedulable: true})
	core.Step(now, AddApplication{App: "running", Queue: "root.a"})
	for i := range 5 {
		core.Step(now, ReportAllocation{Node: "n", Ask: &objects.Ask{
			Key: objects.AllocationKey(fmt.Sprint("running-", i)), App: "running", Amounts: one, Priority: runningPriority,
		}})
	}
	return core, now, func(app objects.AppID, taskGroup string, priority int32, asks int) {
		core.Step(now, AddApplication{App: app, Queue: "root.a"})
		for i := range asks {
			core.Step(now, SubmitAsk{Ask: &objects.Ask{
				Key: objects.AllocationKey(fmt.Sprint(app, "-", priority, "-", i)), App: app, Amounts: one, Priority: priority,
				Details: objects.NewAskDetails(objects.AskDetails{TaskGroup: taskGroup}),
				Policy:  objects.PolicySent | objects.PolicyAllowPreemptOther,
			}})
		}
	}
}

// rejectsAll is a resource manager that refuses every node to every ask.
type rejectsAll struct{}

func (rejectsAll) Fits(objects.AllocationKey, objects.NodeID) bool { return false }

// A run makes at most four searches and leaves the other groups to the next run, so that commands are served in
// between (PRE-94).
func TestPreemption_AtMostFourSearchesPerRun(t *testing.T) {
	t.Run("ten groups", func(t *testing.T) {
		core, now, submit := searchBoundCore(100, nil)
		for priority := range int32(10) {
			submit("app", "", priority, 1)
		}
		for run, want := range []int{4, 4, 2} {
			effects, more := core.Schedule(now, 100)
			assert.Equal(t, len(effects), 0)
			assert.Equal(t, core.preemption.Stats().RunSearches, want, "run %d", run)
			assert.Equal(t, more, run < 2, "run %d", run)
		}
	})
	t.Run("a command between two runs", func(t *testing.T) {
		core, now, submit := searchBoundCore(100, nil)
		for priority := range int32(10) {
			submit("app", "", priority, 1)
		}
		_, more := core.Schedule(now, 100)
		assert.Assert(t, more)
		core.Step(now, Release{App: "running", Key: "running-0", Type: StoppedByRM})
		core.Schedule(now, 1)
		x, _ := core.part.Allocation("app-9-0")
		assert.Assert(t, !x.Pending(), "the released resources are used before the other groups are evaluated")
	})
	t.Run("a gang finishes its evaluation", func(t *testing.T) {
		core, now, submit := searchBoundCore(0, nil)
		submit("gang", "g", 9, 6) // there are five victims
		submit("other", "", 0, 1)
		effects, more := core.Schedule(now, 100)
		assert.Equal(t, len(effects), 0)
		assert.Equal(t, core.preemption.Stats().RunSearches, 6)
		assert.Assert(t, more)
		_, more = core.Schedule(now, 100)
		assert.Equal(t, core.preemption.Stats().RunSearches, 1)
		assert.Assert(t, !more)
	})
	t.Run("a group with refused asks finishes its evaluation", func(t *testing.T) {
		core, now, submit := searchBoundCore(0, &objects.Oracle{Fits: rejectsAll{}.Fits})
		submit("app", "", 9, preemption.DefaultRefusals)
		submit("other", "", 5, 1)
		effects, more := core.Schedule(now, 100)
		assert.Equal(t, len(effects), 0)
		assert.Equal(t, core.preemption.Stats().RunSearches, preemption.DefaultRefusals)
		assert.Assert(t, more)
		_, more = core.Schedule(now, 100)
		assert.Equal(t, core.preemption.Stats().RunSearches, 1)
		assert.Assert(t, !more)
	})
}
