package rmproxy

import (
	"context"
	"slices"
	"sync"

	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// The most that goes into one message: a peer with the default limits of gRPC takes
// 4 MiB at once.
const (
	maxEntries = 512
	maxBytes   = 1 << 20
)

// saying is an effect and who says it.
type saying struct {
	partition string // empty: the door itself
	effect    scheduler.Effect
}

// outbox keeps effects, in order, until the RM has been told. Any number may put
// something in, one at a time takes it out.
type outbox struct {
	bell chan struct{} // holds one ring while something may wait

	mu      sync.Mutex
	waiting []saying
	taken   []saying      // from the front, being told
	in, out uint64        // how many ever came in, and went for good
	ebb     chan struct{} // closed when something went; nil: nobody cares
}

func newOutbox() *outbox { return &outbox{bell: make(chan struct{}, 1)} }

// put adds to the end. It returns the outbox's count of what came in.
func (b *outbox) put(said ...saying) (in uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.waiting = append(b.waiting, said...)
	b.in += uint64(len(said))
	b.ring()
	return b.in
}

// take returns what fits into one message from the front: effects of one list. They
// stay the outbox's until the caller says done or failed. nil: there is nothing.
// Requires: the last batch taken is settled.
func (b *outbox) take() []saying {
	b.mu.Lock()
	defer b.mu.Unlock()
	n, bytes := 0, 0
	for n < min(len(b.waiting), maxEntries) && listOf(b.waiting[n].effect) == listOf(b.waiting[0].effect) {
		if bytes += weight(b.waiting[n].effect); n > 0 && bytes > maxBytes {
			break
		}
		n++
	}
	if n == 0 {
		return nil
	}
	b.taken, b.waiting = b.waiting[:n:n], b.waiting[n:]
	return b.taken
}

// done says that the batch taken has been told.
func (b *outbox) done() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.gone(len(b.taken))
	b.taken = nil
}

// failed says that it could not be told: it is the first to be told next.
func (b *outbox) failed() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.waiting = slices.Concat(b.taken, b.waiting)
	b.taken = nil
	b.ring()
}

// drop removes what a partition said.
func (b *outbox) drop(partition string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	void := func(s saying) bool { return s.partition == partition }
	before := len(b.taken) + len(b.waiting)
	b.taken = slices.DeleteFunc(slices.Clone(b.taken), void) // whoever tells it reads the old one
	b.waiting = slices.DeleteFunc(b.waiting, void)
	b.gone(before - len(b.taken) - len(b.waiting))
}

// wait blocks until no more than bound of the first in effects are left. ok is false
// when over ended first.
func (b *outbox) wait(over context.Context, in uint64, bound int) (ok bool) {
	for {
		b.mu.Lock()
		if in-min(b.out, in) <= uint64(bound) {
			b.mu.Unlock()
			return true
		}
		if b.ebb == nil {
			b.ebb = make(chan struct{})
		}
		ebb := b.ebb
		b.mu.Unlock()
		select {
		case <-ebb:
		case <-over.Done():
			return false
		}
	}
}

func (b *outbox) gone(n int) {
	b.out += uint64(n)
	if b.ebb != nil && n > 0 {
		close(b.ebb)
		b.ebb = nil
	}
}

func (b *outbox) ring() {
	select {
	case b.bell <- struct{}{}:
	default:
	}
}
