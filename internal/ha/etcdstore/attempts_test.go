package etcdstore_test

import (
	"fmt"
	"testing"
	"testing/synctest"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"golang.org/x/sync/errgroup"
	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/ha/etcdstore"
	"github.com/canopy-scheduler/canopy/internal/testing/storetest"
)

// faults are what goes wrong with the next transactions that may write; the others succeed.
func faults(list ...storetest.Fault) func(bool) storetest.Fault {
	return func(mayWrite bool) (f storetest.Fault) {
		if mayWrite && len(list) > 0 {
			f, list = list[0], list[1:]
		}
		return f
	}
}

// One failure, of whatever kind, does not fail a write (HAS-3).
func TestStore_WritesAreTriedAgain(t *testing.T) {
	for name, fault := range map[string]storetest.Fault{
		"hangs": {Hangs: true}, "hangs after the write": {Hangs: true, Applied: true},
		"is busy":                            {Err: rpctypes.ErrTooManyRequests},
		"changes its leader":                 {Err: rpctypes.ErrLeaderChanged},
		"changes its leader after the write": {Err: rpctypes.ErrLeaderChanged, Applied: true},
		"writes later":                       {Err: rpctypes.ErrTimeout, Delayed: true},
		"has space for the last time":        {Err: rpctypes.ErrNoSpace, Applied: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var kv storetest.KV
				s := open(t, &kv, elect(&kv))
				kv.Fault = faults(fault)
				assert.NilError(t, s.Add(generationOf(1, "one"), 1))
				kv.Release()
				assert.NilError(t, s.Add(generationOf(2, "two"), 1))
				assert.Equal(t, len(open(t, &kv, elect(&kv)).StoredState().Generations), 2)
			})
		})
	}
}

// A write of a Store that was closed and arrives late is not taken for one of the next Store of the term, which has
// written the same generation with another text (HAS-3).
func TestStore_LateWriteOfAnotherStoreIsNotTakenForOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var kv storetest.KV
		opt := elect(&kv)
		former := open(t, &kv, opt)
		kv.Fault = func(mayWrite bool) storetest.Fault { return storetest.Fault{Hangs: true, Delayed: mayWrite} }
		assert.ErrorIs(t, former.Add(generationOf(1, "former"), 1), etcdstore.ErrNoAnswer)
		kv.Fault = nil
		next := open(t, &kv, opt)
		kv.Fault = func(mayWrite bool) storetest.Fault {
			kv.Fault = nil
			if mayWrite {
				kv.Release()
			}
			return storetest.Fault{Err: rpctypes.ErrTimeout}
		}
		assert.NilError(t, next.Add(generationOf(1, "next"), 1))
		assert.Equal(t, open(t, &kv, opt).StoredState().Generations[0].Text, "next")
	})
}

// An answer of etcd is not all that there is to say if an earlier attempt was not answered (HAS-3).
func TestStore_EarlierAttemptMayStillArrive(t *testing.T) {
	var kv storetest.KV
	s := open(t, &kv, elect(&kv))
	kv.Fault = faults(storetest.Fault{Err: rpctypes.ErrTimeout, Delayed: true}, storetest.Fault{Err: rpctypes.ErrNoSpace})
	err := s.Add(generationOf(1, "one"), 1)
	assert.ErrorIs(t, err, etcdstore.ErrNoAnswer)
	assert.ErrorIs(t, err, rpctypes.ErrNoSpace)
	kv.Release()
	assert.NilError(t, s.SaveChecksum("rm rm-1", "C"))
	assert.Equal(t, len(open(t, &kv, elect(&kv)).StoredState().Generations), 1)
}

// A leader that is elected between two attempts of a write: what was made before is stored, what was not never is
// (HAS-2).
func TestStore_OtherLeaderBetweenAttempts(t *testing.T) {
	for name, c := range map[string]struct {
		first storetest.Fault
		want  error
	}{
		"made":       {storetest.Fault{Err: rpctypes.ErrTimeout, Applied: true}, nil},
		"not made":   {storetest.Fault{Err: rpctypes.ErrTimeout}, etcdstore.ErrNotLeader},
		"on its way": {storetest.Fault{Err: rpctypes.ErrTimeout, Delayed: true}, etcdstore.ErrNotLeader},
	} {
		t.Run(name, func(t *testing.T) {
			var kv storetest.KV
			var next etcdstore.Options
			s := open(t, &kv, elect(&kv))
			kv.Fault = func(bool) storetest.Fault {
				kv.Fault = func(bool) storetest.Fault {
					kv.Fault, next = nil, elect(&kv)
					return storetest.Fault{}
				}
				return c.first
			}
			err := s.Add(generationOf(1, "one"), 1)
			stored := 0
			if c.want != nil {
				assert.ErrorIs(t, err, c.want)
			} else {
				assert.NilError(t, err)
				stored = 1
			}
			kv.Release()
			assert.Equal(t, len(open(t, &kv, next).StoredState().Generations), stored)
		})
	}
}

// Generations, checksums and what operators have switched may be stored at the same time.
func TestStore_ConcurrentCalls(t *testing.T) {
	var kv storetest.KV
	opt := elect(&kv)
	s, o := open(t, &kv, opt), openOperators(t, &kv, opt)
	var all errgroup.Group
	for n := range uint64(20) {
		all.Go(func() error { return s.Add(generationOf(n+1, "text"), 1) })
		all.Go(func() error { return s.SaveChecksum(fmt.Sprint("rm ", n), "C") })
	}
	all.Go(func() error { return o.Store("default", stopped) })
	assert.NilError(t, all.Wait())
	state := open(t, &kv, opt).StoredState()
	assert.Equal(t, len(state.Generations), 20)
	assert.Equal(t, len(state.LastChecksums), 20)
	assert.DeepEqual(t, openOperators(t, &kv, opt).First("default"), restored(stopped))
}
