package objects

import (
	"fmt"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// The partition decides nothing while it is reconfigured, so what a queue that stays costs bounds
// how large a configuration may be.
func TestReconfigure_AQueueThatStaysCostsFewAllocations(t *testing.T) {
	const parents, leaves = 100, 100
	conf := configs.Partition{Name: "default", Root: configs.Queue{Name: "root", Parent: true}}
	for i := range parents {
		parent := configs.Queue{Name: fmt.Sprint("p", i), Parent: true}
		for j := range leaves {
			parent.Children = append(parent.Children, configs.Queue{
				Name: fmt.Sprint("l", j), Max: resources.LimitFromMap(map[string]resources.Quantity{"vcore": 10}),
				Guaranteed: resources.GuaranteeFromMap(map[string]resources.Quantity{"vcore": 5}),
			})
		}
		conf.Root.Children = append(conf.Root.Children, parent)
	}
	p := NewPartition(conf)
	allocations := testing.AllocsPerRun(3, func() { assert.NilError(t, p.Reconfigure(conf)) })
	each := allocations / (parents * leaves)
	assert.Assert(t, each < 4.5, "%.1f for a queue", each)
}
