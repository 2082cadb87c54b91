package etcd_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/reload"
	"github.com/canopy-scheduler/canopy/internal/spread"
	"github.com/canopy-scheduler/canopy/internal/spread/memstore"
)

// The store in memory, with which other tests run, does with random calls what the one in etcd does.
func TestSpread_MemoryAnswersAsEtcd(t *testing.T) {
	_, client := startEtcd(t, "--unsafe-no-fsync")
	const seed, processes = 4, 3
	random := rand.New(rand.NewPCG(seed, 0))
	var group memstore.Group
	var memory, real [processes]spread.Store
	for i := range processes {
		memory[i], real[i] = group.Member(), spreadStore(client)
	}
	opt, _ := elect(t, client)
	epochs := [][2]int64{{0, 0}, {group.Elect(), opt.Epoch}} // in memory, in etcd
	numbers := map[string]int{}
	proposals := [][2]int64{{0, 0}, {7, 7}} // in memory, in etcd
	for step := range 600 {
		i, ctx := random.IntN(processes), t.Context()
		what, inMemory, inEtcd := "", error(nil), error(nil)
		do := func(name string, call func(s spread.Store, which int) error) {
			what, inMemory, inEtcd = name, call(memory[i], 0), call(real[i], 1)
		}
		name := fmt.Sprintf("m/%d", random.IntN(2))
		switch random.IntN(13) {
		case 0:
			do("withdraw", func(s spread.Store, _ int) error { return s.Withdraw(ctx) })
		case 1:
			what = "expire"
			group.Expire(name)
			got, err := client.Get(ctx, spreadPrefix+"/members/"+map[string]string{"m/0": "m%2F0", "m/1": "m%2F1"}[name])
			assert.NilError(t, err)
			for _, kv := range got.Kvs {
				_, err = client.Revoke(ctx, clientv3.LeaseID(kv.Lease))
				assert.NilError(t, err)
			}
		case 2:
			what = "elect"
			opt, _ = elect(t, client)
			epochs = append(epochs, [2]int64{group.Elect(), opt.Epoch})
		case 3:
			what = "configure"
			number := uint64(step + 1)
			group.SetGeneration(number)
			store := open(t, client, opt)
			assert.NilError(t, store.Add(&reload.Generation{Number: number, Source: reload.REST}, number))
		case 4, 5, 6:
			m := spread.Member{Name: name, GRPC: fmt.Sprint(random.IntN(2)), Leads: map[string]float64{"a": float64(random.IntN(2))}, Checked: int64(random.IntN(2))}
			if m.Checked > 0 {
				m.Objections = map[string]string{"a": fmt.Sprint("no ", random.IntN(2))}
			}
			do("announce", func(s spread.Store, _ int) error { return s.Announce(ctx, m) })
		case 7, 8:
			epoch, text := epochs[max(0, len(epochs)-1-random.IntN(3)/2)], fmt.Appendf(nil, "%*d", random.IntN(2)*8, step%10)
			if random.IntN(3) == 0 {
				text = nil
			}
			var number [2]int64
			do("propose", func(s spread.Store, which int) (err error) {
				number[which], err = s.Propose(ctx, epoch[which], text)
				return err
			})
			if inMemory == nil && len(text) > 0 {
				proposals = append(proposals, number)
			}
		case 9:
			number := proposals[max(0, len(proposals)-1-random.IntN(3))]
			var texts [2]string
			do("proposed", func(s spread.Store, which int) error {
				text, err := s.Proposed(ctx, number[which])
				texts[which] = string(text)
				return err
			})
			assert.Equal(t, texts[1], texts[0])
		default:
			epoch := epochs[max(0, len(epochs)-1-random.IntN(3)/2)]
			a := spread.Assignment{Round: group.State().Assignment.Round + uint64(random.IntN(3))/2 + uint64(random.IntN(2))}
			if random.IntN(2) == 0 {
				a.Members = map[string]string{"a": name}
			}
			do("assign", func(s spread.Store, which int) error { return s.Assign(ctx, epoch[which], a) })
		}
		assert.Equal(t, kindOf(inEtcd), kindOf(inMemory), "seed %d, step %d: %s: %v, and in memory %v", seed, step, what, inEtcd, inMemory)
		numbers[what+" "+kindOf(inMemory)]++
		got, want := next(t, real[i], 0), next(t, memory[i], 0)
		if want.Proposal != 0 {
			last := proposals[len(proposals)-1]
			assert.Equal(t, want.Proposal, last[0])
			assert.Equal(t, got.Proposal, last[1])
			assert.Assert(t, got.Revision >= got.Proposal)
			got.Proposal, want.Proposal = 0, 0
		}
		got.Revision, want.Revision = 0, 0
		assert.DeepEqual(t, got, want)
	}
	t.Log(numbers)
	for _, what := range []string{
		"announce ok", "announce taken", "announce other", "withdraw ok", "assign ok", "assign not the coordinator", "assign stale",
		"propose ok", "propose not the coordinator", "proposed ok", "proposed no proposal",
	} {
		assert.Check(t, numbers[what] > 5, "%q: %v", what, numbers)
	}
}

// kindOf is which error it is.
func kindOf(err error) string {
	switch {
	case err == nil:
		return "ok"
	case errors.Is(err, spread.ErrNameTaken):
		return "taken"
	case errors.Is(err, spread.ErrNotCoordinator):
		return "not the coordinator"
	case errors.Is(err, spread.ErrStale):
		return "stale"
	case errors.Is(err, spread.ErrNoProposal):
		return "no proposal"
	}
	return "other"
}
