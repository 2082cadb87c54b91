package objects

import (
	"fmt"
	"math"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/policies"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

var epoch = time.Unix(1_000_000_000, 0).UTC()

func cores(n int64) resources.Amounts {
	return resources.FromMap(map[string]resources.Quantity{"vcore": resources.Quantity(n)})
}

// busyPartition is a partition with a leaf, a node, and a bound allocation of one core for each
// key.
func busyPartition(t *testing.T, conf configs.Queue, keys ...AllocationKey) *Partition {
	t.Helper()
	root := configs.Queue{Name: "root", Parent: true, Children: []configs.Queue{conf}}
	p := NewPartition(configs.Partition{Name: "default", Root: root, NodeSortPolicy: policies.DefaultNodeSortPolicy()})
	assert.NilError(t, p.AddNode("n", cores(100), nil, true))
	assert.NilError(t, p.AddApplication("app", security.User{Name: "ann"}, RootPath.Child(conf.Name), nil, epoch))
	for _, key := range keys {
		x, err := p.AddAsk(&Ask{Key: key, App: "app", Amounts: cores(1)}, epoch)
		assert.NilError(t, err)
		assert.NilError(t, p.Place(x, p.nodes["n"], epoch))
	}
	assert.NilError(t, p.Check())
	return p
}

// accountingText is everything that a posting changes.
func accountingText(p *Partition) string {
	a, n := p.apps["app"], p.nodes["n"]
	return fmt.Sprint(p.Amounts(a.allocated), p.Amounts(a.pending), a.boundCount, a.pendingCount, a.allocationsMade,
		a.state, a.log, p.boundCount,
		p.Amounts(n.available), n.key.Score, len(n.allocations), p.Amounts(a.queue.Allocated()),
		p.Amounts(p.root.Allocated()), p.shapes)
}

func TestResize_AskKeepsItsPosition(t *testing.T) {
	p := busyPartition(t, configs.Queue{Name: "a"})
	for i, key := range []AllocationKey{"first", "second"} {
		_, err := p.AddAsk(&Ask{Key: key, App: "app", Amounts: cores(1)}, epoch.Add(time.Duration(i)*time.Second))
		assert.NilError(t, err)
	}
	for _, n := range []int64{2, 1} {
		_, err := p.Resize("first", cores(n))
		assert.NilError(t, err)
		assert.NilError(t, p.Check())
	}
	assert.Equal(t, p.apps["app"].askGroups.list[0].SchedulableAsks()[0].Key(), AllocationKey("first"))
}

func TestRampUp_SecondAllocationOrFiveMinutes(t *testing.T) {
	leaf := configs.Queue{Name: "a", Settings: configs.Settings{AppSort: policies.StateAware}}
	assert.Assert(t, busyPartition(t, leaf, "k1", "k2").apps["app"].rampedUp, "two allocations were made")
	p := busyPartition(t, leaf, "k1")
	a := p.apps["app"]
	p.Expire(epoch.Add(policies.RampTime - 1))
	assert.Assert(t, !a.rampedUp)
	p.Expire(epoch.Add(policies.RampTime))
	assert.Assert(t, a.rampedUp, "five minutes have passed since the first")
	assert.NilError(t, p.Check())
}

func TestPlace_RechecksLimits(t *testing.T) {
	limit := resources.LimitFromMap(map[string]resources.Quantity{"vcore": 2})
	p := busyPartition(t, configs.Queue{Name: "a", Max: limit}, "k1")
	x, err := p.AddAsk(&Ask{Key: "k2", App: "app", Amounts: cores(2)}, epoch)
	assert.NilError(t, err)
	before := accountingText(p)
	assert.ErrorIs(t, p.Place(x, p.nodes["n"], epoch), ErrOverLimit)
	assert.Equal(t, accountingText(p), before)
	_, err = p.PlaceReported("k2", "n", epoch)
	assert.NilError(t, err, "reported allocations are not checked")
	assert.NilError(t, p.Check())
}

func TestLedger_OverflowIsRejected(t *testing.T) {
	p := busyPartition(t, configs.Queue{Name: "a"}, "k1", "k2")
	huge := cores(math.MaxInt64 - 1)
	_, err := p.AddAsk(&Ask{Key: "k3", App: "app", Amounts: huge}, epoch)
	assert.ErrorIs(t, err, ErrOverflow)
	_, err = p.Resize("k1", huge)
	assert.ErrorIs(t, err, ErrOverflow)
	assert.ErrorIs(t, p.AddNode("n2", huge, nil, true), ErrOverflow)
	assert.NilError(t, p.AddForeign(Foreign{Key: "f1", Node: "n", Amounts: huge}))
	assert.ErrorIs(t, p.AddForeign(Foreign{Key: "f2", Node: "n", Amounts: huge}), ErrOverflow)
	assert.NilError(t, p.Check())
	p.RemoveForeign("f1")
	assert.DeepEqual(t, p.Amounts(p.nodes["n"].available).Map(), cores(98).Map())
}

func TestResourceNames_TooManyAreRejected(t *testing.T) {
	p := busyPartition(t, configs.Queue{Name: "a"})
	m := map[string]resources.Quantity{}
	for i := range resources.MaxNames {
		m[fmt.Sprint("r", i)] = 1
	}
	_, err := p.AddAsk(&Ask{Key: "k", App: "app", Amounts: resources.FromMap(m)}, epoch)
	assert.ErrorContains(t, err, "asks have 64 such names, of at most 64")
	assert.ErrorContains(t, p.AddNode("n2", resources.FromMap(m), nil, true), "more than 256")
	assert.NilError(t, p.Check())
}
