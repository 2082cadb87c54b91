package scheduler_test

import (
	"fmt"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	"pgregory.net/rapid"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/lifecycle"
	"github.com/canopy-scheduler/canopy/pkg/limits"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/quota"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// Random asks and releases: no decision exceeds a limit or a max, and each account has the sum of its
// applications (LIM-12). The test neither reports nor resizes allocations, which could exceed any limit.
func TestLimits_NoDecisionExceedsALimit(t *testing.T) {
	names := []string{"ann", "bob", "eve"}
	groups := []string{"dev", "ops"}
	rapid.Check(t, func(t *rapid.T) {
		amounts := func(label string) map[string]resources.Quantity {
			return map[string]resources.Quantity{"vcore": rapid.Custom(func(t *rapid.T) resources.Quantity {
				return resources.Quantity(rapid.IntRange(1, 6).Draw(t, "vcore"))
			}).Draw(t, label)}
		}
		rules := func(label string) (all []limits.Limit) {
			for i := range rapid.IntRange(0, 2).Draw(t, label) {
				all = append(all, limits.Limit{
					Users: rapid.SliceOfNDistinct(rapid.SampledFrom(append(names, limits.Wildcard)), 0, 2,
						rapid.ID[string]).Draw(t, fmt.Sprint(label, i, " users")),
					Groups: rapid.SliceOfNDistinct(rapid.SampledFrom(append(groups, limits.Wildcard)), 0, 2,
						rapid.ID[string]).Draw(t, fmt.Sprint(label, i, " groups")),
					MaxResources:    resources.LimitFromMap(amounts(label + " max")),
					MaxApplications: uint64(rapid.IntRange(0, 2).Draw(t, label+" applications")),
				})
			}
			return all
		}
		leaf := func(name string) configs.Queue {
			return configs.Queue{
				Name: name, Limits: rules(name), Settings: configs.DefaultSettings(),
				MaxApplications: uint64(rapid.IntRange(0, 3).Draw(t, name+" applications")),
			}
		}
		core := scheduler.New(configs.Partition{Name: "default", Root: configs.Queue{
			Name: "root", Parent: true, SubmitACL: security.Everyone(), Limits: rules("root"),
			Settings: configs.DefaultSettings(),
			Children: []configs.Queue{leaf("a"), leaf("b")},
		}}, nil)
		now := epoch
		allocated := map[objects.AppID]bool{} // applications with an allocation since they last had none
		collect := func(effects []scheduler.Effect) {
			for _, e := range effects {
				switch e := e.(type) {
				case scheduler.Allocated:
					allocated[e.Ask.App] = true
				case scheduler.ApplicationUpdated:
					allocated[e.App] = allocated[e.App] && e.State == lifecycle.Running || e.Reason == lifecycle.ReasonAllocated
				}
			}
		}
		step := func(cmd scheduler.Command) {
			now = now.Add(time.Second)
			collect(core.Step(now, cmd))
		}
		step(scheduler.AddNode{Node: "n", Total: resources.FromMap(map[string]resources.Quantity{"vcore": 20}),
			Schedulable: true})
		apps := rapid.IntRange(1, 6).Draw(t, "applications")
		app := func(i int) objects.AppID { return objects.AppID(fmt.Sprint("app-", i)) }
		for i := range apps {
			user := security.User{Name: rapid.SampledFrom(names).Draw(t, "user"),
				Groups: rapid.SliceOf(rapid.SampledFrom(groups)).Draw(t, "groups")}
			step(scheduler.AddApplication{App: app(i), User: user,
				Queue: "root." + rapid.SampledFrom([]string{"a", "b"}).Draw(t, "queue")})
		}
		for i := range rapid.IntRange(1, 40).Draw(t, "steps") {
			of := app(rapid.IntRange(0, apps-1).Draw(t, "of"))
			if rapid.IntRange(0, 3).Draw(t, "what") == 0 {
				step(scheduler.Release{App: of, Type: scheduler.StoppedByRM})
			} else {
				step(scheduler.SubmitAsk{Ask: &objects.Ask{
					Key: objects.AllocationKey(fmt.Sprint("ask-", i)), App: of, Amounts: resources.FromMap(amounts("ask")),
				}})
			}
			for more := true; more; {
				before := map[string]int{}
				runningByQueue(before, core.Snapshot(now).Root)
				var effects []scheduler.Effect
				effects, more = core.Schedule(now, 1)
				collect(effects)
				assert.NilError(t, core.Check())
				checkWithinLimits(t, core.Snapshot(now).Root, before, allocated)
			}
		}
	})
}

// runningByQueue records how many applications run in each queue.
func runningByQueue(running map[string]int, q *scheduler.QueueView) {
	running[string(q.Path)] = q.Running
	for child := range q.Children.All() {
		runningByQueue(running, child)
	}
}

// checkWithinLimits compares q and the queues below it with the configuration. A queue may run more
// applications than its maxapplications when a Completing application asks again (QUO-28); decisions never
// add one. A user or group never runs more than its limit (LIM-19).
func checkWithinLimits(t *rapid.T, q *scheduler.QueueView, before map[string]int, allocated map[objects.AppID]bool) {
	assert.Assert(t, q.MaxApplications == 0 || q.Running <= max(int(q.MaxApplications), before[string(q.Path)]),
		"queue %s runs %d applications of %d", q.Path, q.Running, q.MaxApplications)
	for l := range q.Limits.All() {
		assert.Assert(t, l.MaxApplications == 0 || l.Running <= int(l.MaxApplications),
			"%s runs %d applications of %d in %s", l.UserOrGroup, l.Running, l.MaxApplications, q.Path)
		for name, limit := range l.Max.All() {
			assert.Assert(t, l.Allocated.Get(name) <= limit,
				"%s holds %v in %s, %v is the limit", l.UserOrGroup, l.Allocated, q.Path, l.Max)
		}
		held, running := heldBy(q, l.UserOrGroup, allocated)
		assert.Assert(t, held.Equal(l.Allocated), "%s holds %v in %s, not %v", l.UserOrGroup, held, q.Path, l.Allocated)
		assert.Equal(t, running, l.Running, "%s in %s", l.UserOrGroup, q.Path)
	}
	for child := range q.Children.All() {
		checkWithinLimits(t, child, before, allocated)
	}
}

// heldBy sums what the applications of h use in q and below, and counts those that run.
func heldBy(q *scheduler.QueueView, h quota.UserOrGroup, allocated map[objects.AppID]bool) (held resources.Amounts,
	running int) {
	for a := range q.Applications.All() {
		if h.Group && a.LimitGroup != h.Name || !h.Group && a.User.Name != h.Name {
			continue
		}
		held = held.Add(a.Allocated).Add(a.Placeholders)
		if a.State == lifecycle.Running && allocated[a.ID] {
			running++
		}
	}
	for child := range q.Children.All() {
		more, run := heldBy(child, h, allocated)
		held, running = held.Add(more), running+run
	}
	return held, running
}
