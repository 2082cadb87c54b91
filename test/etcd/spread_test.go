package etcd_test

import (
	"context"
	"errors"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/etcdstore"
	"github.com/canopy-scheduler/canopy/internal/spread"
	spreadetcd "github.com/canopy-scheduler/canopy/internal/spread/etcd"
)

const (
	spreadPrefix = "/canopy/a"
	spreadTTL    = 2 * time.Second
)

// spreadStore is the store of another process of the group.
func spreadStore(client *clientv3.Client) *spreadetcd.Store {
	return spreadetcd.New(spreadetcd.Options{
		Client: func() (*clientv3.Client, error) { return client, nil }, Prefix: spreadPrefix, TTL: spreadTTL, Timeout: 3 * time.Second,
	})
}

// revisionOf is the revision of etcd.
func revisionOf(t *testing.T, client *clientv3.Client) int64 {
	t.Helper()
	got, err := client.Get(t.Context(), "/")
	assert.NilError(t, err)
	return got.Header.Revision
}

// next is what a store returns of Next, which must not take long.
func next(t *testing.T, s spread.Store, after int64) spread.State {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	state, err := s.Next(ctx, after)
	assert.NilError(t, err)
	return state
}

// later calls Next beside the test.
func later(t *testing.T, s spread.Store, after int64) func() spread.State {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	states, errs := make(chan spread.State, 1), make(chan error, 1)
	go func() {
		state, err := s.Next(ctx, after)
		states <- state
		errs <- err
	}()
	return func() spread.State {
		t.Helper()
		defer cancel()
		state := <-states
		assert.NilError(t, <-errs)
		return state
	}
}

var (
	spreadOne = spread.Member{Name: "n1:3333", Refuses: []string{"gpu"}, GRPC: "n1:3333", HTTP: "http://n1:9080", Leads: map[string]float64{"default": 12.5, "gpu": 0}}
	spreadTwo = spread.Member{Name: "rack/two", GRPC: "n2:3333", Leads: map[string]float64{}}
)

// What is announced, assigned and stored is in the next state, and each change ends a Next that waits. Other keys of the group do not.
func TestSpread_NextSeesEachChange(t *testing.T) {
	_, client := startEtcd(t)
	opt, _ := elect(t, client)
	one, two := spreadStore(client), spreadStore(client)
	state := next(t, one, 0)
	assert.Equal(t, state.Revision, revisionOf(t, client))
	assert.DeepEqual(t, state, spread.State{Revision: state.Revision})

	waiting := later(t, one, state.Revision)
	assert.NilError(t, two.Announce(t.Context(), spreadTwo))
	state = waiting()
	assert.DeepEqual(t, state, spread.State{Revision: state.Revision, Members: []spread.Member{spreadTwo}})

	assert.NilError(t, one.Announce(t.Context(), spreadOne))
	state = next(t, one, state.Revision)
	assert.DeepEqual(t, state.Members, []spread.Member{spreadOne, spreadTwo})

	a := spread.Assignment{Members: map[string]string{"default": "n1:3333", "gpu": "rack/two"}, Round: 1}
	assert.NilError(t, one.Assign(t.Context(), opt.Epoch, a))
	state = next(t, two, state.Revision)
	assert.DeepEqual(t, state.Assignment, a)

	assert.NilError(t, open(t, client, opt).Add(generationOf(42, "text"), 1))
	state = next(t, two, state.Revision)
	assert.Equal(t, state.Generation, uint64(42))

	waiting = later(t, one, state.Revision)
	for _, key := range []string{"/leader", "/operators", "/assignments", "/partitions/default/leader"} {
		_, err := client.Put(t.Context(), spreadPrefix+key, "x")
		assert.NilError(t, err)
	}
	before := revisionOf(t, client)
	assert.NilError(t, two.Withdraw(t.Context()))
	state = waiting()
	assert.Assert(t, state.Revision > before, "a key of another package has ended the wait")
	assert.DeepEqual(t, state.Members, []spread.Member{spreadOne})
	assert.NilError(t, two.Withdraw(t.Context()))

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := one.Next(ctx, state.Revision)
	assert.ErrorIs(t, err, context.Canceled)
}

// A member that is announced again writes nothing unless something has changed, and is known longer than its time to live. One that is not is not.
func TestSpread_MemberIsKnownWhileItIsAnnounced(t *testing.T) {
	_, client := startEtcd(t)
	one := spreadStore(client)
	assert.NilError(t, one.Announce(t.Context(), spreadOne))
	state := next(t, one, 0)
	began := time.Now()
	for time.Since(began) < 2*spreadTTL {
		assert.NilError(t, one.Announce(t.Context(), spreadOne))
	}
	assert.DeepEqual(t, next(t, one, 0), state)
	changed := spreadOne.Clone()
	changed.Leads["default"] = 13
	assert.NilError(t, one.Announce(t.Context(), changed))
	assert.DeepEqual(t, next(t, one, 0).Members, []spread.Member{changed})

	began = time.Now()
	state = next(t, one, state.Revision+1)
	took := time.Since(began)
	t.Logf("not known %v after the last announcement, with a time to live of %v", took, spreadTTL)
	assert.Equal(t, len(state.Members), 0)
	assert.Assert(t, took > spreadTTL-time.Second && took < 3*spreadTTL, "%v", took)
	assert.NilError(t, one.Announce(t.Context(), changed)) // with another lease
	assert.Equal(t, len(next(t, one, 0).Members), 1)
}

// A second process with the same name is refused until the first one is not known any more. A key that was removed is put again.
func TestSpread_NameIsOfOneProcess(t *testing.T) {
	_, client := startEtcd(t)
	one, two := spreadStore(client), spreadStore(client)
	assert.NilError(t, one.Announce(t.Context(), spreadOne))
	other := spreadOne.Clone()
	other.GRPC = "n9:3333"
	err := two.Announce(t.Context(), other)
	assert.ErrorIs(t, err, spread.ErrNameTaken)
	assert.ErrorContains(t, err, `"n1:3333" is known with the addresses "n1:3333" and "http://n1:9080"`)
	assert.DeepEqual(t, next(t, one, 0).Members, []spread.Member{spreadOne})
	_, err = client.Delete(t.Context(), spreadPrefix+"/members/n1:3333")
	assert.NilError(t, err)
	assert.NilError(t, one.Announce(t.Context(), spreadOne))
	assert.ErrorIs(t, two.Announce(t.Context(), other), spread.ErrNameTaken)
	assert.ErrorContains(t, one.Announce(t.Context(), spreadTwo), `the member "n1:3333" is announced`)
	assert.NilError(t, one.Withdraw(t.Context()))
	assert.NilError(t, two.Announce(t.Context(), other))
	assert.ErrorIs(t, one.Announce(t.Context(), spreadOne), spread.ErrNameTaken)
	assert.DeepEqual(t, next(t, one, 0).Members, []spread.Member{other})

	began := time.Now() // two has died
	for errors.Is(one.Announce(t.Context(), spreadOne), spread.ErrNameTaken) {
		assert.Assert(t, time.Since(began) < 5*spreadTTL)
	}
	assert.DeepEqual(t, next(t, one, 0).Members, []spread.Member{spreadOne})
	assert.ErrorIs(t, two.Announce(t.Context(), other), spread.ErrNameTaken)
}

// An assignment is written only in the epoch of the coordinator, and only after the one that is stored.
func TestSpread_AssignmentIsFenced(t *testing.T) {
	_, client := startEtcd(t)
	s := spreadStore(client)
	of := func(round uint64, name string) spread.Assignment {
		return spread.Assignment{Members: map[string]string{"default": name}, Round: round}
	}
	assert.ErrorIs(t, s.Assign(t.Context(), 0, of(1, "m1")), spread.ErrNotCoordinator)
	first, lease := elect(t, client)
	assert.NilError(t, s.Assign(t.Context(), first.Epoch, of(1, "m1")))
	stored := next(t, s, 0)
	assert.NilError(t, s.Assign(t.Context(), first.Epoch, of(1, "m1")))
	assert.DeepEqual(t, next(t, s, 0), stored)
	for _, a := range []spread.Assignment{of(1, "m2"), of(0, "m2"), of(3, "m2")} {
		assert.ErrorIs(t, s.Assign(t.Context(), first.Epoch, a), spread.ErrStale)
	}
	second, _ := elect(t, client)
	assert.ErrorIs(t, s.Assign(t.Context(), first.Epoch, of(2, "m2")), spread.ErrNotCoordinator)
	assert.ErrorIs(t, s.Assign(t.Context(), first.Epoch, of(1, "m1")), spread.ErrNotCoordinator)
	assert.NilError(t, s.Assign(t.Context(), second.Epoch, of(2, "m2")))
	_, err := client.Revoke(t.Context(), lease)
	assert.NilError(t, err)
	_, err = client.Delete(t.Context(), leaderKey)
	assert.NilError(t, err)
	assert.ErrorIs(t, s.Assign(t.Context(), second.Epoch, of(3, "m3")), spread.ErrNotCoordinator)
	assert.DeepEqual(t, next(t, s, 0).Assignment, of(2, "m2"))
}

// A Next that comes after its revision was compacted reads again. So does one whose etcd was restored, and counts from an earlier revision.
func TestSpread_CompactionAndRestore(t *testing.T) {
	_, client := startEtcd(t)
	opt, _ := elect(t, client)
	one := spreadStore(client)
	before := next(t, one, 0)
	assert.NilError(t, one.Announce(t.Context(), spreadOne))
	for range 5 {
		_, err := client.Put(t.Context(), "/other", "x")
		assert.NilError(t, err)
	}
	_, err := client.Compact(t.Context(), revisionOf(t, client))
	assert.NilError(t, err)
	state := next(t, one, before.Revision)
	assert.DeepEqual(t, state.Members, []spread.Member{spreadOne})
	assert.NilError(t, one.Assign(t.Context(), opt.Epoch, spread.Assignment{Members: map[string]string{"a": "b"}, Round: 1}))
	assert.Equal(t, next(t, one, state.Revision).Assignment.Round, uint64(1))
	assert.Equal(t, next(t, one, 1_000_000).Assignment.Round, uint64(1))
}

// While etcd is down calls fail within their bound; when it is back one that waits, or is made again, goes on from the same revision.
func TestSpread_EtcdRestarted(t *testing.T) {
	cluster, client := startEtcd(t)
	one, two := spreadStore(client), spreadStore(client)
	assert.NilError(t, one.Announce(t.Context(), spreadOne))
	state := next(t, one, 0)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	seen := make(chan spread.State, 1)
	go func() {
		defer close(seen)
		for ctx.Err() == nil && len(state.Members) < 2 {
			if got, err := one.Next(ctx, state.Revision); err == nil { // else etcd went down between the change and the reading
				state = got
			}
		}
		seen <- state
	}()
	for _, end := range []func() error{cluster.Stop, cluster.Kill} {
		assert.NilError(t, end())
		began := time.Now()
		assert.ErrorIs(t, one.Announce(t.Context(), spreadOne), context.DeadlineExceeded)
		assert.Assert(t, time.Since(began) < 5*time.Second)
		_, err := one.Next(t.Context(), 0)
		assert.Assert(t, err != nil)
		assert.NilError(t, cluster.Start(t.Context()))
		for one.Announce(t.Context(), spreadOne) != nil { // the client connects again after a pause
			assert.Assert(t, time.Since(began) < time.Minute)
		}
	}
	assert.NilError(t, two.Announce(t.Context(), spreadTwo))
	for { // the first member may end while the test waits
		select {
		case got := <-seen:
			assert.DeepEqual(t, got.Members, []spread.Member{spreadOne, spreadTwo})
			return
		default:
			assert.NilError(t, one.Announce(t.Context(), spreadOne))
			assert.NilError(t, two.Announce(t.Context(), spreadTwo))
		}
	}
}

// A damaged assignment or index is an error with its key; a damaged member is left out, and named.
func TestSpread_DamageIsNamed(t *testing.T) {
	_, client := startEtcd(t)
	opt, _ := elect(t, client)
	one := spreadStore(client)
	assert.NilError(t, one.Announce(t.Context(), spreadOne))
	put := func(key, value string) {
		t.Helper()
		_, err := client.Put(t.Context(), key, value)
		assert.NilError(t, err)
	}
	put(spreadPrefix+"/members/m2", "{")
	put(spreadPrefix+"/members/m3", `{"name":"m4"}`)
	state := next(t, one, 0)
	assert.DeepEqual(t, state.Members, []spread.Member{spreadOne})
	assert.DeepEqual(t, state.Damaged, []string{spreadPrefix + "/members/m2", spreadPrefix + "/members/m3"})
	for _, value := range []string{"", "{", "{}", `{"round":1}{}`} {
		put(spreadPrefix+"/assignment", value)
		_, err := one.Next(t.Context(), 0)
		assert.ErrorContains(t, err, "the key /canopy/a/assignment: ")
		assert.ErrorContains(t, one.Assign(t.Context(), opt.Epoch, spread.Assignment{Round: 1}), "the key /canopy/a/assignment: ")
	}
	put(spreadPrefix+"/assignment", `{"round":1,"later":2}`)
	put(etcdstore.IndexKey(spreadPrefix), "x")
	_, err := one.Next(t.Context(), 0)
	assert.ErrorContains(t, err, "the key /canopy/a/config/index: ")
}
