package objects

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/testing/testscale"
	"github.com/canopy-scheduler/canopy/pkg/lifecycle"
)

// largePartition is a partition with one application of so many asks, and a node with capacity for
// so many of them, which are bound.
func largePartition(tb testing.TB, asks, capacity int) (*Partition, *Node, time.Time) {
	tb.Helper()
	p, _, now := leafPartition(tb, lifecycle.DefaultLifetimes())
	assert.NilError(tb, p.AddNode("large", vcores(int64(capacity)), nil, true))
	for i := range asks {
		x, err := p.AddAsk(&Ask{Key: AllocationKey(fmt.Sprint("ask-", i)), App: "app", Amounts: vcores(1),
			Priority: int32(i % 3)}, now)
		assert.NilError(tb, err)
		if i < capacity {
			p.RefreshShares()
			assert.NilError(tb, p.Place(x, p.nodes["large"], now))
		}
	}
	return p, p.nodes["large"], now
}

// An application with many asks, and a node with many allocations, are checked in steps of at most
// the budget; each ask and allocation is checked once.
func TestAudit_LargeObjectsAreSplitIntoSteps(t *testing.T) {
	asks, capacity, budget := 20_000, 5000, 200
	if testscale.Full() {
		asks = 200_000
	}
	p, _, _ := largePartition(t, asks, capacity)
	a, steps := p.NewAudit(), 0
	for done := false; !done; steps++ {
		before := a.visits
		var err error
		done, err = a.Step(budget)
		assert.NilError(t, err)
		assert.Assert(t, a.visits-before <= budget, "%d visits in a step", a.visits-before)
	}
	assert.Equal(t, a.visits, asks+capacity,
		"asks and allocations with their application, and allocations with their node")
	assert.Assert(t, steps >= (asks+capacity)/budget)
}

// A change of an application or a node during its audit is no error; an error is found by an audit
// that begins later.
func TestAudit_IsExactWhileAnApplicationChanges(t *testing.T) {
	const seed = 33
	r := rand.New(rand.NewPCG(seed, 0))
	for run := range testscale.Runs(200) {
		p, n, now := largePartition(t, 60, 20)
		next := 0
		change := func() {
			app := p.apps["app"]
			x := app.allocations[r.IntN(len(app.allocations))]
			switch r.IntN(6) {
			case 0, 1:
				next++
				_, err := p.AddAsk(&Ask{Key: AllocationKey(fmt.Sprint("more-", next)), App: "app", Amounts: vcores(1 + r.Int64N(2)),
					Priority: r.Int32N(4)}, now)
				assert.NilError(t, err)
			case 2:
				if len(app.allocations) > 10 {
					_, cancelled := p.Cancel(x.Key(), now)
					_, freed := p.Release(x.Key(), now)
					assert.Assert(t, cancelled || freed)
				}
			case 3:
				p.RefreshShares()
				if x.Pending() {
					_ = p.Place(x, n, now) // fails if the node is full
				}
			case 4:
				p.RefreshShares()
				if x.Pending() && !x.group.isUnschedulable(x) {
					p.MarkUnschedulable(x)
				}
			case 5:
				p.RetryRefusedAsks()
				p.RefreshShares()
			}
		}
		for range 3 {
			a := p.NewAudit()
			for done := false; !done; {
				var err error
				done, err = a.Step(1 + r.IntN(9))
				assert.NilError(t, err, "seed %d, run %d", seed, run)
				for range r.IntN(4) {
					change()
				}
				p.RefreshShares()
			}
			assert.NilError(t, p.Check(), "seed %d, run %d", seed, run)
		}
		app := p.apps["app"]
		app.pending[0]++
		_, err := runAudit(p, 7)
		assert.Assert(t, err != nil)
	}
}
