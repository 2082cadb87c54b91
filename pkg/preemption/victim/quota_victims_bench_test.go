package victim_test

import (
	"fmt"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// A queue with ten leaves holds twice its max, and victims are selected. Guarantees of the leaves allow it, or
// (stuck) forbid every solution.
func BenchmarkQuotaVictims_LoweredMax(b *testing.B) {
	for _, c := range []struct {
		allocations int
		stuck       bool
	}{{1_000, false}, {100_000, false}, {1_000, true}, {100_000, true}} {
		b.Run(fmt.Sprintf("allocations=%d/stuck=%t", c.allocations, c.stuck), func(b *testing.B) {
			settings, guarantee := configs.DefaultSettings(), quantity(c.allocations/100)
			if c.stuck {
				guarantee = quantity(c.allocations) / 10 * 11 / 20 * 2 // more than half of what each leaf holds
			}
			half := map[string]quantity{"vcore": quantity(c.allocations)}
			q := configs.Queue{Name: "q", Parent: true, Settings: settings, Max: resources.LimitFromMap(half)}
			for i := range 10 {
				leaf := configs.Queue{Name: fmt.Sprint("l", i), Settings: settings}
				leaf.Guaranteed = resources.GuaranteeFromMap(map[string]quantity{"vcore": guarantee})
				q.Children = append(q.Children, leaf)
			}
			p := objects.NewPartition(configs.Partition{Name: "default", Root: configs.Queue{
				Name: "root", Parent: true, SubmitACL: security.Everyone(), Settings: settings, Children: []configs.Queue{q},
			}})
			now := time.Unix(1_000_000_000, 0).UTC()
			assert.NilError(b, p.AddNode("n", resources.FromMap(map[string]quantity{"vcore": 1 << 40}), nil, true))
			for i := range 10 {
				assert.NilError(b,
					p.AddApplication(objects.AppID(fmt.Sprint(i)), security.User{Name: "u"},
						objects.QueuePath(fmt.Sprint("root.q.l", i)), nil, now))
			}
			for i := range c.allocations {
				n := quantity(1 + i/10%3) // 2 on average
				_, err := p.AddReported(&objects.Ask{
					Key: objects.AllocationKey(fmt.Sprint("k", i)), App: objects.AppID(fmt.Sprint(i % 10)), Priority: int32(i % 7),
					Amounts: resources.FromMap(map[string]quantity{"vcore": n}),
				}, "n", now.Add(time.Duration(i)))
				assert.NilError(b, err)
			}
			found, _ := p.Queue("root.q")
			var victims []*objects.Allocation
			for b.Loop() {
				victims = quotaVictims(p, found)
			}
			b.ReportMetric(float64(len(victims)), "victims")
		})
	}
}
