// Package cpushare keeps processors free for scheduling while readers are served.
//
// It owns the slots for work on behalf of readers (encoding, compressing and writing responses,
// and computing their content) and for walks over long messages. There are fewer slots than
// processors, and a slot is yielded every 100 µs, so that a goroutine that schedules or delivers
// a decision never waits long for a processor (ADR 45).
//
// Work in a slot ends with its context, and after MaxWork: Yield panics with an *Ended then, so that no reader has to
// check. The HTTP handlers and coalesce.Group, which start the work of readers, recover it and answer with the error.
//
// Invariant: a goroutine that waits for a client, for a snapshot, or for a goroutine that may
// itself wait for a slot, holds no slot.
package cpushare

import (
	"context"
	"errors"
	"runtime"
	"time"
)

// Readers are the slots for all work on behalf of readers in this process: half of its processors
// (OBS-88).
var Readers = New(halfOfProcessors)

// Senders are the slots for walks over long messages of resource managers, before they are decoded
// and while they are turned into commands (RMI-42).
var Senders = New(halfOfProcessors)

var halfOfProcessors = max(1, runtime.GOMAXPROCS(0)/2)

// Times of a slot. Without them the Go scheduler runs a goroutine for 10 ms before another one
// that waits for the same processor.
const (
	timeSlice      = 100 * time.Microsecond // after which other goroutines run
	slicesPerPause = 4                      // after so many slices the slot pauses
	pause          = 10 * time.Microsecond
)

// MaxWork bounds the time for which work has a slot, waits for the slot in Yield included (OBS-103).
const MaxWork = 30 * time.Second

// ErrTooLong is the error of work that had a slot for MaxWork.
var ErrTooLong = errors.New("the answer takes too long to make: try again later, or ask for less")

// Ended is the panic of Yield that ends the work in a slot.
type Ended struct{ err error }

// Error implements error.
func (e *Ended) Error() string { return e.err.Error() }

// Unwrap returns ErrTooLong, or the error of the context.
func (e *Ended) Unwrap() error { return e.err }

// Share is a bounded number of slots. It is safe for concurrent use.
type Share struct{ slots chan struct{} }

// New returns a Share of so many slots, at least one.
func New(slots int) *Share { return &Share{make(chan struct{}, max(1, slots))} }

// Acquire waits for a slot. The caller must call Release by defer. Where nobody recovers an *Ended, and in a
// sync.Once, ctx must be one that cannot end, such as context.Background: then the work has no bound.
func (s *Share) Acquire(ctx context.Context) *Slot {
	slot := &Slot{share: s, ctx: ctx}
	slot.Reacquire()
	return slot
}

// Slot is a held slot. It must be used by one goroutine. The methods of a nil Slot do nothing.
type Slot struct {
	share      *Share
	ctx        context.Context
	sliceStart time.Time     // of the current time slice
	slices     int           // time slices so far
	worked     time.Duration // before the current time slice
}

// Yield lets other goroutines run if the time slice has ended (OBS-88), or ends the work (OBS-103). It is meant to be
// called for each object, and takes tens of nanoseconds.
//
// After some slices the slot pauses. A processor that always has a goroutine to run neither polls
// the network nor takes over goroutines from another processor, which may be running the garbage
// collector for 10 ms; an idle one does both at once.
func (s *Slot) Yield() {
	if s == nil || time.Since(s.sliceStart) < timeSlice {
		return
	}
	if s.ctx.Done() != nil {
		if err := s.ctx.Err(); err != nil {
			panic(&Ended{err})
		}
		if s.worked > MaxWork {
			panic(&Ended{ErrTooLong})
		}
	}
	s.slices++
	if s.slices%slicesPerPause == 0 {
		time.Sleep(pause)
	}
	<-s.share.slots
	runtime.Gosched()
	s.share.slots <- struct{}{}
	now := time.Now()
	s.worked += now.Sub(s.sliceStart)
	s.sliceStart = now
}

// Release releases the slot, before a wait or at the end.
func (s *Slot) Release() {
	if s != nil {
		<-s.share.slots
	}
}

// Reacquire waits for a slot again after Release.
func (s *Slot) Reacquire() {
	if s == nil {
		return
	}
	s.share.slots <- struct{}{}
	s.sliceStart = time.Now()
}
