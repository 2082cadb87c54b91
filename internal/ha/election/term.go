package election

import (
	"math"
	"sync/atomic"
	"time"
)

// Instant is a time on the clock of one process, as the time since an origin of its own. That clock never steps back,
// and goes on while the machine sleeps. Instants of different processes cannot be compared.
type Instant time.Duration

// Add is the instant d later.
func (i Instant) Add(d time.Duration) Instant { return i + Instant(d) }

// Sub is the time from j to i.
func (i Instant) Sub(j Instant) time.Duration { return time.Duration(i - j) }

// Bounds of the margin.
const (
	marginShare = 10                     // of a time to live
	minMargin   = 200 * time.Millisecond // and at least
)

// Margin is the time by which the deadline of a term lies before the end of its lease (HA-2), for a time to live. It
// covers clocks whose rates differ: where that of the member is 1 % slow and that of the store 1 % fast, the lease ends
// 2 % of its time to live early. The rest is for the time between the check of the deadline and the write of an answer.
func Margin(ttl time.Duration) time.Duration { return max(ttl/marginShare, minMargin) }

// Term is the time in which a member leads. It is safe for concurrent use; only the Candidate changes it.
//
// Invariant: once the Candidate has noticed that the deadline has passed, MaySend is never true again. What noticed the
// end before may see it true once more, if the answer to a renewal has come just then; the lease is held.
type Term struct {
	epoch    int64        // the fencing token: it rises from term to term (HA-6)
	deadline atomic.Int64 // an Instant; the lowest one when the term has ended
}

// newTerm is the term of an elected member whose lease was asked for at sent, and has the time to live ttl.
func newTerm(epoch int64, sent Instant, ttl time.Duration) *Term {
	t := &Term{epoch: epoch}
	t.deadline.Store(int64(deadline(sent, ttl)))
	return t
}

// deadline is until when the holder of a lease may answer. The store counts the time to live from when it gets the
// request, which is not before it was sent; so the lease ends later than this.
func deadline(sent Instant, ttl time.Duration) Instant { return sent.Add(ttl - Margin(ttl)) }

// Epoch is the number of the term: higher than those of all earlier terms of the group.
func (t *Term) Epoch() int64 { return t.epoch }

// MaySend reports whether an answer may leave the process at now.
func (t *Term) MaySend(now Instant) bool { return int64(now) < t.deadline.Load() }

// Deadline is from when on MaySend is false, unless the lease is renewed before.
func (t *Term) Deadline() Instant { return Instant(t.deadline.Load()) }

// renewed moves the deadline: the lease was renewed by a request that was sent at sent.
func (t *Term) renewed(sent Instant, ttl time.Duration) { t.deadline.Store(int64(deadline(sent, ttl))) }

// end ends the term at once.
func (t *Term) end() { t.deadline.Store(math.MinInt64) }
