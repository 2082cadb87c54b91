package objects

import (
	"fmt"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// A partition makes no decision during a reload, so the cost of each changed queue bounds the size
// of a configuration.
func TestReconfigure_AllocationsPerChangedQueue(t *testing.T) {
	const parents, leaves = 100, 100
	tree := func(max resources.Quantity) configs.Partition {
		conf := configs.Partition{Name: "default", Root: configs.Queue{Name: "root", Parent: true}}
		for i := range parents {
			parent := configs.Queue{Name: fmt.Sprint("p", i), Parent: true}
			for j := range leaves {
				parent.Children = append(parent.Children, configs.Queue{
					Name: fmt.Sprint("l", j), Max: resources.LimitFromMap(map[string]resources.Quantity{"vcore": max}),
					Guaranteed: resources.GuaranteeFromMap(map[string]resources.Quantity{"vcore": 5}),
				})
			}
			conf.Root.Children = append(conf.Root.Children, parent)
		}
		return conf
	}
	confs := []configs.Partition{tree(10), tree(11)}
	prepared := []*configs.Difference{configs.NewDifference(confs[1], confs[0]), configs.NewDifference(confs[0], confs[1])}
	p, i := NewPartition(confs[0]), 0
	allocations := testing.AllocsPerRun(4, func() {
		i++
		assert.NilError(t, p.Reconfigure(confs[i%2], prepared[i%2]))
	})
	assert.Equal(t, p.queues["root.p7.l7"].quota.Max()[0],
		p.names.LimitVector(confs[i%2].Root.Children[7].Children[7].Max)[0])
	each := allocations / (parents * leaves)
	assert.Assert(t, each < 0.5, "%.1f allocations for a queue", each)
}
