package diff_test

import (
	"fmt"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/configs/diff"
	"github.com/canopy-scheduler/canopy/pkg/limits"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// manyQueues has chains of queues below root, each of some levels, whose last queue has a max.
func manyQueues(queues, levels int, vcore resources.Quantity) *configs.Config {
	root := configs.Queue{Name: "root", Parent: true, Settings: configs.DefaultSettings()}
	for first := 0; first < queues; first += levels {
		chain := configs.Queue{
			Name: fmt.Sprintf("q%d", first+levels-1), Settings: configs.DefaultSettings(), SubmitACL: security.Everyone(),
			Max:    resources.LimitFromMap(map[string]resources.Quantity{"vcore": vcore}),
			Limits: []limits.Limit{{Users: []string{"ann"}, MaxApplications: 5}},
		}
		for i := first + levels - 2; i >= first; i-- {
			chain = configs.Queue{Name: fmt.Sprintf("q%d", i), Parent: true, Settings: configs.DefaultSettings(),
				Children: []configs.Queue{chain}}
		}
		root.Children = append(root.Children, chain)
	}
	return &configs.Config{Partitions: []configs.Partition{{Name: configs.DefaultPartition, Root: root}}}
}

func BenchmarkDiff(b *testing.B) {
	for _, queues := range []int{10_000, 99_999} {
		for _, levels := range []int{1, 60} {
			b.Run(fmt.Sprintf("queues=%d/levels=%d", queues, levels), func(b *testing.B) {
				old, new := manyQueues(queues, levels, 10_000), manyQueues(queues, levels, 11_000)
				for b.Loop() {
					assert.Assert(b, !diff.Compare(old, new).IsEmpty())
				}
			})
		}
	}
}
