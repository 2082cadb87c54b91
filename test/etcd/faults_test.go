package etcd_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/ha/etcdstore"
	"github.com/canopy-scheduler/canopy/internal/server/reload"
	"github.com/canopy-scheduler/canopy/internal/testing/storetest"
	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/configs/queuesyaml"
	"github.com/canopy-scheduler/canopy/test/etcd/etcdprocess"
)

func generationOf(number uint64, text string) *reload.Generation {
	return &reload.Generation{Number: number, At: time.Unix(0, 0).UTC(), Source: reload.REST, Text: text}
}

// noise is a text of n bytes that is compressed to about half of them.
func noise(seed uint64, n int) string {
	random := rand.New(rand.NewPCG(seed, 0))
	text := make([]byte, n)
	for i := range text {
		text[i] = "0123456789abcdef"[random.IntN(16)]
	}
	return string(text)
}

// partitions is a reload.Cluster without partitions.
type partitions struct{ conf *configs.Config }

func (p *partitions) Config() *configs.Config { return p.conf }
func (p *partitions) Reload(_ context.Context, conf *configs.Config) (time.Duration, error) {
	p.conf = conf
	return 0, nil
}

// While etcd is down a configuration is in force and not stored, with an error that says so; when it is back the next
// one is.
func TestStore_EtcdDownAndBack(t *testing.T) {
	cluster, client := startEtcd(t)
	opt, _ := elect(t, client)
	store := open(t, client, opt)
	r := reload.New(&partitions{}, reload.Default(), reload.Options{Store: store})
	apply := func(queue string) error {
		t.Helper()
		p, err := r.Read(reload.REST, "",
			[]byte("partitions: [{name: default, queues: [{name: root, submitacl: '*', queues: [{name: "+queue+"}]}]}]"))
		assert.NilError(t, err)
		result, err := r.Apply(t.Context(), p)
		assert.NilError(t, err)
		assert.Assert(t, result.Changed)
		return result.StoreError
	}
	assert.NilError(t, apply("a"))
	for _, end := range []func() error{cluster.Stop, cluster.Kill} {
		assert.NilError(t, end())
		began := time.Now()
		assert.ErrorIs(t, apply("down"), etcdstore.ErrNoAnswer)
		assert.Assert(t, time.Since(began) < opt.Timeout+2*time.Second, "%v", time.Since(began))
		assert.Assert(t, !r.Counts().Stored)
		_, err := etcdstore.Open(t.Context(), client, opt)
		assert.ErrorContains(t, err, "etcd did not answer within 3s")
		assert.NilError(t, cluster.Start(t.Context()))
		assert.NilError(t, apply("back"))
		assert.Assert(t, r.Counts().Stored)
	}
	stored, err := open(t, client, opt).Latest(queuesyaml.Options{})
	assert.NilError(t, err)
	assert.Equal(t, stored.Text, r.Current().Text)
}

// One member of three may be missing. Without a quorum nothing is stored; when there is one again, the next generation
// is.
func TestStore_Quorum(t *testing.T) {
	cluster, client := start(t, etcdprocess.Config{Members: 3})
	opt, _ := elect(t, client)
	opt.Timeout = 10 * time.Second // the members may have to elect a leader of their own
	store := open(t, client, opt)
	assert.NilError(t, cluster.Members[0].Kill())
	assert.NilError(t, store.Add(generationOf(1, "two of three"), 1))
	assert.NilError(t, cluster.Members[1].Stop())
	assert.ErrorIs(t, store.Add(generationOf(2, "one of three"), 1), etcdstore.ErrNoAnswer)
	assert.NilError(t, cluster.Start(t.Context()))
	assert.NilError(t, store.Add(generationOf(3, "all"), 1))
	state := open(t, client, opt).StoredState()
	assert.Equal(t, state.Generations[len(state.Generations)-1].Text, "all")
	assert.NilError(t, cluster.Stop())
}

// While etcd is killed and stopped at random, what is answered is stored, what is not may be, and nothing arrives after
// a later step.
func TestRandomFaults_OrderIsKept(t *testing.T) {
	cluster, client := startEtcd(t)
	member := cluster.Members[0]
	opt, _ := elect(t, client)
	opt.Timeout = time.Second
	store := open(t, client, opt)
	const seed = 7
	random := rand.New(rand.NewPCG(seed, 0))
	possible := [][]storetest.Step{nil} // the steps that have taken effect are those of one of these
	unanswered := 0
	for i, step := range storetest.Steps(random, 60) {
		fault := random.IntN(8)
		switch fault {
		case 0:
			assert.NilError(t, member.Kill())
		case 1, 2:
			assert.NilError(t, member.Signal(syscall.SIGSTOP))
		}
		recover := make(chan error, 1)
		after := time.AfterFunc(time.Duration(random.Int64N(int64(2*opt.Timeout))), func() {
			switch fault {
			case 0:
				recover <- member.Start(context.Background())
			case 1, 2:
				recover <- member.Signal(syscall.SIGCONT)
			default:
				recover <- nil
			}
		})
		if fault > 2 {
			after.Stop()
			recover <- nil
		}
		err := step.Do(store)
		assert.NilError(t, <-recover)
		with := make([][]storetest.Step, len(possible))
		for j, before := range possible {
			with[j] = append(append([]storetest.Step{}, before...), step)
		}
		if err != nil {
			assert.ErrorIs(t, err, etcdstore.ErrNoAnswer, "seed %d, step %d", seed, i)
			unanswered++
			possible = append(possible, with...)
			continue
		}
		state := open(t, client, opt).StoredState()
		for _, steps := range with {
			var model storetest.Model
			for _, s := range steps {
				assert.NilError(t, s.Do(&model))
			}
			if reflect.DeepEqual(state, model.StoredState()) {
				possible = [][]storetest.Step{steps}
				break
			}
		}
		assert.Equal(t, len(possible), 1, "seed %d, step %d: etcd has something else: %v", seed, i, state)
	}
	assert.Assert(t, unanswered > 0, "seed %d: each step was answered", seed)
}

// An etcd without space takes nothing, says why, and keeps what it has; when it has space again the next one is stored.
func TestStore_FullEtcdIsExplained(t *testing.T) {
	_, client := startEtcd(t, "--quota-backend-bytes=16777216")
	opt, _ := elect(t, client)
	store := open(t, client, opt)
	var err error
	number := uint64(0)
	for err == nil && number < 40 {
		number++
		// what is deleted takes space until etcd is compacted
		err = store.Add(generationOf(number, noise(number, 1<<20)), number)
	}
	assert.ErrorIs(t, err, rpctypes.ErrNoSpace)
	assert.ErrorContains(t, err,
		"takes no writes until it is compacted and defragmented, or has a larger --quota-backend-bytes, and its alarm is "+
			"disarmed")
	assert.ErrorIs(t, store.SaveChecksum("rm rm-1", "C"), rpctypes.ErrNoSpace)
	stored := open(t, client, opt).StoredState()
	assert.Equal(t, len(stored.Generations), 1)
	assert.Equal(t, stored.Generations[0].Number, number-1)

	got, err := client.Get(t.Context(), leaderKey)
	assert.NilError(t, err)
	_, err = client.Compact(t.Context(), got.Header.Revision, clientv3.WithCompactPhysical())
	assert.NilError(t, err)
	_, err = client.Defragment(t.Context(), client.Endpoints()[0])
	assert.NilError(t, err)
	_, err = client.AlarmDisarm(t.Context(), &clientv3.AlarmMember{})
	assert.NilError(t, err)
	assert.NilError(t, store.Add(generationOf(number, "small"), number))
	assert.Equal(t, open(t, client, opt).StoredState().Generations[0].Text, "small")
}

// A generation that etcd, or its client, does not take is an error with its size; one that just fits is stored.
func TestStore_TooLargeIsNamed(t *testing.T) {
	_, client := startEtcd(t)
	opt, _ := elect(t, client)
	store := open(t, client, opt)
	assert.NilError(t, store.Add(generationOf(1, noise(1, 2_600_000)), 1))
	for _, length := range []int{3_400_000, 6_000_000} {
		err := store.Add(generationOf(2, noise(2, length)), 1)
		assert.ErrorContains(t, err, "bytes compressed, and etcd takes 1572864 bytes by default (--max-request-bytes)")
		assert.Assert(t, !errors.Is(err, etcdstore.ErrNoAnswer), "%v", err)
		assert.Assert(t, strings.HasPrefix(err.Error(), "generation 2 of the history"), "%v", err)
	}
	assert.Equal(t, len(open(t, client, opt).StoredState().Generations), 1)
}
