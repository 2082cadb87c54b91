package election

import (
	"errors"
	"math"
	"time"
)

// Shares of the time to live. A renewal is tried several times before the deadline, each time within a time-out of its
// own, so that one endpoint that does not answer costs no term.
const (
	renewShare   = 3  // a lease is renewed after this share
	timeoutShare = 6  // a call may take so long
	retryShare   = 20 // after a failure the next call waits so long
)

// never is an instant that does not come.
const never = Instant(math.MaxInt64)

// Ended says why a term has ended.
type Ended string

// The reasons.
const (
	DeadlinePassed Ended = "the lease could not be renewed before the deadline"
	LeaseLost      Ended = "the store has ended the lease"
	KeyChanged     Ended = "the leader's key was removed or replaced"
	Resigned       Ended = "the member has resigned"
)

// Candidate is a member as a state machine: it is given the time and the answers of the store, and returns what the
// store is to be asked. It is not safe for concurrent use; a Term that it has returned is.
type Candidate struct {
	self     Leader
	ttl      time.Duration
	eligible bool // it may become the leader
	lastID   uint64
	waiting  map[Op]Request // under way, one of each kind; without Revoke, on whose answer nothing depends

	leader Leader  // as last read
	epoch  int64   // of leader; 0: there is none, or it is not known
	next   Instant // when something is to be asked again

	lease   LeaseID       // of the term or the campaign; 0: none
	granted Instant       // when the lease, or its last renewal that succeeded, was asked for
	held    time.Duration // the time to live that it was given then

	term  *Term // nil: it does not lead
	ended Ended // why the last term has ended; empty: there was none
}

// NewCandidate returns a member that asks for leases of ttl, and may lead once Resume is called. self is what its key
// has.
func NewCandidate(self Leader, ttl time.Duration) *Candidate {
	return &Candidate{self: self, ttl: ttl, waiting: map[Op]Request{}, next: never}
}

// Start returns the first requests.
func (c *Candidate) Start(now Instant) []Request { return c.ask(nil, now, Read) }

// Term is the term of the member; nil: it does not lead.
func (c *Candidate) Term() *Term { return c.term }

// Ended returns why the last term has ended; empty: there was none.
func (c *Candidate) Ended() Ended { return c.ended }

// Leader is the leader as last read, and its epoch; 0: none is known.
func (c *Candidate) Leader() (Leader, int64) { return c.leader, c.epoch }

// Next returns when Tick must be called next.
func (c *Candidate) Next() Instant {
	if c.term != nil {
		return min(c.next, c.term.Deadline())
	}
	return c.next
}

// Resume lets the member become the leader, at first and after each term: what the last one has left is to be ended
// before.
func (c *Candidate) Resume(now Instant) []Request {
	c.eligible = true
	if c.term != nil || c.under(Read, Grant, Create) {
		return nil
	}
	delete(c.waiting, Watch) // there may be no leader, and then no change to wait for
	return c.ask(nil, now, Read)
}

// Resign ends the term, or the campaign, and gives the lease back, so that a successor need not wait for its end
// (HA-4). The member does not lead again before Resume.
func (c *Candidate) Resign(now Instant) []Request { return c.endTerm(now, Resigned) }

// Tick is called when Next has come; earlier or later calls do no harm.
func (c *Candidate) Tick(now Instant) []Request {
	switch {
	case c.term != nil && !c.term.MaySend(now):
		return c.endTerm(now, DeadlinePassed)
	case now < c.next:
		return nil
	case c.term != nil:
		return c.askAsLeader(now)
	}
	c.next = never
	if c.under(Read, Grant, Create) {
		return nil
	}
	return c.ask(nil, now, Read)
}

// Handle is called with each answer. One to a request that is not waited for any more changes nothing.
func (c *Candidate) Handle(now Instant, a Answer) []Request {
	request, known := c.requestOf(a.ID)
	if !known {
		return nil
	}
	delete(c.waiting, request.Op)
	if c.term != nil {
		return c.handleLeading(now, request, a)
	}
	switch request.Op {
	case Read:
		return c.handleRead(now, a)
	case Watch:
		if a.Err != nil {
			return c.readLater(now)
		}
		return c.ask(nil, now, Read)
	case Grant:
		return c.handleGrant(now, request, a)
	case Create:
		return c.handleCreate(now, a)
	}
	return nil
}

// handleRead begins a campaign if there is no leader, and else waits for a change.
func (c *Candidate) handleRead(now Instant, a Answer) []Request {
	c.leader, c.epoch = Leader{}, 0
	switch {
	case a.Err != nil:
		return c.readLater(now)
	case a.Found:
		c.leader, c.epoch = a.Leader, a.Epoch
	case c.eligible:
		return c.ask(nil, now, Grant)
	}
	return c.askWatch(nil, now, a.Revision)
}

// handleGrant creates the leader's key with the new lease.
func (c *Candidate) handleGrant(now Instant, request Request, a Answer) []Request {
	if a.Err != nil {
		return c.readLater(now)
	}
	c.lease, c.granted, c.held = a.Lease, request.sent, a.TTL
	return c.ask(nil, now, Create)
}

// handleCreate begins the term if the key was created. Otherwise the lease is given back: the key may be there even if
// the answer is an error.
func (c *Candidate) handleCreate(now Instant, a Answer) []Request {
	switch {
	case a.Err != nil:
		return append(c.revoke(nil), c.readLater(now)...)
	case a.Found, now >= deadline(c.granted, c.held):
		return c.ask(c.revoke(nil), now, Read)
	}
	c.term, c.ended = newTerm(a.Epoch, c.granted, c.held), ""
	c.leader, c.epoch = c.self, a.Epoch
	c.next = c.renewAt()
	return c.askWatch(nil, now, a.Epoch)
}

// handleLeading handles the answers to the leader: of renewals, of the watch of its key, and of the key when a watch
// has failed.
func (c *Candidate) handleLeading(now Instant, request Request, a Answer) []Request {
	switch {
	case !c.term.MaySend(now):
		return c.endTerm(now, DeadlinePassed)
	case request.Op == Renew && errors.Is(a.Err, ErrLeaseLost):
		return c.endTerm(now, LeaseLost)
	case a.Err != nil:
		c.next = min(c.next, now.Add(c.ttl/retryShare))
	case request.Op == Watch, request.Op == Read && a.Epoch != c.term.Epoch():
		return c.endTerm(now, KeyChanged)
	case request.Op == Read:
		return c.askWatch(nil, now, a.Revision)
	case request.Op == Renew:
		c.granted, c.held = request.sent, a.TTL
		c.term.renewed(c.granted, c.held)
		c.next = min(c.next, c.renewAt())
	}
	return nil
}

// askAsLeader asks for a renewal if it is due, and for the key if nothing watches it.
func (c *Candidate) askAsLeader(now Instant) (out []Request) {
	c.next = never
	if !c.under(Watch, Read) {
		out = c.ask(out, now, Read)
	}
	switch {
	case c.under(Renew):
	case now < c.renewAt():
		c.next = c.renewAt()
	default:
		out = c.ask(out, now, Renew)
	}
	return out
}

// renewAt returns when the lease must be renewed.
func (c *Candidate) renewAt() Instant { return c.granted.Add(c.held / renewShare) }

// endTerm ends the term or the campaign. Answers to earlier requests are not waited for.
func (c *Candidate) endTerm(now Instant, why Ended) []Request {
	if c.term != nil {
		c.term.end()
		c.term, c.ended = nil, why
	}
	c.eligible = false
	clear(c.waiting)
	c.leader, c.epoch, c.next = Leader{}, 0, never
	return c.ask(c.revoke(nil), now, Read)
}
