package etcdstore_test

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/ha/etcdstore"
	"github.com/canopy-scheduler/canopy/internal/server/reload"
	"github.com/canopy-scheduler/canopy/internal/testing/storetest"
	"github.com/canopy-scheduler/canopy/internal/testing/testscale"
)

// A randomRun makes random steps on a Store, and those that have taken effect, in the order in which they have, on a
// Model.
type randomRun struct {
	t      *testing.T
	seed   uint64
	random *rand.Rand
	kv     storetest.KV
	opt    etcdstore.Options
	store  *etcdstore.Store
	model  storetest.Model
	made   int // how many of kv.Committed the model has
	faulty int // how many transactions from now on fail; full: each write does
	steps  []storetest.Step
	counts map[string]int
}

// Whatever fails, each step takes effect at most once, in the order of the steps, and if it is answered without an
// error; none does after the term (HAS-2, HAS-3).
func TestRandomRuns_WithFaults(t *testing.T) {
	counts := map[string]int{}
	for seed := range uint64(testscale.Runs(200)) {
		synctest.Test(t, func(t *testing.T) {
			r := &randomRun{t: t, seed: seed, random: rand.New(rand.NewPCG(seed, 0)), counts: counts}
			r.run()
		})
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	for _, what := range []string{"stored", "no answer, and not stored", "no answer, and stored later", "no space",
		"not leader", "opened"} {
		assert.Assert(t, counts[what] >= testscale.Runs(50), "%s: only %d times: %v", what, counts[what], counts)
	}
}

func (r *randomRun) run() {
	r.kv.Fault = r.fault
	r.opt = etcdstore.Options{Prefix: "/canopy/a", LeaderKey: "/canopy/a/leader"}
	r.opt.Epoch = r.kv.Elect(r.opt.LeaderKey, "first")
	r.open()
	r.steps = storetest.Steps(r.random, 40)
	var unanswered []int // the steps that were not answered since the last one that was
	for i, step := range r.steps {
		number := i + 1
		r.kv.Label = number
		r.faulty = []int{0, 0, r.random.IntN(4), 200, full}[r.random.IntN(5)]
		if r.random.IntN(12) == 0 {
			r.changeLeader(step)
			unanswered = nil
			continue
		}
		before := len(r.kv.Committed())
		err := step.Do(r.store)
		r.faulty = 0
		done := slices.Contains(r.kv.Committed()[before:], number)
		switch {
		case err == nil:
			assert.Assert(r.t, done, "seed %d: step %d was answered and is not stored", r.seed, number)
			r.counts["stored"]++
			unanswered = nil
		case errors.Is(err, rpctypes.ErrNoSpace) && !errors.Is(err, etcdstore.ErrNoAnswer):
			assert.Assert(r.t, !done, "seed %d: step %d has an error and is stored", r.seed, number)
			r.counts["no space"]++
		default:
			assert.ErrorIs(r.t, err, etcdstore.ErrNoAnswer, "seed %d", r.seed)
			unanswered = append(unanswered, number)
			if !done {
				r.counts["no answer, and not stored"]++
			}
		}
		if r.random.IntN(2) == 0 {
			before := len(r.kv.Committed())
			r.kv.Release()
			if len(r.kv.Committed()) > before {
				late := r.kv.Committed()[before:]
				assert.Assert(r.t, len(late) == 1 && slices.Contains(unanswered, late[0]), "seed %d: %v was stored late at step %d",
					r.seed, late, number)
				r.counts["no answer, and stored later"]++
			}
		}
		if r.random.IntN(8) == 0 {
			r.open()
		}
	}
	r.open()
}

// full is a value of randomRun.faulty: etcd has no space. It may make the transaction with which it notes that.
const full = -1

// fault makes transactions fail while there are faults left.
func (r *randomRun) fault(mayWrite bool) storetest.Fault {
	switch {
	case r.faulty == full && mayWrite:
		return storetest.Fault{Err: rpctypes.ErrNoSpace, Applied: r.random.IntN(4) == 0}
	case r.faulty <= 0:
		return storetest.Fault{}
	}
	r.faulty--
	f := storetest.Fault{Err: rpctypes.ErrTimeout, Applied: r.random.IntN(30) == 0}
	switch r.random.IntN(12) {
	case 0:
		return storetest.Fault{Hangs: true, Applied: f.Applied}
	case 1, 2, 3, 4:
		f.Delayed = true
	case 5:
		if r.faulty < 10 {
			return storetest.Fault{}
		}
	}
	return f
}

// changeLeader makes another leader: the step must fail and nothing be written, now or when something arrives late.
func (r *randomRun) changeLeader(step storetest.Step) {
	r.faulty = min(r.faulty, 3)
	former, before := r.opt.Epoch, r.kv.Committed()
	r.opt.Epoch = r.kv.Elect(r.opt.LeaderKey, "next")
	err := step.Do(r.store)
	r.faulty = 0
	if !errors.Is(err, rpctypes.ErrNoSpace) {
		assert.ErrorIs(r.t, err, etcdstore.ErrNotLeader, "seed %d", r.seed)
		assert.ErrorContains(r.t, err, r.opt.LeaderKey)
		r.counts["not leader"]++
	}
	r.kv.Release()
	assert.DeepEqual(r.t, r.kv.Committed(), before)
	opt := r.opt
	opt.Epoch = former
	_, err = etcdstore.Open(r.t.Context(), &r.kv, opt)
	assert.ErrorIs(r.t, err, etcdstore.ErrNotLeader, "seed %d", r.seed)
	r.open()
}

// open opens the Store again, and compares it with the steps that have taken effect.
func (r *randomRun) open() {
	if r.store != nil {
		assert.NilError(r.t, r.store.Close())
	}
	store, err := etcdstore.Open(r.t.Context(), &r.kv, r.opt)
	assert.NilError(r.t, err, "seed %d", r.seed)
	r.store = store
	r.counts["opened"]++

	committed := r.kv.Committed()
	for ; r.made < len(committed); r.made++ {
		if r.made > 0 {
			assert.Assert(r.t, committed[r.made] > committed[r.made-1], "seed %d: the steps have taken effect in the order %v",
				r.seed, committed)
		}
		assert.NilError(r.t, r.steps[committed[r.made]-1].Do(&r.model))
	}
	assert.DeepEqual(r.t, store.StoredState(), r.model.StoredState())
}

// The same random steps on a Store and on a Disk lead to the same state.
func TestRandomSteps_EqualDisk(t *testing.T) {
	for seed := range uint64(testscale.Runs(20)) {
		random := rand.New(rand.NewPCG(seed, 1))
		kv, dir, model := &storetest.KV{}, t.TempDir(), &storetest.Model{}
		opt := etcdstore.Options{Prefix: "a", LeaderKey: "leader", Epoch: kv.Elect("leader", "")}
		steps := storetest.Steps(random, 40)
		for from := 0; ; from += 20 {
			disk, err := reload.OpenDisk(dir)
			assert.NilError(t, err)
			store, err := etcdstore.Open(t.Context(), kv, opt)
			assert.NilError(t, err)
			assert.DeepEqual(t, store.StoredState(), disk.StoredState())
			assert.DeepEqual(t, store.StoredState(), model.StoredState())
			for _, step := range steps[from:min(from+20, len(steps))] {
				for _, s := range []reload.Store{disk, store, model} {
					assert.NilError(t, step.Do(s), "seed %d", seed)
				}
			}
			assert.NilError(t, errors.Join(disk.Close(), store.Close()))
			if from == len(steps) {
				break
			}
		}
	}
}
