package memstore_test

import (
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/spread"
	"github.com/canopy-scheduler/canopy/internal/spread/memstore"
)

// The store in memory does what the one in etcd does.
func TestStore_AsInEtcd(t *testing.T) {
	var g memstore.Group
	one, two := g.Member(), g.Member()
	ctx := t.Context()
	next := func(after int64) spread.State {
		t.Helper()
		state, err := one.Next(ctx, after)
		assert.NilError(t, err)
		return state
	}
	state := next(0)
	m := spread.Member{Name: "m1", GRPC: "n1:3333", Leads: map[string]float64{"a": 1}}
	assert.NilError(t, one.Announce(ctx, m))
	state = next(state.Revision)
	assert.DeepEqual(t, state.Members, []spread.Member{m})
	assert.NilError(t, one.Announce(ctx, m))
	assert.Equal(t, next(0).Revision, state.Revision)
	assert.ErrorIs(t, two.Announce(ctx, m), spread.ErrNameTaken)
	g.Expire("m1")
	assert.NilError(t, two.Announce(ctx, m))
	assert.NilError(t, one.Withdraw(ctx)) // not its own
	assert.Equal(t, len(next(0).Members), 1)
	assert.NilError(t, two.Withdraw(ctx))
	assert.Equal(t, len(next(0).Members), 0)

	a := spread.Assignment{Members: map[string]string{"a": "m1"}, Round: 1}
	assert.ErrorIs(t, one.Assign(ctx, 0, a), spread.ErrNotCoordinator)
	epoch := g.Elect()
	assert.NilError(t, one.Assign(ctx, epoch, a))
	assert.NilError(t, one.Assign(ctx, epoch, a))
	assert.ErrorIs(t, one.Assign(ctx, epoch, spread.Assignment{Round: 1}), spread.ErrStale)
	g.Elect()
	assert.ErrorIs(t, one.Assign(ctx, epoch, a), spread.ErrNotCoordinator)
	assert.DeepEqual(t, next(0).Assignment, a)

	_, err := one.Propose(ctx, epoch, []byte("a"))
	assert.ErrorIs(t, err, spread.ErrNotCoordinator)
	epoch = g.Elect()
	first, err := one.Propose(ctx, epoch, []byte("a"))
	assert.NilError(t, err)
	second, err := one.Propose(ctx, epoch, []byte("b"))
	assert.NilError(t, err)
	assert.Assert(t, second > first)
	assert.Equal(t, next(0).Proposal, second)
	assert.Assert(t, next(0).Revision >= second)
	_, err = two.Proposed(ctx, first)
	assert.ErrorIs(t, err, spread.ErrNoProposal)
	text, err := two.Proposed(ctx, second)
	assert.NilError(t, err)
	assert.Equal(t, string(text), "b")
	m.Checked, m.Objections = second, map[string]string{"a": "no"}
	assert.NilError(t, two.Announce(ctx, m))
	m.Objections = nil
	assert.NilError(t, two.Announce(ctx, m))
	assert.DeepEqual(t, next(0).Members, []spread.Member{m})
	_, err = one.Propose(ctx, epoch, nil)
	assert.NilError(t, err)
	assert.Equal(t, next(0).Proposal, int64(0))
	_, err = two.Proposed(ctx, second)
	assert.ErrorIs(t, err, spread.ErrNoProposal)

	state = next(0)
	woken := make(chan spread.State)
	go func() {
		got, _ := two.Next(ctx, state.Revision)
		woken <- got
	}()
	g.SetGeneration(3)
	assert.Equal(t, (<-woken).Generation, uint64(3))
	g.SetReachable(false)
	_, err = one.Next(ctx, 0)
	assert.ErrorIs(t, err, memstore.ErrUnreachable)
}
