package rmproxy

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

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

// errUnread ends the streams of an RM that reads nothing.
var errUnread = errors.New("the resource manager does not read its answers")

// footprint is about how much memory an effect that waits holds.
func footprint(e scheduler.Effect) uint64 {
	const place, ask = 128, 384
	n := place
	switch e := e.(type) {
	case scheduler.Allocated:
		n += ask + len(e.Ask.Key) + len(e.Node)
	case scheduler.Released:
		n += len(e.Key) + len(e.Message)
	case scheduler.AskRejected:
		n += len(e.Key) + len(e.App) + len(e.Reason)
	case scheduler.ApplicationRejected:
		n += len(e.App) + len(e.Queue) + len(e.User) + len(e.Reason)
	case scheduler.NodeRejected:
		n += len(e.Node) + len(e.Reason)
	}
	return uint64(n)
}

func footprints(of []saying) (n uint64) {
	for _, s := range of {
		n += footprint(s.effect)
	}
	return n
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
	in, out uint64        // bytes that ever came in, and went for good, see footprint
	ebb     chan struct{} // closed when something went; nil: nothing waits for it
}

func newOutbox() *outbox { return &outbox{bell: make(chan struct{}, 1)} }

// put adds to the end what a partition says. It returns how many bytes ever came in.
func (b *outbox) put(partition string, effects ...scheduler.Effect) (in uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, e := range effects {
		b.said = append(b.said, saying{partition, e})
		b.in += footprint(e)
	}
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
	bytes := footprints(told)
	clear(told) // so that asks do not stay for the outbox alone
	b.gone, b.taken = b.gone+len(told), 0
	b.went(bytes)
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
	b.went(b.in - b.out - footprints(b.said))
}

// waiting is how many bytes wait to be told, or are being told.
func (b *outbox) waiting() uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.in - b.out
}

// wait blocks until no more than bound of the first in bytes are left; of those that are there, if there are fewer. It returns early when
// over ends, with its cause, and with errUnread when nothing was told for as long as patience.
func (b *outbox) wait(over context.Context, in, bound uint64, patience time.Duration) error {
	var most *time.Timer
	for {
		b.mu.Lock()
		if min(in, b.in)-min(b.out, in) <= bound {
			b.mu.Unlock()
			return nil
		}
		if b.ebb == nil {
			b.ebb = make(chan struct{})
		}
		ebb := b.ebb
		b.mu.Unlock()
		if most == nil {
			most = time.NewTimer(patience)
			defer most.Stop()
		}
		select {
		case <-ebb:
			most.Reset(patience)
		case <-over.Done():
			return context.Cause(over)
		case <-most.C:
			return fmt.Errorf("%w: more than %d bytes wait, and nothing was read for %v", errUnread, bound, patience)
		}
	}
}

func (b *outbox) went(bytes uint64) {
	b.out += bytes
	if b.ebb != nil && bytes > 0 {
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
