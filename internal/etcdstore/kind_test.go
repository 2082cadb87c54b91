package etcdstore_test

import (
	"testing"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/etcdstore"
	"github.com/canopy-scheduler/canopy/internal/etcdstore/storetest"
)

// The first leader decides on the kind of a group; leaders of the other kind are refused, and those of a term that is over, too (HAS-7).
func TestClaim_TheFirstLeaderDecides(t *testing.T) {
	var kv storetest.KV
	first := elect(&kv)
	assert.NilError(t, etcdstore.Claim(t.Context(), &kv, first, etcdstore.LeaderOfPartition))
	assert.NilError(t, etcdstore.Claim(t.Context(), &kv, first, etcdstore.LeaderOfPartition))
	next := elect(&kv)
	assert.ErrorIs(t, etcdstore.Claim(t.Context(), &kv, first, etcdstore.LeaderOfPartition), etcdstore.ErrNotLeader)
	err := etcdstore.Claim(t.Context(), &kv, next, etcdstore.OneLeader)
	assert.ErrorIs(t, err, etcdstore.ErrOtherKind)
	assert.ErrorContains(t, err, `the key /canopy/a/kind says "spread-partitions", and this member is one of "one-leader"`)
	assert.NilError(t, etcdstore.Claim(t.Context(), &kv, next, etcdstore.LeaderOfPartition))
}

// A full etcd refuses the first claim; nothing is claimed then.
func TestClaim_FullEtcd(t *testing.T) {
	var kv storetest.KV
	opt := elect(&kv)
	kv.Fault = faults(storetest.Fault{Err: rpctypes.ErrNoSpace})
	assert.ErrorIs(t, etcdstore.Claim(t.Context(), &kv, opt, etcdstore.OneLeader), rpctypes.ErrNoSpace)
	kv.Fault = nil
	assert.NilError(t, etcdstore.Claim(t.Context(), &kv, opt, etcdstore.LeaderOfPartition))
}
