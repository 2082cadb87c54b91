package etcd_test

import (
	"context"
	"errors"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/etcdstore/storetest"
	"github.com/canopy-scheduler/canopy/internal/spread"
	"github.com/canopy-scheduler/canopy/internal/spread/etcd"
)

// transactions are the part of etcd in memory that assignments need. What needs leases and watches is tested in test/etcd.
type transactions struct {
	clientv3.KV // nil
	fake        *storetest.KV
}

// Txn implements clientv3.KV.
func (t transactions) Txn(ctx context.Context) clientv3.Txn { return t.fake.Txn(ctx) }

const (
	prefix    = "/canopy/a"
	leaderKey = prefix + "/leader"
)

func newStore(fake *storetest.KV) *etcd.Store {
	client := clientv3.NewCtxClient(context.Background())
	client.KV = transactions{fake: fake}
	return etcd.New(etcd.Options{Client: func() (*clientv3.Client, error) { return client, nil }, Prefix: prefix, TTL: 10 * time.Second})
}

func of(round uint64, name string) spread.Assignment {
	return spread.Assignment{Members: map[string]string{"default": name}, Round: round}
}

func stored(t *testing.T, s *etcd.Store) spread.State {
	t.Helper()
	state, err := s.Next(t.Context(), 0)
	assert.NilError(t, err)
	return state
}

// An assignment is written only in the epoch of the coordinator, and only after the one that is stored.
func TestAssign_OnlyByTheCoordinator(t *testing.T) {
	var fake storetest.KV
	s := newStore(&fake)
	assert.ErrorIs(t, s.Assign(t.Context(), 0, of(1, "m1")), spread.ErrNotCoordinator)
	first := fake.Elect(leaderKey, "m1")
	assert.NilError(t, s.Assign(t.Context(), first, of(1, "m1")))
	revision := stored(t, s).Revision
	assert.NilError(t, s.Assign(t.Context(), first, of(1, "m1")))
	assert.Equal(t, stored(t, s).Revision, revision, "one that is stored is not written again")
	for _, a := range []spread.Assignment{of(1, "m2"), of(0, "m2"), of(3, "m2")} {
		assert.ErrorIs(t, s.Assign(t.Context(), first, a), spread.ErrStale)
	}
	second := fake.Elect(leaderKey, "m2")
	assert.ErrorIs(t, s.Assign(t.Context(), first, of(2, "m2")), spread.ErrNotCoordinator)
	assert.ErrorIs(t, s.Assign(t.Context(), first, of(1, "m1")), spread.ErrNotCoordinator)
	assert.NilError(t, s.Assign(t.Context(), second, of(2, "m2")))
	fake.Delete(leaderKey)
	assert.ErrorIs(t, s.Assign(t.Context(), second, of(3, "m3")), spread.ErrNotCoordinator)
	assert.DeepEqual(t, stored(t, s).Assignment, of(2, "m2"))
}

// A coordinator that is replaced between the reading and the writing writes nothing. Neither does one whose assignment has changed in between.
func TestAssign_ChangedBetweenReadAndWrite(t *testing.T) {
	var fake storetest.KV
	s := newStore(&fake)
	between := func(do func()) {
		fake.Fault = func(mayWrite bool) storetest.Fault {
			if mayWrite {
				fake.Fault = nil
				do()
			}
			return storetest.Fault{}
		}
	}
	epoch := fake.Elect(leaderKey, "m1")
	between(func() { assert.NilError(t, newStore(&fake).Assign(t.Context(), epoch, of(1, "m2"))) })
	assert.ErrorIs(t, s.Assign(t.Context(), epoch, of(1, "m1")), spread.ErrStale)
	between(func() { fake.Elect(leaderKey, "m2") })
	assert.ErrorIs(t, s.Assign(t.Context(), epoch, of(2, "m1")), spread.ErrNotCoordinator)
	assert.DeepEqual(t, stored(t, s).Assignment, of(1, "m2"))
}

// A write that etcd gets after its call has failed undoes nothing that was assigned since.
func TestAssign_LateWriteUndoesNothing(t *testing.T) {
	var fake storetest.KV
	s := newStore(&fake)
	epoch := fake.Elect(leaderKey, "m1")
	assert.NilError(t, s.Assign(t.Context(), epoch, of(1, "m1")))
	lost := errors.New("the answer is lost")
	fake.Fault = func(mayWrite bool) storetest.Fault {
		if mayWrite {
			return storetest.Fault{Err: lost, Delayed: true}
		}
		return storetest.Fault{}
	}
	assert.ErrorIs(t, s.Assign(t.Context(), epoch, of(2, "m2")), lost)
	fake.Fault = nil
	assert.NilError(t, s.Assign(t.Context(), epoch, of(2, "m3")))
	fake.Release()
	assert.DeepEqual(t, stored(t, s).Assignment, of(2, "m3"))
}

// A damaged assignment or index is an error with its key; a damaged member is left out, and named.
func TestNext_DamageIsNamed(t *testing.T) {
	var fake storetest.KV
	s := newStore(&fake)
	fake.Put(prefix+"/members/rack%2Fone", `{"name":"rack/one","leads":{"default":1},"later":{}}`)
	fake.Put(prefix+"/members/m2", "{")
	fake.Put(prefix+"/members/m3", `{"name":"m4"}`)
	state := stored(t, s)
	assert.DeepEqual(t, state.Members, []spread.Member{{Name: "rack/one", Leads: map[string]float64{"default": 1}}})
	assert.DeepEqual(t, state.Damaged, []string{prefix + "/members/m2", prefix + "/members/m3"})
	for _, value := range []string{"", "{", "{}", `{"round":1}{}`} {
		fake.Put(prefix+"/assignment", value)
		_, err := s.Next(t.Context(), 0)
		assert.ErrorContains(t, err, "the key /canopy/a/assignment: ")
	}
	fake.Put(prefix+"/assignment", `{"round":1,"later":2}`)
	fake.Put(prefix+"/config/index", "x")
	_, err := s.Next(t.Context(), 0)
	assert.ErrorContains(t, err, "the key /canopy/a/config/index: ")
}

// A configuration is proposed only in the epoch of the coordinator; each has a higher number, and takes the place of the one before.
func TestPropose_OnlyByTheCoordinator(t *testing.T) {
	var fake storetest.KV
	s := newStore(&fake)
	_, err := s.Propose(t.Context(), 0, []byte("a"))
	assert.ErrorIs(t, err, spread.ErrNotCoordinator)
	epoch := fake.Elect(leaderKey, "m1")
	first, err := s.Propose(t.Context(), epoch, []byte("a"))
	assert.NilError(t, err)
	second, err := s.Propose(t.Context(), epoch, []byte("b"))
	assert.NilError(t, err)
	assert.Assert(t, second > first)
	state := stored(t, s)
	assert.Equal(t, state.Proposal, second)
	assert.Assert(t, state.Revision >= second)
	_, err = s.Proposed(t.Context(), first)
	assert.ErrorIs(t, err, spread.ErrNoProposal)
	text, err := s.Proposed(t.Context(), second)
	assert.NilError(t, err)
	assert.Equal(t, string(text), "b")

	later := fake.Elect(leaderKey, "m2")
	for _, text := range []string{"c", ""} {
		_, err = s.Propose(t.Context(), epoch, []byte(text))
		assert.ErrorIs(t, err, spread.ErrNotCoordinator)
	}
	assert.Equal(t, stored(t, s).Proposal, second)
	_, err = s.Propose(t.Context(), later, nil)
	assert.NilError(t, err)
	assert.Equal(t, stored(t, s).Proposal, int64(0))
	_, err = s.Proposed(t.Context(), second)
	assert.ErrorIs(t, err, spread.ErrNoProposal)

	number := fake.Put(prefix+"/proposal", "damaged")
	_, err = s.Proposed(t.Context(), number)
	assert.ErrorContains(t, err, "the key "+prefix+"/proposal: ")
}
