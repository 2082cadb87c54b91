package election_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/ha/election"
	"github.com/canopy-scheduler/canopy/internal/testing/memstore"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// startCampaign starts a member on the clock of the bubble.
func startCampaign(store election.Store, name string) *election.Campaign {
	begin := time.Now()
	return election.Start(election.Options{
		Store: store, Self: election.Leader{Name: name}, TTL: ttl,
		Now: func() election.Instant { return election.Instant(time.Since(begin)) },
	})
}

// One of two members leads, and renews its lease.
func TestCampaign_OneLeads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(memstore.Store)
		a, b := startCampaign(store, "a"), startCampaign(store, "b")
		defer a.Close()
		defer b.Close()
		synctest.Wait()
		assert.Assert(t, a.Status().Term == nil && b.Status().Term == nil, "nothing may lead before Resume")
		a.Resume()
		synctest.Wait()
		b.Resume()
		time.Sleep(10 * ttl)
		assert.Equal(t, a.Status().Term.Epoch(), int64(1))
		assert.Equal(t, a.Status().Leader.Name, "a")
		assert.Assert(t, b.Status().Term == nil)
		assert.Equal(t, b.Status().Leader.Name, "a")
	})
}

// A successor leads at once when the leader closes, and not before.
func TestCampaign_CloseHandsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(memstore.Store)
		a, b := startCampaign(store, "a"), startCampaign(store, "b")
		defer b.Close()
		a.Resume()
		synctest.Wait()
		b.Resume()
		synctest.Wait()
		term := a.Status().Term
		a.Close()
		assert.Assert(t, !term.MaySend(0))
		synctest.Wait() // no time passes
		assert.Equal(t, b.Status().Term.Epoch(), int64(3))
		a.Resume() // has no effect any more
	})
}

// A leader that does not reach the store ends its term at the deadline, and leads again when the store is back.
func TestCampaign_StoreIsNotReached(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(memstore.Store)
		a := startCampaign(store, "a")
		defer a.Close()
		a.Resume()
		synctest.Wait()
		store.SetReachable(false)
		time.Sleep(9*time.Second - 1)
		assert.Assert(t, a.Status().Term != nil)
		assert.ErrorIs(t, a.Status().Err, memstore.ErrUnreachable)
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		assert.Assert(t, a.Status().Term == nil)
		assert.Equal(t, a.Status().Ended, election.DeadlinePassed)
		store.SetReachable(true)
		store.Expire()
		a.Resume()
		time.Sleep(ttl / 10)
		assert.Assert(t, a.Status().Term != nil)
		assert.NilError(t, a.Status().Err)
	})
}

// A change of the status is reported, and a lease that the store has ended costs the term.
func TestCampaign_ReportsChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(memstore.Store)
		a := startCampaign(store, "a")
		defer a.Close()
		a.Resume()
		changed := func(is func() bool) {
			late := time.After(ttl)
			for !is() {
				select {
				case <-a.Changed():
				case <-late:
					t.Fatal("no change is reported")
				}
			}
		}
		changed(func() bool { return a.Status().Term != nil })
		store.Expire()
		changed(func() bool { return a.Status().Term == nil })
		assert.Equal(t, a.Status().Ended, election.KeyChanged)
	})
}

// A store that says that the lease has ended has answered.
func TestCampaign_LostLeaseIsAnAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := startCampaign(losesLeases{new(memstore.Store)}, "a")
		defer a.Close()
		a.Resume()
		time.Sleep(ttl / 2)
		assert.Equal(t, a.Status().Ended, election.LeaseLost)
		assert.NilError(t, a.Status().Err)
	})
}

// losesLeases is a store in which no lease can be renewed.
type losesLeases struct{ *memstore.Store }

// Do is part of election.Store.
func (s losesLeases) Do(ctx context.Context, r election.Request) election.Answer {
	if r.Op == election.Renew {
		return election.Answer{Err: election.ErrLeaseLost}
	}
	return s.Store.Do(ctx, r)
}

// The clock of members goes on.
func TestNow_Rises(t *testing.T) {
	first := election.Now()
	for election.Now() == first {
	}
	assert.Assert(t, election.Now() > first)
}
