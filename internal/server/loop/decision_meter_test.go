package loop_test

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/server/loop"
	"github.com/canopy-scheduler/canopy/pkg/configs"
)

// Each batch of decisions is measured by the clock of the loop, by partition. If the clock was
// set back meanwhile, the duration is 0, never negative.
func TestDecisionMeter_MeasuresRunsOfDecisions(t *testing.T) {
	for _, syncDelivery := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			var ticks, step atomic.Int64
			step.Store(1)
			measured := map[string][]time.Duration{}
			c := loop.NewCluster(loop.Options{
				SyncDelivery: syncDelivery,
				Now:          func() time.Time { return time.Unix(ticks.Add(step.Load()), 0) },
				DecisionMeter: func(partition string) func(time.Duration) {
					if partition == "other" {
						return nil
					}
					return func(took time.Duration) { measured[partition] = append(measured[partition], took) }
				},
			}, func(string) loop.Sink { return &recordingSink{} }, nil)
			t.Cleanup(c.End)
			assert.NilError(t,
				c.Configure(t.Context(),
					&configs.Config{Partitions: []configs.Partition{partition("default", "a"), partition("other", "a")}}))
			synctest.Wait()
			clear(measured)
			for _, name := range []string{"default", "other"} {
				l, _ := c.Partition(name)
				l.Send(node("n1", 1))
				synctest.Wait() // the loops read the same clock, and each reading is a second
			}
			assert.DeepEqual(t, measured, map[string][]time.Duration{"default": {time.Second}})
			step.Store(-1)
			l, _ := c.Partition("default")
			l.Send(node("n2", 1))
			synctest.Wait()
			assert.DeepEqual(t, measured, map[string][]time.Duration{"default": {time.Second, 0}})
		})
	}
}
