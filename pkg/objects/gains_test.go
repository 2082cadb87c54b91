package objects

import (
	"fmt"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// TestWhatFitsNowhereIsFoundAgain lets more nodes gain room than are remembered, after an
// ask was found to fit nowhere, and only the last of them enough.
func TestWhatFitsNowhereIsFoundAgain(t *testing.T) {
	now := time.Unix(1, 0)
	vcore := func(n resources.Quantity) resources.Amounts {
		return resources.FromMap(map[string]resources.Quantity{"vcore": n})
	}
	for _, gains := range []int{1, mostGains - 1, mostGains, mostGains + 1, 3*mostGains + 7} {
		p := NewWith(configs.Partition{Root: configs.Queue{Name: "root"}}, Options{})
		assert.NilError(t, p.AddApplication("app", security.User{}, RootPath, nil, now))
		for i := range gains {
			assert.NilError(t, p.AddNode(NodeID(fmt.Sprintf("n%04d", i)), vcore(1), nil, true))
		}
		x, err := p.AddAsk(&Ask{Key: "k", App: "app", Amounts: vcore(3)}, now)
		assert.NilError(t, err)
		p.Settle()
		assert.Assert(t, p.NodeFor(x.Shape()) == nil, "%d gains", gains)
		last := NodeID("")
		for i := range gains {
			last = NodeID(fmt.Sprintf("n%04d", i))
			room := resources.Quantity(2)
			if i == gains-1 {
				room = 3
			}
			assert.NilError(t, p.SetCapacity(last, vcore(room)))
		}
		p.Settle()
		n := p.NodeFor(x.Shape())
		assert.Assert(t, n != nil && n.ID() == last, "%d gains", gains)
	}
}
