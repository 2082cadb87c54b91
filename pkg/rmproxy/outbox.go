package rmproxy

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// Bounds of one message (RMI-34): a client with the default limits of gRPC receives 4 MiB at most.
const (
	maxEntries = 512
	maxBytes   = 1 << 20
)

// maxIdleCapacity is the capacity, in effects, that an empty outbox keeps.
const maxIdleCapacity = 8192

// outboundEffect is an effect and its partition.
type outboundEffect struct {
	partition string // or apiOrigin
	effect    scheduler.Effect
}

// errNotReading ends the streams of an RM that does not read.
var errNotReading = errors.New("the resource manager does not read its answers")

// memorySize is about how many bytes of memory an undelivered effect holds (RMI-46).
func memorySize(e scheduler.Effect) uint64 {
	const slot, ask = 128, 384
	n := slot
	switch e := e.(type) {
	case scheduler.Allocated:
		n += ask + len(e.Ask.Key) + len(e.Node)
	case scheduler.Released:
		n += len(e.Key) + len(e.Message)
	case scheduler.AskTimedOut:
		n += len(e.Key) + len(e.App) + len(e.Message)
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

// apiOrigin is the partition of effects of the API itself. No partition has this name.
const apiOrigin = ""

// outbox is a queue of effects that are not yet delivered to the RM (RMI-27). Any number of
// goroutines may put effects in; one at a time may take them out.
type outbox struct {
	wake    chan struct{} // holds a value while effects may wait
	pending atomic.Bool   // there are undelivered effects; changed under mu, read without it for each delivery

	mu                sync.Mutex
	effects           []outboundEffect // in order; the first head of them are delivered and zeroed
	head              int              // how many at the front of effects are delivered
	inFlight          int              // how many after head are being sent: these are not moved or changed
	bytesIn, bytesOut uint64           // totals of memorySize since the start: put in, and delivered or dropped
	drained           chan struct{}    // closed when effects are delivered or dropped; nil: no goroutine waits
}

func newOutbox() *outbox { return &outbox{wake: make(chan struct{}, 1)} }

// put appends effects of a partition. It returns bytesIn.
func (b *outbox) put(partition string, effects ...scheduler.Effect) (in uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, e := range effects {
		b.effects = append(b.effects, outboundEffect{partition, e})
		b.bytesIn += memorySize(e)
	}
	b.pending.Store(b.head < len(b.effects))
	b.signal()
	return b.bytesIn
}

// takeBatch returns the effects at the front that fit into one message: those of one list (RMI-33).
// They stay in the outbox until the caller calls delivered or failed, which it must do before the
// next call. nil: the outbox is empty.
func (b *outbox) takeBatch() []outboundEffect {
	b.mu.Lock()
	defer b.mu.Unlock()
	waiting := b.effects[b.head:]
	n, bytes := 0, 0
	for n < min(len(waiting), maxEntries) && listOf(waiting[n].effect) == listOf(waiting[0].effect) {
		bytes += wireSize(waiting[n].effect)
		if n > 0 && bytes > maxBytes {
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

// delivered removes the batch that was taken.
func (b *outbox) delivered() {
	b.mu.Lock()
	defer b.mu.Unlock()
	delivered := b.effects[b.head : b.head+b.inFlight]
	bytes := totalMemorySize(delivered)
	clear(delivered) // so that the outbox does not keep asks in memory
	b.head, b.inFlight = b.head+len(delivered), 0
	b.noteRemoved(bytes)
	if b.head < len(b.effects) && b.head < len(b.effects)/2 {
		return
	}
	// At least as much space is free at the front as is used, so the rest is moved there: no more
	// moves than deliveries.
	waiting := copy(b.effects, b.effects[b.head:])
	clear(b.effects[waiting:])
	b.effects, b.head = b.effects[:waiting], 0
	if waiting == 0 && cap(b.effects) > maxIdleCapacity {
		b.effects = nil
	}
}

// failed returns the batch: it is the next to be taken (RMI-27).
func (b *outbox) failed() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.inFlight = 0
	b.signal()
}

// drop removes the effects of a partition (RMI-12).
func (b *outbox) drop(partition string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	dropped := func(s outboundEffect) bool { return s.partition == partition }
	pending := b.effects[b.head:] // the writer of the batch in flight goes on reading the old array
	inFlight := slices.DeleteFunc(slices.Clone(pending[:b.inFlight]), dropped)
	b.effects = append(inFlight, slices.DeleteFunc(slices.Clone(pending[b.inFlight:]), dropped)...)
	b.head, b.inFlight = 0, len(inFlight)
	b.noteRemoved(b.bytesIn - b.bytesOut - totalMemorySize(b.effects))
}

// undeliveredBytes is the memory of the effects that are not delivered, those in flight included.
func (b *outbox) undeliveredBytes() uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.bytesIn - b.bytesOut
}

// waitBelow blocks until at most bound of the first in bytes are undelivered; if fewer than in
// bytes were put in, of all (RMI-47). It returns the cause of ctx when ctx ends, and errNotReading
// when nothing was delivered for timeout.
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
	b.pending.Store(b.head < len(b.effects))
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
