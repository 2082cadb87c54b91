package etcdstore_test

import (
	"testing"
	"testing/synctest"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/ha/etcdstore"
	"github.com/canopy-scheduler/canopy/internal/server/operators"
	"github.com/canopy-scheduler/canopy/internal/testing/storetest"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

var (
	stopped = scheduler.OperatorState{Stopped: []objects.QueuePath{"root.a"}}
	drained = scheduler.OperatorState{Draining: []objects.NodeID{"node-1"}, Admitted: []objects.AppID{"app-1"}}
)

func openOperators(t *testing.T, kv *storetest.KV, opt etcdstore.Options) *operators.Store {
	t.Helper()
	text, err := etcdstore.OpenText(t.Context(), kv, opt, "operators")
	assert.NilError(t, err)
	o, err := operators.NewStore(text)
	assert.NilError(t, err)
	t.Cleanup(func() { assert.NilError(t, o.Close()) })
	return o
}

func restored(s scheduler.OperatorState) []scheduler.Command {
	return []scheduler.Command{scheduler.RestoreOperators{State: s}}
}

// The next leader begins with what operators have switched under the one before, which cannot change it any more
// (HAS-6).
func TestOperators_NextLeaderBeginsWithThem(t *testing.T) {
	var kv storetest.KV
	former := openOperators(t, &kv, elect(&kv))
	assert.Equal(t, len(former.First("default")), 0)
	assert.NilError(t, former.Store("default", stopped))
	assert.NilError(t, former.Store("other", drained))
	assert.NilError(t, former.Store("default", scheduler.OperatorState{}))
	assert.NilError(t, former.Store("default", stopped))

	next := openOperators(t, &kv, elect(&kv))
	assert.DeepEqual(t, next.First("default"), restored(stopped))
	assert.DeepEqual(t, next.First("other"), restored(drained))
	assert.DeepEqual(t, next.Applications()["other"], []objects.AppID{"app-1"})
	err := former.Store("default", drained)
	assert.ErrorIs(t, err, etcdstore.ErrNotLeader)
	assert.ErrorContains(t, err, "the key /canopy/a/operators in etcd: another leader was elected")
	assert.DeepEqual(t, openOperators(t, &kv, elect(&kv)).First("default"), restored(stopped))
}

// A write that was not answered and arrives late does not undo a later one, also if that changes nothing otherwise
// (HAS-3).
func TestOperators_LateWriteUndoesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var kv storetest.KV
		o := openOperators(t, &kv, elect(&kv))
		assert.NilError(t, o.Store("default", stopped))
		kv.Fault = func(mayWrite bool) storetest.Fault { return storetest.Fault{Hangs: true, Delayed: mayWrite} }
		assert.ErrorIs(t, o.Store("default", drained), etcdstore.ErrNoAnswer)
		kv.Fault = faults(storetest.Fault{Err: rpctypes.ErrNoSpace})
		assert.ErrorIs(t, o.Store("default", stopped), rpctypes.ErrNoSpace, "the key has this text, but will it keep it?")
		kv.Fault = nil
		assert.NilError(t, o.Store("default", stopped))
		kv.Release()
		assert.DeepEqual(t, openOperators(t, &kv, elect(&kv)).First("default"), restored(stopped))
	})
}

func TestOpenText_DamageIsNamed(t *testing.T) {
	var kv storetest.KV
	assert.NilError(t, openOperators(t, &kv, elect(&kv)).Store("default", stopped))
	value := []byte(kv.Value("/canopy/a/operators"))
	value[len(value)-1] ^= 1
	for text, want := range map[string]string{string(value): "the checksum does not match", "x": "it is not of the format",
		"": "it is not of the format"} {
		kv.Put("/canopy/a/operators", text)
		_, err := etcdstore.OpenText(t.Context(), &kv, elect(&kv), "operators")
		assert.ErrorContains(t, err, "the key /canopy/a/operators in etcd is damaged: "+want)
	}
	kv.Fault = func(bool) storetest.Fault { return storetest.Fault{Err: rpctypes.ErrPermissionDenied} }
	_, err := etcdstore.OpenText(t.Context(), &kv, elect(&kv), "operators")
	assert.ErrorIs(t, err, rpctypes.ErrPermissionDenied)
	assert.ErrorContains(t, err, "the key /canopy/a/operators in etcd cannot be read")
}
