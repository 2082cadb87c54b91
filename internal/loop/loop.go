package loop

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// Sink takes effects away, one batch at a time, in order. The batch is its own only until
// Deliver returns. A Loop ends only when Deliver has returned.
//
// Usually Deliver runs beside the loop and may Send and Call; until it returns, decisions
// go on only until Options.MaxUntold effects wait. With Options.TellFirst it runs on the
// loop's own goroutine: nothing is taken or decided meanwhile, so it may Send, but must
// not wait for the Loop (ADR 16).
type Sink interface{ Deliver([]scheduler.Effect) }

// Options say how a Loop drives its Core. The zero value is good for a Core without an
// Oracle.
type Options struct {
	Now       func() time.Time // the clock; nil: time.Now
	Stride    int              // decisions before waiting commands are looked at again; 0: 256
	TellFirst bool             // deliver what is decided before anything else is done
	MaxUntold int              // effects that may wait for the Sink before decisions pause; 0: 8192
	HighWater int              // commands that may wait before Wait blocks; 0: 65536. Four times MaxUntold effects count as much

	// Meter is asked once for each partition of a Cluster; what it returns is told how long each run
	// of decisions took, by the loop, which waits for it meanwhile. nil, or if it returns nil: nobody
	// measures, and no clock is read for it.
	Meter func(partition string) func(took time.Duration)

	// AuditEvery is how often the books are audited without a request, in steps beside deciding;
	// 0: never.
	AuditEvery time.Duration

	// Audited is told of each audit that has finished, by the loop, which waits for it meanwhile.
	// nil: no one is told.
	Audited func(partition string, a Audit)

	// Lifetimes are those of the Cores that a Cluster makes; nil: objects.DefaultLifetimes.
	Lifetimes *objects.Lifetimes
}

func (o Options) core() objects.Options {
	core := objects.DefaultOptions()
	if o.Lifetimes != nil {
		core.Lifetimes = *o.Lifetimes
	}
	return core
}

// Loop is the single writer of one Core.
type Loop struct {
	core *scheduler.Core
	sink Sink
	opt  Options

	mu     sync.Mutex // guards box, over, waits and ebb
	box    []envelope
	over   bool          // nothing comes into the box any more
	mail   atomic.Bool   // box is not empty: for a look without the lock
	waits  int           // commands in the box
	behind atomic.Int64  // effects that the Sink has not taken, or is taking
	ebb    chan struct{} // closed when the box is emptied; nil: nobody waits
	bell   chan struct{} // holds one ring while box may be non-empty
	ended  chan struct{} // closed when Run returns

	idle     atomic.Bool
	progress atomic.Int64          // when the loop last got somewhere, in nanoseconds since 1970; 0: never
	audited  atomic.Pointer[Audit] // the last audit; nil: none

	supposing chan struct{} // has room for the one whose question is next

	// Only Run's goroutine touches the rest.
	last   time.Time           // the time of the last step: time never goes back
	untold []scheduler.Effect  // waiting for the Sink
	spare  []envelope          // an empty box
	hungry bool                // a decision may be possible
	view   *scheduler.Snapshot // of the state as it is; nil: nobody asked since it changed

	readers []reader // who waits for a snapshot
	refresh refresh
	turns   int // decisions since something was done for readers

	auditing auditing

	decided func(took time.Duration) // told of each run of decisions; nil: nobody is interested

	drained func() // told when the partition may go; nil: nobody is interested
	empty   bool   // it has been told
}

type envelope struct {
	cmds  []scheduler.Command
	reply chan<- []scheduler.Effect // nil: nobody waits
	look  func()                    // instead of commands: a reader, run by Run's goroutine
}

// New returns a Loop around core, which nobody else may touch from now on.
func New(core *scheduler.Core, sink Sink, opt Options) *Loop {
	if opt.Now == nil {
		opt.Now = time.Now
	}
	opt.Stride = orDefault(opt.Stride, 256)
	opt.MaxUntold = orDefault(opt.MaxUntold, 8192)
	opt.HighWater = orDefault(opt.HighWater, 65536)
	return &Loop{core: core, sink: sink, opt: opt, bell: make(chan struct{}, 1), ended: make(chan struct{}),
		supposing: make(chan struct{}, 1)}
}

func orDefault(n, otherwise int) int {
	if n <= 0 {
		return otherwise
	}
	return n
}

// Run drives the Core until ctx ends. What was sent by then is taken and told; nothing more
// is decided.
func (l *Loop) Run(ctx context.Context) {
	if l.opt.TellFirst {
		l.runInLine(ctx)
		return
	}
	l.runBeside(ctx)
}

// decide lets the Core decide so many things.
func (l *Loop) decide(stride int) {
	now := l.now()
	if at, ok := l.core.NextDeadline(); ok && !now.Before(at) {
		l.view = nil // what is due may change more than is told
	}
	l.turns += stride
	effects, more := l.core.Schedule(now, stride)
	if l.decided != nil {
		l.decided(l.since(now))
	}
	l.untold = append(l.untold, effects...) // the Core uses its slice again
	l.hungry = more
	if len(effects) > 0 {
		l.view = nil
	}
	l.watch()
}

func (l *Loop) takeAll() {
	l.mu.Lock()
	box, ebb := l.box, l.ebb
	l.box, l.waits, l.ebb = l.spare, 0, nil
	l.mail.Store(false)
	l.mu.Unlock()
	if ebb != nil {
		close(ebb)
	}
	for _, m := range box {
		if m.look != nil {
			m.look()
			continue
		}
		before := len(l.untold)
		l.step(m.cmds)
		if m.reply != nil {
			m.reply <- slices.Clone(l.untold[before:])
		}
	}
	l.watch()
	clear(box)
	l.spare = box[:0]
	if cap(box) > mostSpare {
		l.spare = nil
	}
}

// shut refuses what comes from now on, and takes what came before: nothing that Send took is
// lost without an answer.
func (l *Loop) shut() {
	l.mu.Lock()
	l.over = true
	l.mu.Unlock()
	l.takeAll()
}

// watch tells who is interested that the partition may go, once.
func (l *Loop) watch() {
	if empty := l.core.Drained(); empty != l.empty {
		if l.empty = empty; empty && l.drained != nil {
			l.drained()
		}
	}
}

// mostSpare is for how many messages an empty mailbox keeps room.
const mostSpare = 1024

// step puts what follows from commands behind what is not told yet.
func (l *Loop) step(cmds []scheduler.Command) {
	now := l.now()
	for _, cmd := range cmds {
		l.untold = append(l.untold, l.core.Step(now, cmd)...)
	}
	l.hungry, l.view = true, nil
}

// now reads the clock. A clock that was set back stands still for the Core. The
// monotonic reading is taken off: times from a tag or a tape have none, and an order
// that compared some times by one clock and some by another would not be an order.
func (l *Loop) now() time.Time {
	if t := l.opt.Now().Round(0); t.After(l.last) {
		l.last = t
	}
	return l.last
}

// since is how long ago a reading of the clock was; of a clock that was set back meanwhile, 0.
func (l *Loop) since(t time.Time) time.Duration { return max(0, l.opt.Now().Sub(t)) }
