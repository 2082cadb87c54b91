// Package cpushare keeps processors free for decisions while readers are served.
//
// It owns the slots in which work for readers runs: encoding, packing and writing answers, and
// computing what they show; and those in which long messages are looked through. There are fewer slots than processors, and a slot is given up every
// now and then, so that a goroutine which decides, or hands over a decision, never waits for
// long behind work that nothing depends on. What that work is belongs to others (ADR 45).
//
// The rule that must hold: a goroutine that waits, be it for a client, for a snapshot or for one
// that may itself wait for a slot, has no slot meanwhile.
package cpushare

import (
	"runtime"
	"time"
)

// Readers has the slots of all work for readers in this process: half of its processors.
var Readers = New(halfOfProcessors)

// Senders has the slots in which long messages of resource managers are read, before it is known
// whether they are taken.
var Senders = New(halfOfProcessors)

var halfOfProcessors = max(1, runtime.GOMAXPROCS(0)/2)

// How long work goes on. Left alone, the Go scheduler runs a goroutine for 10 ms before another
// one that waits at the same processor.
const (
	timeSlice      = 100 * time.Microsecond // after which other goroutines may go on
	slicesPerPause = 4                      // after so many, the slot rests
	pause          = 10 * time.Microsecond
)

// Share is a bounded number of slots. It is safe for concurrent use.
type Share struct{ slots chan struct{} }

// New returns a Share of so many slots, at least one.
func New(slots int) *Share { return &Share{make(chan struct{}, max(1, slots))} }

// Acquire waits for a slot. The caller must Leave in the end.
func (s *Share) Acquire() *Slot {
	slot := &Slot{share: s}
	slot.Reacquire()
	return slot
}

// Slot is work that has a slot. It is for one goroutine. The nil Turn has none, and its methods do
// nothing.
type Slot struct {
	share      *Share
	sliceStart time.Time // the stretch began
	slices     int       // stretches
}

// Yield lets others go on if the work has had its stretch. It is meant to be called about each
// object, and costs tens of nanoseconds.
//
// Now and then the slot stays empty for a moment. A processor that always has something to run
// neither looks at the network nor takes over what waits at another one, which may be running the
// garbage collector for 10 ms; one that runs out of work does both at once.
func (s *Slot) Yield() {
	if s == nil || time.Since(s.sliceStart) < timeSlice {
		return
	}
	if s.slices++; s.slices%slicesPerPause == 0 {
		time.Sleep(pause)
	}
	s.Release()
	runtime.Gosched()
	s.Reacquire()
}

// Release gives the slot up, before something is waited for, or in the end.
func (s *Slot) Release() {
	if s != nil {
		<-s.share.slots
	}
}

// Reacquire waits for a slot again after Leave.
func (s *Slot) Reacquire() {
	if s == nil {
		return
	}
	s.share.slots <- struct{}{}
	s.sliceStart = time.Now()
}
