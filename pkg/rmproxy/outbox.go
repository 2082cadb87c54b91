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

// maxIdleCapacity is for how many effects an empty outbox keeps room.
const maxIdleCapacity = 8192

// outboundEffect is an effect and who says it.
type outboundEffect struct {
	partition string // or apiOrigin
	effect    scheduler.Effect
}

// errNotReading ends the streams of an RM that reads nothing.
var errNotReading = errors.New("the resource manager does not read its answers")

// memorySize is about how much memory an effect that waits holds.
func memorySize(e scheduler.Effect) uint64 {
	const slot, ask = 128, 384
	n := slot
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

func totalMemorySize(of []outboundEffect) (n uint64) {
	for _, s := range of {
		n += memorySize(s.effect)
	}
	return n
}

// apiOrigin says what no partition has to do with. No partition has this name.
const apiOrigin = ""

// outbox keeps effects, in order, until the RM has been told. Any number may put
// something in, one at a time takes it out.
type outbox struct {
	wake chan struct{} // holds one ring while something may wait

	mu                sync.Mutex
	effects           []outboundEffect // in order; the first gone of them are empty
	head              int              // how many of said are no more
	inFlight          int              // how many behind these are being told: nobody moves or changes them
	bytesIn, bytesOut uint64           // bytes that ever came in, and went for good, see footprint
	drained           chan struct{}    // closed when something went; nil: nothing waits for it
}

func newOutbox() *outbox { return &outbox{wake: make(chan struct{}, 1)} }

// put adds to the end what a partition says. It returns how many bytes ever came in.
func (b *outbox) put(partition string, effects ...scheduler.Effect) (in uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, e := range effects {
		b.effects = append(b.effects, outboundEffect{partition, e})
		b.bytesIn += memorySize(e)
	}
	b.signal()
	return b.bytesIn
}

// takeBatch returns what fits into one message from the front: effects of one list. They
// stay the outbox's until the caller says done or failed. nil: there is nothing.
// Requires: the last batch taken is settled.
func (b *outbox) takeBatch() []outboundEffect {
	b.mu.Lock()
	defer b.mu.Unlock()
	waiting := b.effects[b.head:]
	n, bytes := 0, 0
	for n < min(len(waiting), maxEntries) && listOf(waiting[n].effect) == listOf(waiting[0].effect) {
		if bytes += wireSize(waiting[n].effect); n > 0 && bytes > maxBytes {
			break
		}
		n++
	}
	if n == 0 {
		return nil
	}
	b.inFlight = n
	return waiting[:n:n]
}

// delivered says that the batch taken has been told.
func (b *outbox) delivered() {
	b.mu.Lock()
	defer b.mu.Unlock()
	delivered := b.effects[b.head : b.head+b.inFlight]
	bytes := totalMemorySize(delivered)
	clear(delivered) // so that asks do not stay for the outbox alone
	b.head, b.inFlight = b.head+len(delivered), 0
	b.noteRemoved(bytes)
	if b.head < len(b.effects) && b.head < len(b.effects)/2 {
		return
	}
	// As much room is free in front as is used, so what waits moves there: no more moves
	// than has gone.
	waiting := copy(b.effects, b.effects[b.head:])
	clear(b.effects[waiting:])
	b.effects, b.head = b.effects[:waiting], 0
	if waiting == 0 && cap(b.effects) > maxIdleCapacity {
		b.effects = nil
	}
}

// failed says that it could not be told: it is the first to be told next.
func (b *outbox) failed() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.inFlight = 0
	b.signal()
}

// drop removes what a partition said.
func (b *outbox) drop(partition string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	dropped := func(s outboundEffect) bool { return s.partition == partition }
	pending := b.effects[b.head:] // whoever tells some of it goes on reading there
	inFlight := slices.DeleteFunc(slices.Clone(pending[:b.inFlight]), dropped)
	b.effects = append(inFlight, slices.DeleteFunc(slices.Clone(pending[b.inFlight:]), dropped)...)
	b.head, b.inFlight = 0, len(inFlight)
	b.noteRemoved(b.bytesIn - b.bytesOut - totalMemorySize(b.effects))
}

// undeliveredBytes is how many bytes wait to be told, or are being told.
func (b *outbox) undeliveredBytes() uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.bytesIn - b.bytesOut
}

// waitBelow blocks until no more than bound of the first in bytes are left; of those that are there, if there are fewer. It returns early when
// over ends, with its cause, and with errNotReading when nothing was told for as long as patience.
func (b *outbox) waitBelow(ctx context.Context, in, bound uint64, timeout time.Duration) error {
	var timer *time.Timer
	for {
		b.mu.Lock()
		if min(in, b.bytesIn)-min(b.bytesOut, in) <= bound {
			b.mu.Unlock()
			return nil
		}
		if b.drained == nil {
			b.drained = make(chan struct{})
		}
		drained := b.drained
		b.mu.Unlock()
		if timer == nil {
			timer = time.NewTimer(timeout)
			defer timer.Stop()
		}
		select {
		case <-drained:
			timer.Reset(timeout)
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-timer.C:
			return fmt.Errorf("%w: more than %d bytes wait, and nothing was read for %v", errNotReading, bound, timeout)
		}
	}
}

func (b *outbox) noteRemoved(bytes uint64) {
	b.bytesOut += bytes
	if b.drained != nil && bytes > 0 {
		close(b.drained)
		b.drained = nil
	}
}

func (b *outbox) signal() {
	select {
	case b.wake <- struct{}{}:
	default:
	}
}
