package election_test

import (
	"errors"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/ha/election"
)

var errStore = errors.New("the store has failed")

// exchange is a candidate and what it has asked.
type exchange struct {
	t *testing.T
	*election.Candidate
	now   election.Instant
	asked map[election.Op]election.Request // the last of each kind that is not answered
}

func newExchange(t *testing.T) *exchange {
	c := &exchange{t: t, Candidate: election.NewCandidate(election.Leader{Name: "a"}, ttl),
		asked: map[election.Op]election.Request{}}
	c.does(c.Start(c.now))
	return c
}

func (c *exchange) does(requests []election.Request) {
	for _, r := range requests {
		c.asked[r.Op] = r
	}
}

// answer answers the request of a kind that is under way.
func (c *exchange) answer(op election.Op, a election.Answer) {
	c.t.Helper()
	r, ok := c.asked[op]
	assert.Assert(c.t, ok, "nothing has been asked of kind %d", op)
	delete(c.asked, op)
	a.ID = r.ID
	c.does(c.Handle(c.now, a))
}

// has reports whether a request of a kind is under way.
func (c *exchange) has(op election.Op) bool { _, ok := c.asked[op]; return ok }

// lead makes the candidate the leader in epoch 5; the lease was granted after a second.
func (c *exchange) lead() {
	c.t.Helper()
	c.does(c.Resume(c.now))
	c.answer(election.Read, election.Answer{})
	c.now = c.now.Add(time.Second)
	c.answer(election.Grant, election.Answer{Lease: 7, TTL: ttl})
	c.answer(election.Create, election.Answer{Epoch: 5})
	assert.Assert(c.t, c.Term() != nil)
}

// after is an instant after the start.
func after(d time.Duration) election.Instant { return election.Instant(d) }

func TestMargin_CoversClocksAndTheWrite(t *testing.T) {
	assert.Equal(t, election.Margin(10*time.Second), time.Second)
	assert.Equal(t, election.Margin(time.Second), 200*time.Millisecond)
}

// The deadline counts from when the lease was asked for, not from its answer.
func TestCandidate_DeadlineCountsFromTheRequest(t *testing.T) {
	c := newExchange(t)
	c.lead()
	term := c.Term()
	assert.Equal(t, term.Epoch(), int64(5))
	assert.Equal(t, term.Deadline(), after(9*time.Second))
	assert.Assert(t, term.MaySend(after(9*time.Second)-1) && !term.MaySend(after(9*time.Second)))

	c.now = after(4 * time.Second)
	c.does(c.Tick(c.now))
	c.now = after(6 * time.Second)
	c.answer(election.Renew, election.Answer{TTL: ttl})
	assert.Equal(t, term.Deadline(), after(13*time.Second))
	assert.Equal(t, c.Next(), after(4*time.Second).Add(ttl/3))
}

// A renewal that fails is tried again soon, and not after another third of the time to live.
func TestCandidate_RetriesARenewal(t *testing.T) {
	c := newExchange(t)
	c.lead()
	c.now = c.Next()
	assert.Equal(t, c.now, after(ttl/3))
	c.does(c.Tick(c.now))
	c.answer(election.Renew, election.Answer{Err: errStore})
	assert.Equal(t, c.Next(), c.now.Add(ttl/20))
	c.now = c.Next()
	c.does(c.Tick(c.now))
	assert.Assert(t, c.has(election.Renew))
	assert.Equal(t, c.Term().Deadline(), after(9*time.Second))
}

func TestCandidate_EndsTheTerm(t *testing.T) {
	for name, x := range map[string]struct {
		why  election.Ended
		does func(c *exchange)
	}{
		"at its deadline": {election.DeadlinePassed, func(c *exchange) {
			c.now = c.Term().Deadline()
			c.does(c.Tick(c.now))
		}},
		"at its deadline, when an answer comes first": {election.DeadlinePassed, func(c *exchange) {
			c.now = after(4 * time.Second)
			c.does(c.Tick(c.now))
			c.now = c.Term().Deadline()
			c.answer(election.Renew, election.Answer{TTL: ttl})
		}},
		"when the lease has ended": {election.LeaseLost, func(c *exchange) {
			c.now = after(4 * time.Second)
			c.does(c.Tick(c.now))
			c.answer(election.Renew, election.Answer{Err: election.ErrLeaseLost})
		}},
		"when the key changes": {election.KeyChanged, func(c *exchange) {
			c.answer(election.Watch, election.Answer{})
		}},
		"when another key is there after a watch has failed": {election.KeyChanged, func(c *exchange) {
			c.answer(election.Watch, election.Answer{Err: errStore})
			c.now = c.Next()
			c.does(c.Tick(c.now))
			c.answer(election.Read, election.Answer{Found: true, Epoch: 6})
		}},
		"when it resigns": {election.Resigned, func(c *exchange) { c.does(c.Resign(c.now)) }},
	} {
		t.Run(name, func(t *testing.T) {
			c := newExchange(t)
			c.lead()
			term := c.Term()
			x.does(c)
			assert.Assert(t, c.Term() == nil && !term.MaySend(0))
			assert.Equal(t, c.Ended(), x.why)
			assert.Equal(t, c.asked[election.Revoke].Lease, election.LeaseID(7))
			c.answer(election.Read, election.Answer{}) // there is no leader
			assert.Assert(t, !c.has(election.Grant), "it campaigns before Resume")
			c.does(c.Resume(c.now))
			c.answer(election.Read, election.Answer{})
			assert.Assert(t, c.has(election.Grant))
		})
	}
}

// A process that ends waits for its lease to be given back: not longer than 2 s, however long the lease.
func TestCandidate_GivingBackIsBounded(t *testing.T) {
	long := election.NewCandidate(election.Leader{}, 5*time.Minute)
	c := &exchange{t: t, Candidate: long, asked: map[election.Op]election.Request{}}
	c.does(c.Start(0))
	c.lead()
	c.does(c.Resign(c.now))
	assert.Equal(t, c.asked[election.Revoke].Timeout, 2*time.Second)
}

// A leader whose watch has failed goes on while its key is there.
func TestCandidate_WatchesItsKeyAgain(t *testing.T) {
	c := newExchange(t)
	c.lead()
	c.answer(election.Watch, election.Answer{Err: errStore})
	c.now = c.Next()
	c.does(c.Tick(c.now))
	c.answer(election.Read, election.Answer{Found: true, Epoch: 5, Revision: 9})
	assert.Equal(t, c.asked[election.Watch].Revision, int64(9))
	assert.Assert(t, c.Term() != nil)
}

// A key whose creation took until the deadline begins no term.
func TestCandidate_LateKeyIsGivenBack(t *testing.T) {
	c := newExchange(t)
	c.does(c.Resume(c.now))
	c.answer(election.Read, election.Answer{})
	c.answer(election.Grant, election.Answer{Lease: 7, TTL: ttl})
	c.now = after(9 * time.Second)
	c.answer(election.Create, election.Answer{Epoch: 5})
	assert.Assert(t, c.Term() == nil)
	assert.Equal(t, c.asked[election.Revoke].Lease, election.LeaseID(7))
}

// A key that may have been created, although the answer is an error, is given back with its lease.
func TestCandidate_UnknownKeyIsGivenBack(t *testing.T) {
	c := newExchange(t)
	c.does(c.Resume(c.now))
	c.answer(election.Read, election.Answer{})
	c.answer(election.Grant, election.Answer{Lease: 7, TTL: ttl})
	c.answer(election.Create, election.Answer{Err: errStore})
	assert.Equal(t, c.asked[election.Revoke].Lease, election.LeaseID(7))
	c.now = c.Next()
	c.does(c.Tick(c.now))
	assert.Assert(t, c.has(election.Read))
}

// A standby knows the leader, and reads again when that changes, and when a watch fails.
func TestCandidate_StandbyObservesTheLeader(t *testing.T) {
	c := newExchange(t)
	c.does(c.Resume(c.now))
	c.answer(election.Read, election.Answer{Found: true, Leader: election.Leader{Name: "b"}, Epoch: 3, Revision: 4})
	leader, epoch := c.Leader()
	assert.Equal(t, leader.Name, "b")
	assert.Equal(t, epoch, int64(3))
	assert.Equal(t, c.asked[election.Watch].Revision, int64(4))
	c.answer(election.Watch, election.Answer{})
	assert.Assert(t, c.has(election.Read))
	c.answer(election.Read, election.Answer{Err: errStore})
	_, epoch = c.Leader()
	assert.Equal(t, epoch, int64(0), "the leader is not known while the store does not answer")
	c.now = c.Next()
	c.does(c.Tick(c.now))
	assert.Assert(t, c.has(election.Read))
}
