package etcd_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/ha/etcdstore"
	"github.com/canopy-scheduler/canopy/internal/server/operators"
	"github.com/canopy-scheduler/canopy/internal/server/reload"
	"github.com/canopy-scheduler/canopy/internal/testing/storetest"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// The same random steps on etcd, which is compacted and gets other leaders meanwhile, and on a disk lead to the same
// state.
func TestRandomSteps_EqualDisk(t *testing.T) {
	_, client := startEtcd(t, "--unsafe-no-fsync")
	for seed := range uint64(5) {
		_, err := client.Delete(t.Context(), "", clientv3.WithPrefix())
		assert.NilError(t, err)
		random, dir := rand.New(rand.NewPCG(seed, 2)), t.TempDir()
		steps := storetest.Steps(random, 60)
		for from := 0; ; from += 20 {
			opt, _ := elect(t, client)
			store := open(t, client, opt)
			disk, err := reload.OpenDisk(dir)
			assert.NilError(t, err)
			assert.DeepEqual(t, store.StoredState(), disk.StoredState())
			for _, step := range steps[from:min(from+20, len(steps))] {
				assert.NilError(t, step.Do(store), "seed %d", seed)
				assert.NilError(t, step.Do(disk), "seed %d", seed)
				if random.IntN(10) == 0 {
					got, err := client.Get(t.Context(), leaderKey)
					assert.NilError(t, err)
					_, err = client.Compact(t.Context(), got.Header.Revision)
					assert.NilError(t, err)
				}
			}
			assert.NilError(t, disk.Close())
			if from == len(steps) {
				break
			}
		}
	}
}

func openOperators(t *testing.T, client *clientv3.Client, opt etcdstore.Options) *operators.Store {
	t.Helper()
	text, err := etcdstore.OpenText(t.Context(), client, opt, "operators")
	assert.NilError(t, err)
	store, err := operators.NewStore(text)
	assert.NilError(t, err)
	return store
}

// When the lease has ended nothing is written, and neither is for a leader after another one.
func TestStore_EndOfTheLeaseIsTheEnd(t *testing.T) {
	_, client := startEtcd(t)
	opt, lease := elect(t, client)
	store := open(t, client, opt)
	switched := openOperators(t, client, opt)
	stopped := scheduler.OperatorState{Stopped: []objects.QueuePath{"root.a"}}
	assert.NilError(t, store.Add(generationOf(1, "one"), 1))
	assert.NilError(t, switched.Store("default", stopped))
	_, err := client.Revoke(t.Context(), lease)
	assert.NilError(t, err)

	refused := func() {
		t.Helper()
		assert.ErrorIs(t, store.Add(generationOf(2, "two"), 1), etcdstore.ErrNotLeader)
		assert.ErrorIs(t, store.SaveChecksum("rm rm-1", "C"), etcdstore.ErrNotLeader)
		assert.ErrorIs(t, switched.Store("default", scheduler.OperatorState{}), etcdstore.ErrNotLeader)
		_, err := etcdstore.Open(t.Context(), client, opt)
		assert.ErrorIs(t, err, etcdstore.ErrNotLeader)
	}
	refused()
	next, _ := elect(t, client)
	refused()
	state := open(t, client, next).StoredState()
	assert.Equal(t, len(state.Generations), 1)
	assert.Equal(t, len(state.LastChecksums), 0)
	assert.DeepEqual(t, openOperators(t, client, next).First("default"),
		[]scheduler.Command{scheduler.RestoreOperators{State: stopped}})
}

// The etcd in memory, with which the unit tests run, answers random transactions as a real one does.
func TestKV_AnswersAsEtcd(t *testing.T) {
	_, client := startEtcd(t, "--unsafe-no-fsync")
	var fake storetest.KV
	random := rand.New(rand.NewPCG(3, 0))
	revision := int64(1)
	succeeded := map[bool]int{}
	for i := range 2000 {
		key := func() string { return fmt.Sprintf("key/%d", random.IntN(5)) }
		near := func() int64 { return max(0, revision-random.Int64N(4)) * random.Int64N(2) }
		compares := []clientv3.Cmp{
			clientv3.Compare(clientv3.CreateRevision(key()), "=", near()),
			clientv3.Compare(clientv3.ModRevision(key()), "=", near()),
		}[random.IntN(2):]
		if random.IntN(2) == 0 {
			compares = nil
		}
		ops := func() (all []clientv3.Op) {
			for range random.IntN(4) {
				switch random.IntN(4) {
				case 0:
					all = append(all, clientv3.OpDelete(key(), clientv3.WithRange(key())))
				case 1:
					all = append(all, clientv3.OpGet("key/", clientv3.WithPrefix()))
				case 2:
					all = append(all, clientv3.OpGet(key()))
				default:
					all = append(all, clientv3.OpPut(key(), []string{"", "a", "b"}[random.IntN(3)]))
				}
			}
			return all
		}
		then, orElse := ops(), ops()
		want, wantErr := client.Txn(t.Context()).If(compares...).Then(then...).Else(orElse...).Commit()
		got, gotErr := fake.Txn(t.Context()).If(compares...).Then(then...).Else(orElse...).Commit()
		assert.Equal(t, fmt.Sprint(gotErr), fmt.Sprint(wantErr), "transaction %d", i)
		if wantErr != nil {
			continue
		}
		revision = want.Header.Revision
		succeeded[want.Succeeded]++
		assert.Equal(t, got.Header.Revision, revision, "transaction %d", i)
		assert.Equal(t, got.Succeeded, want.Succeeded, "transaction %d", i)
		assert.Equal(t, len(got.Responses), len(want.Responses))
		for j := range want.Responses {
			w, g := want.Responses[j], got.Responses[j]
			assert.Equal(t, fmt.Sprintf("%T", g.Response), fmt.Sprintf("%T", w.Response))
			assert.Equal(t, g.GetResponseDeleteRange().GetDeleted(), w.GetResponseDeleteRange().GetDeleted())
			assert.Assert(t,
				slices.EqualFunc(g.GetResponseRange().GetKvs(), w.GetResponseRange().GetKvs(), func(a, b *mvccpb.KeyValue) bool {
					return a.String() == b.String()
				}), "transaction %d: %v, and etcd %v", i, g, w)
		}
	}
	assert.Assert(t, succeeded[true] > 100 && succeeded[false] > 100, "%v", succeeded)
}
