package objects

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/testing/testscale"
	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// RES-3, RES-5, RES-6: whatever happens, each reservation is of a pending ask and a node that can take it, one ask has
// one node, a node is reserved for one ask or for asks that require it, and what it holds is their sum and counts in no
// queue. Each reservation that was made is there or has ended, once.
func TestPartition_ReservationsAddUp(t *testing.T) {
	for seed := range uint64(testscale.Runs(40)) {
		rng := rand.New(rand.NewPCG(seed, 61))
		p := busyPartition(t, configs.Queue{Name: "a"})
		var keys []AllocationKey
		made, now := 0, epoch
		var ended endedReservations
		Attach(p, &ended)
		for step := range 300 {
			now = now.Add(time.Second)
			nodes := p.Nodes()
			n := nodes[rng.IntN(len(nodes))]
			pick := func() *Allocation {
				if len(keys) == 0 {
					return nil
				}
				x, _ := p.Allocation(keys[rng.IntN(len(keys))])
				return x
			}
			switch x := pick(); rng.IntN(12) {
			case 0, 1, 2:
				ask := &Ask{Key: AllocationKey(fmt.Sprint("k", step)), App: "app", Amounts: cores(int64(1 + rng.IntN(4))),
					Priority: int32(rng.IntN(3))}
				if rng.IntN(3) == 0 {
					ask.Details = &AskDetails{RequiredNode: n.ID()}
				}
				if _, err := p.AddAsk(ask, now); err == nil {
					keys = append(keys, ask.Key)
				}
			case 3, 4, 5:
				if x != nil && x.Pending() && p.Reservations().Of(x) == nil && p.Nomination(x) == nil && n.MayReserve(x) {
					before := p.root.quota.Nominated().IsZero()
					p.Reservations().Reserve(x, n, now)
					made++
					assert.Equal(t, p.root.quota.Nominated().IsZero(), before)
				}
			case 6:
				if x != nil && x.Pending() && n.Accepts(x.Shape()) {
					p.Preempt(x, n, nil, now)
				}
			case 7:
				if x != nil && x.Pending() && p.Reservations().Of(x) != nil && p.Reservations().Fits(x) {
					assert.NilError(t, p.Place(x, p.Reservations().Of(x), now), "seed %d", seed)
				}
			case 8:
				if x != nil {
					p.Release(x.Key(), now)
					p.Cancel(x.Key(), now)
				}
			case 9:
				p.SetSchedulable(n, rng.IntN(2) == 0)
			case 10:
				assert.NilError(t, p.SetCapacity(n.ID(), cores(int64(2+rng.IntN(6)))))
			case 11:
				if len(nodes) > 2 {
					_, err := p.RemoveNode(n.ID(), now)
					assert.NilError(t, err)
				} else {
					assert.NilError(t, p.AddNode(NodeID(fmt.Sprint("n", step)), cores(int64(3+rng.IntN(4))), nil, true))
				}
			}
			assert.NilError(t, p.Check(), "seed %d, step %d", seed, step)
			assert.Equal(t, made, int(ended)+len(p.Reservations().Asks()), "seed %d, step %d", seed, step)
		}
		assert.Assert(t, made > 0, "seed %d", seed)
		_, _, ok := p.RemoveApplication("app", now)
		assert.Assert(t, ok)
		assert.Equal(t, len(p.Reservations().Asks()), 0)
		for _, n := range p.Nodes() {
			assert.Assert(t, n.extra.held.IsZero(), "seed %d: node %s holds %v", seed, n.ID(), n.extra.held)
		}
	}
}

// The best node lacks the least of its capacity, by the resource of which it lacks most.
func TestNode_MissingShare(t *testing.T) {
	p := busyPartition(t, configs.Queue{Name: "a"})
	two := func(vcore, memory resources.Quantity) resources.Amounts {
		return resources.FromMap(map[string]resources.Quantity{"vcore": vcore, "memory": memory})
	}
	assert.NilError(t, p.AddNode("m", two(8, 100), nil, true))
	x, err := p.AddAsk(&Ask{Key: "k", App: "app", Amounts: two(4, 60)}, epoch)
	assert.NilError(t, err)
	m := p.nodes["m"]
	share, more := m.MissingShare(x.Shape(), nil, 0)
	assert.Assert(t, share == 0 && !more, "%v", share)
	assert.NilError(t, p.AddForeign(Foreign{Key: "f", Node: "m", Amounts: two(6, 50)}))
	for limit, wantMore := range map[float64]bool{0.2: true, 0.25: false, math.Inf(1): false} {
		share, more = m.MissingShare(x.Shape(), nil, limit)
		assert.Assert(t, share == 0.25 && more == wantMore, "2 of 8 cores, and 10 of 100: %v, limit %v", share, limit)
	}
	assert.Assert(t, !m.MayReserve(x), "the foreign allocation stays")
	assert.NilError(t,
		p.AddForeign(Foreign{Key: "g", Node: "m", Amounts: resources.FromMap(map[string]resources.Quantity{"memory": 30})}))
	share, _ = m.MissingShare(x.Shape(), nil, math.Inf(1))
	assert.Equal(t, share, 0.4, "2 of 8 cores, and 40 of 100")
}

// endedReservations counts the reservations that have ended.
type endedReservations int

func (*endedReservations) Wants() ChangeSet { return 1 << ReservationEnded }

func (n *endedReservations) On(*Change) { *n++ }
