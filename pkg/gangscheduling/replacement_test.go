package gangscheduling

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

// A pass over gangs evaluates an application only while asks of it wait for placeholders, and once for each change that
// may help: thousands of placeholders that are placed, and asks that no node accepts, cost nothing.
func TestGangs_EvaluatesWhatMayHaveAResult(t *testing.T) {
	now := time.Unix(1_000_000_000, 0)
	p := objects.NewPartition(configs.Partition{Name: "default", Root: configs.Queue{Name: "root", Parent: true,
		Children: []configs.Queue{{Name: "leaf", Settings: configs.DefaultSettings()}}}})
	g := New(p)
	vcores := func(n resources.Quantity) resources.Amounts {
		return resources.FromMap(map[string]resources.Quantity{"vcore": n})
	}
	assert.NilError(t, p.AddNode("n", vcores(10), nil, true))
	assert.NilError(t, p.AddApplication("app", security.User{Name: "ann"}, "root.leaf", nil, now))
	p.RefreshShares()
	n, _ := p.Node("n")
	evaluated := func() (times int) {
		g.MayReplace(func(_, _ []*objects.Allocation) bool {
			times++
			return false
		})
		return times
	}
	add := func(key objects.AllocationKey, placeholder bool) *objects.Allocation {
		x, err := p.AddAsk(&objects.Ask{Key: key, App: "app", Amounts: vcores(1), Placeholder: placeholder,
			Details: &objects.AskDetails{TaskGroup: "g"}}, now)
		assert.NilError(t, err)
		return x
	}
	for i := range 3 {
		y := add(objects.AllocationKey(fmt.Sprint("p", i)), true)
		assert.NilError(t, p.Place(y, n, now))
		assert.Assert(t, len(g.candidates) == 0 && evaluated() == 0, "no ask waits")
	}
	add("k", false)
	assert.Equal(t, evaluated(), 1)
	assert.Equal(t, evaluated(), 0, "nothing has changed")
	p.Release("p0", now)
	assert.Equal(t, evaluated(), 1, "resources are free")
	assert.NilError(t, p.Place(add("p3", true), n, now))
	assert.Equal(t, evaluated(), 1, "there is another placeholder")
	p.Cancel("k", now)
	p.Release("p1", now)
	assert.Equal(t, evaluated(), 0, "no ask waits any more")
	assert.NilError(t, p.Check())
}
