package objects

import (
	"fmt"
	"testing"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/feasibility"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// An ask fits no node; then more nodes are freed than are recorded, and only the last of them
// enough.
func TestFreedNodes_UnfitShapeIsReevaluated(t *testing.T) {
	now := time.Unix(1, 0)
	vcore := func(n resources.Quantity) resources.Amounts {
		return resources.FromMap(map[string]resources.Quantity{"vcore": n})
	}
	for _, freed := range []int{1, feasibility.MaxFreedNodes - 1, feasibility.MaxFreedNodes, feasibility.MaxFreedNodes + 1,
		3*feasibility.MaxFreedNodes + 7} {
		p := NewPartitionWithOptions(configs.Partition{Root: configs.Queue{Name: "root"}}, Options{})
		assert.NilError(t, p.AddApplication("app", security.User{}, RootPath, nil, now))
		for i := range freed {
			assert.NilError(t, p.AddNode(NodeID(fmt.Sprintf("n%04d", i)), vcore(1), nil, true))
		}
		x, err := p.AddAsk(&Ask{Key: "k", App: "app", Amounts: vcore(3)}, now)
		assert.NilError(t, err)
		p.RefreshShares()
		assert.Assert(t, p.FirstFittingNode(x.Shape()) == nil, "%d freed", freed)
		last := NodeID("")
		for i := range freed {
			last = NodeID(fmt.Sprintf("n%04d", i))
			capacity := resources.Quantity(2)
			if i == freed-1 {
				capacity = 3
			}
			assert.NilError(t, p.SetCapacity(last, vcore(capacity)))
		}
		p.RefreshShares()
		n := p.FirstFittingNode(x.Shape())
		assert.Assert(t, n != nil && n.ID() == last, "%d freed", freed)
	}
}
