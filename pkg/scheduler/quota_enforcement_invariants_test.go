package scheduler_test

import (
	"fmt"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	"pgregory.net/rapid"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// While the max of a queue changes at random, no allocation is preempted before the queue has been above
// its max for the whole delay, or while it is within it, none is preempted twice, and the queue is within
// its max once the victims have ended.
func TestQuotaEnforcement_InvariantsOfRaisingAndLoweringMax(t *testing.T) {
	const delay = 10 * time.Second
	preempted := 0
	rapid.Check(t, func(t *rapid.T) {
		conf := func(maxVcore int64) configs.Partition {
			a := configs.Queue{Name: "a", Settings: configs.DefaultSettings()}
			a.QuotaPreemptionDelay = delay
			a.Max = resources.LimitFromMap(map[string]resources.Quantity{"vcore": resources.Quantity(maxVcore)})
			return configs.Partition{Name: "default", QuotaPreemptionEnabled: true, Root: configs.Queue{
				Name: "root", Parent: true, SubmitACL: security.Everyone(), Settings: configs.DefaultSettings(),
				Children: []configs.Queue{a},
			}}
		}
		maxVcore, now, since := int64(10), epoch, time.Time{}
		core := scheduler.New(conf(maxVcore), nil)
		core.Step(now, scheduler.AddNode{Node: "n", Total: vcores(1000), Schedulable: true})
		core.Step(now, addApp("root.a"))
		running, preempting, names := map[objects.AllocationKey]int64{}, map[objects.AllocationKey]bool{}, 0
		excess := func() (sum int64) {
			for key, n := range running {
				if !preempting[key] {
					sum += n
				}
			}
			return sum - maxVcore
		}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.SampledFrom([]int{0, 1, 4, 9, 10, 30}).Draw(t, "seconds")) * time.Second)
			effects, _ := core.Schedule(now, rapid.IntRange(0, 3).Draw(t, "budget"))
			for _, e := range effects {
				if e, ok := e.(scheduler.Released); ok {
					preempted++
					assert.Assert(t, !preempting[e.Key], "%s is preempted twice", e.Key)
					assert.Assert(t, excess() > 0, "%s is preempted, and the queue is within its max", e.Key)
					assert.Assert(t, !since.IsZero() && !now.Before(since.Add(delay)),
						"%s is preempted at %s, the queue is above its max since %s", e.Key, now, since)
					preempting[e.Key] = true
				}
			}
			assert.Assert(t, len(effects) == 0 || excess() <= 0, "still %d above the max", excess())
			switch rapid.IntRange(0, 3).Draw(t, "what") {
			case 0:
				maxVcore = rapid.Int64Range(1, 12).Draw(t, "max")
				core.Step(now, scheduler.UseConfig{Partition: conf(maxVcore)})
			case 1, 2:
				names++
				key, n := objects.AllocationKey(fmt.Sprint("k", names)), rapid.Int64Range(1, 4).Draw(t, "vcores")
				ask := &objects.Ask{Key: key, App: "x", Amounts: vcores(resources.Quantity(n))}
				core.Step(now, scheduler.ReportAllocation{Ask: ask, Node: "n"})
				running[key] = n
			case 3:
				key := objects.AllocationKey(fmt.Sprint("k", rapid.IntRange(0, names).Draw(t, "key")))
				core.Step(now, release(string(key)))
				delete(running, key)
				delete(preempting, key)
			}
			assert.NilError(t, core.Check())
			switch above := excess() > 0; {
			case !above:
				since = time.Time{}
			case since.IsZero():
				since = now
			}
		}
	})
	assert.Assert(t, preempted > 20, "only %d victims", preempted)
}
