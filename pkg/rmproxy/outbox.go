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

// maxRoom is for how many effects an empty outbox keeps room.
const maxRoom = 8192

// saying is an effect and who says it.
type saying struct {
	partition string // or theDoor
	effect    scheduler.Effect
}

// theDoor says what no partition has to do with. No partition has this name.
const theDoor = ""

// outbox keeps effects, in order, until the RM has been told. Any number may put
// something in, one at a time takes it out.
type outbox struct {
	bell chan struct{} // holds one ring while something may wait

	mu      sync.Mutex
	said    []saying      // in order; the first gone of them are empty
	gone    int           // how many of said are no more
	taken   int           // how many behind these are being told: nobody moves or changes them
	in, out uint64        // how many ever came in, and went for good
	ebb     chan struct{} // closed when something went; nil: nobody cares
}

func newOutbox() *outbox { return &outbox{bell: make(chan struct{}, 1)} }

// put adds to the end what a partition says. It returns the outbox's count of what came
// in.
func (b *outbox) put(partition string, effects ...scheduler.Effect) (in uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, e := range effects {
		b.said = append(b.said, saying{partition, e})
	}
	b.in += uint64(len(effects))
	b.ring()
	return b.in
}

// take returns what fits into one message from the front: effects of one list. They
// stay the outbox's until the caller says done or failed. nil: there is nothing.
// Requires: the last batch taken is settled.
func (b *outbox) take() []saying {
	b.mu.Lock()
	defer b.mu.Unlock()
	waiting := b.said[b.gone:]
	n, bytes := 0, 0
	for n < min(len(waiting), maxEntries) && listOf(waiting[n].effect) == listOf(waiting[0].effect) {
		if bytes += weight(waiting[n].effect); n > 0 && bytes > maxBytes {
			break
		}
		n++
	}
	if n == 0 {
		return nil
	}
	b.taken = n
	return waiting[:n:n]
}

// done says that the batch taken has been told.
func (b *outbox) done() {
	b.mu.Lock()
	defer b.mu.Unlock()
	told := b.said[b.gone : b.gone+b.taken]
	clear(told) // so that asks do not stay for the outbox alone
	b.gone, b.taken = b.gone+len(told), 0
	b.went(len(told))
	if b.gone < len(b.said) && b.gone < len(b.said)/2 {
		return
	}
	// As much room is free in front as is used, so what waits moves there: no more moves
	// than has gone.
	waiting := copy(b.said, b.said[b.gone:])
	clear(b.said[waiting:])
	b.said, b.gone = b.said[:waiting], 0
	if waiting == 0 && cap(b.said) > maxRoom {
		b.said = nil
	}
}

// failed says that it could not be told: it is the first to be told next.
func (b *outbox) failed() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.taken = 0
	b.ring()
}

// drop removes what a partition said.
func (b *outbox) drop(partition string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	void := func(s saying) bool { return s.partition == partition }
	before := b.said[b.gone:] // whoever tells some of it goes on reading there
	taken := slices.DeleteFunc(slices.Clone(before[:b.taken]), void)
	b.said = append(taken, slices.DeleteFunc(slices.Clone(before[b.taken:]), void)...)
	b.gone, b.taken = 0, len(taken)
	b.went(len(before) - len(b.said))
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

func (b *outbox) went(n int) {
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
