package election

import (
	"context"
	"errors"
	"sync"
	"time"
)

// Store keeps the lease that the members share.
type Store interface {
	// Do carries out a request until ctx ends, which is an error of the answer. Several goroutines call it.
	Do(ctx context.Context, r Request) Answer
}

// Options configure a Campaign.
type Options struct {
	Store Store
	Self  Leader         // what the leader's key has when this member leads
	TTL   time.Duration  // the time to live of leases
	Now   func() Instant // Now, outside of tests
}

// Status has what a Campaign knows.
type Status struct {
	Term   *Term // nil: the member does not lead
	Ended  Ended // why its last term has ended; empty: there was none, or one is under way
	Leader Leader
	Epoch  int64 // of Leader; 0: none is known
	Err    error // of the last call of the store; nil: the store has answered
}

// maxWait bounds how long the loop waits at a time. Timers stand still while the machine is suspended, Now does not.
const maxWait = time.Second

// Campaign is a member at work: it carries out what a Candidate asks, and gives it the answers and the time. It is safe
// for concurrent use.
type Campaign struct {
	opt       Options
	candidate *Candidate // of the loop
	calls     map[uint64]context.CancelFunc
	commands  chan func(now Instant) []Request
	answers   chan Answer
	changed   chan struct{}

	ctx     context.Context // ends when the loop does
	cancel  context.CancelFunc
	once    sync.Once
	closing chan struct{}
	calling sync.WaitGroup
	done    chan struct{}

	mu     sync.Mutex
	status Status
}

// Start starts a member, which observes the leader. It may lead once Resume is called. The caller must Close it.
func Start(o Options) *Campaign {
	c := &Campaign{
		opt: o, candidate: NewCandidate(o.Self, o.TTL), calls: map[uint64]context.CancelFunc{},
		commands: make(chan func(Instant) []Request), answers: make(chan Answer), changed: make(chan struct{}, 1),
		closing: make(chan struct{}), done: make(chan struct{}),
	}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	go c.run()
	return c
}

// Resume lets the member become the leader, at first and after each term: what the last one has left is to be ended
// before.
func (c *Campaign) Resume() { c.command(c.candidate.Resume) }

// Resign ends the term, if there is one. The member does not lead again before Resume.
func (c *Campaign) Resign() { c.command(c.candidate.Resign) }

func (c *Campaign) command(do func(Instant) []Request) {
	select {
	case c.commands <- do:
	case <-c.done:
	}
}

// Status returns what is known now.
func (c *Campaign) Status() Status {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.status
}

// Changed has a value when Status has changed since it was received from last.
func (c *Campaign) Changed() <-chan struct{} { return c.changed }

// Close ends the term, if there is one, gives the lease back (HA-4) and ends the campaign.
func (c *Campaign) Close() {
	c.once.Do(func() { close(c.closing) })
	<-c.done
}

// run is the loop.
func (c *Campaign) run() {
	defer close(c.done)
	timer := time.NewTimer(maxWait)
	defer timer.Stop()
	c.carryOut(c.candidate.Start(c.opt.Now()))
	for {
		timer.Reset(min(max(c.candidate.Next().Sub(c.opt.Now()), 0), maxWait))
		select {
		case do := <-c.commands:
			c.carryOut(do(c.opt.Now()))
		case a := <-c.answers:
			c.note(a)
			c.carryOut(c.candidate.Handle(c.opt.Now(), a))
		case <-timer.C:
			c.carryOut(c.candidate.Tick(c.opt.Now()))
		case <-c.closing:
			c.finish()
			return
		}
	}
}

// carryOut makes the calls that the candidate asks for, and ends those whose answer it does not wait for any more.
func (c *Campaign) carryOut(requests []Request) {
	c.publish()
	for id, cancel := range c.calls {
		if !c.candidate.Waits(id) {
			cancel()
			delete(c.calls, id)
		}
	}
	for _, r := range requests {
		ctx, cancel := context.WithTimeout(c.ctx, r.Timeout)
		if r.Op != Revoke {
			c.calls[r.ID] = cancel
		}
		c.calling.Go(func() {
			defer cancel()
			a := c.opt.Store.Do(ctx, r)
			a.ID = r.ID
			select {
			case c.answers <- a:
			case <-c.ctx.Done():
			}
		})
	}
}

// finish gives the lease back and ends all calls.
func (c *Campaign) finish() {
	requests := c.candidate.Resign(c.opt.Now())
	c.publish()
	for _, r := range requests {
		if r.Op == Revoke {
			ctx, cancel := context.WithTimeout(c.ctx, r.Timeout)
			c.opt.Store.Do(ctx, r) // if it fails, the lease ends by itself
			cancel()
		}
	}
	c.cancel()
	c.calling.Wait()
}

// note keeps whether the store answers. A watch ends with an error as a matter of course.
func (c *Campaign) note(a Answer) {
	if r, ok := c.candidate.requestOf(a.ID); !ok || r.Op == Watch {
		return
	}
	if errors.Is(a.Err, ErrLeaseLost) {
		a.Err = nil // the store has said so
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if (c.status.Err == nil) != (a.Err == nil) {
		c.signal()
	}
	c.status.Err = a.Err
}

// publish makes what the candidate knows the Status.
func (c *Campaign) publish() {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := Status{Term: c.candidate.Term(), Ended: c.candidate.Ended(), Err: c.status.Err}
	s.Leader, s.Epoch = c.candidate.Leader()
	if s.Term != c.status.Term || s.Ended != c.status.Ended || s.Leader != c.status.Leader || s.Epoch != c.status.Epoch {
		c.signal()
	}
	c.status = s
}

// signal gives Changed a value.
func (c *Campaign) signal() {
	select {
	case c.changed <- struct{}{}:
	default:
	}
}
