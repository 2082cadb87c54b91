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
// go on only until Options.MaxUndelivered effects wait. With Options.SyncDelivery it runs on the
// loop's own goroutine: nothing is taken or decided meanwhile, so it may Send, but must
// not wait for the Loop (ADR 16).
type Sink interface{ Deliver([]scheduler.Effect) }

// Options say how a Loop drives its Core. The zero value is good for a Core without an
// Oracle.
type Options struct {
	Now            func() time.Time // the clock; nil: time.Now
	DecisionBatch  int              // decisions before waiting commands are looked at again; 0: 256
	SyncDelivery   bool             // deliver what is decided before anything else is done
	MaxUndelivered int              // effects that may wait for the Sink before decisions pause; 0: 8192
	HighWater      int              // commands that may wait before Wait blocks; 0: 65536. Four times MaxUndelivered effects count as much

	// DecisionMeter is asked once for each partition of a Cluster; what it returns is told how long each run
	// of decisions took, by the loop, which waits for it meanwhile. nil, or if it returns nil: nobody
	// measures, and no clock is read for it.
	DecisionMeter func(partition string) func(took time.Duration)

	// AuditEvery is how often the books are audited without a request, in steps beside deciding;
	// 0: never.
	AuditEvery time.Duration

	// OnAudit is told of each audit that has finished, by the loop, which waits for it meanwhile.
	// nil: no one is told.
	OnAudit func(partition string, a Audit)

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

	mu             sync.Mutex // guards box, over, waits and ebb
	mailbox        []envelope
	closed         bool          // nothing comes into the box any more
	hasMail        atomic.Bool   // box is not empty: for a look without the lock
	queuedCommands int           // commands in the box
	sinkBacklog    atomic.Int64  // effects that the Sink has not taken, or is taking
	mailboxDrained chan struct{} // closed when the box is emptied; nil: nobody waits
	wake           chan struct{} // holds one ring while box may be non-empty
	ended          chan struct{} // closed when Run returns

	idle      atomic.Bool
	progress  atomic.Int64          // when the loop last got somewhere, in nanoseconds since 1970; 0: never
	lastAudit atomic.Pointer[Audit] // the last audit; nil: none

	queryLock chan struct{} // has room for the one whose question is next

	// Only Run's goroutine touches the rest.
	lastTime        time.Time           // the time of the last step: time never goes back
	undelivered     []scheduler.Effect  // waiting for the Sink
	spareMailbox    []envelope          // an empty box
	needsScheduling bool                // a decision may be possible
	cachedSnapshot  *scheduler.Snapshot // of the state as it is; nil: nobody asked since it changed

	readers            []reader // who waits for a snapshot
	refresh            snapshotRefresh
	decisionsSinceRead int // decisions since something was done for readers

	auditState auditState

	onDecided func(took time.Duration) // told of each run of decisions; nil: nobody is interested

	onDrained       func() // told when the partition may go; nil: nobody is interested
	drainedNotified bool   // it has been told
}

type envelope struct {
	cmds  []scheduler.Command
	reply chan<- []scheduler.Effect // nil: nobody waits
	run   func()                    // instead of commands: a reader, run by Run's goroutine
}

// New returns a Loop around core, which nobody else may touch from now on.
func New(core *scheduler.Core, sink Sink, opt Options) *Loop {
	if opt.Now == nil {
		opt.Now = time.Now
	}
	opt.DecisionBatch = orDefault(opt.DecisionBatch, 256)
	opt.MaxUndelivered = orDefault(opt.MaxUndelivered, 8192)
	opt.HighWater = orDefault(opt.HighWater, 65536)
	return &Loop{core: core, sink: sink, opt: opt, wake: make(chan struct{}, 1), ended: make(chan struct{}),
		queryLock: make(chan struct{}, 1)}
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
	if l.opt.SyncDelivery {
		l.runSync(ctx)
		return
	}
	l.runAsync(ctx)
}

// decide lets the Core decide so many things.
func (l *Loop) decide(n int) {
	now := l.now()
	if at, ok := l.core.NextDeadline(); ok && !now.Before(at) {
		l.cachedSnapshot = nil // what is due may change more than is told
	}
	l.decisionsSinceRead += n
	effects, more := l.core.Schedule(now, n)
	if l.onDecided != nil {
		l.onDecided(l.since(now))
	}
	l.undelivered = append(l.undelivered, effects...) // the Core uses its slice again
	l.needsScheduling = more
	if len(effects) > 0 {
		l.cachedSnapshot = nil
	}
	l.notifyDrained()
}

func (l *Loop) drainMailbox() {
	l.mu.Lock()
	items, drained := l.mailbox, l.mailboxDrained
	l.mailbox, l.queuedCommands, l.mailboxDrained = l.spareMailbox, 0, nil
	l.hasMail.Store(false)
	l.mu.Unlock()
	if drained != nil {
		close(drained)
	}
	for _, item := range items {
		if item.run != nil {
			item.run()
			continue
		}
		before := len(l.undelivered)
		l.applyCommands(item.cmds)
		if item.reply != nil {
			item.reply <- slices.Clone(l.undelivered[before:])
		}
	}
	l.notifyDrained()
	clear(items)
	l.spareMailbox = items[:0]
	if cap(items) > maxSpareMailbox {
		l.spareMailbox = nil
	}
}

// closeMailbox refuses what comes from now on, and takes what came before: nothing that Send took is
// lost without an answer.
func (l *Loop) closeMailbox() {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.drainMailbox()
}

// notifyDrained tells who is interested that the partition may go, once.
func (l *Loop) notifyDrained() {
	if empty := l.core.Removable(); empty != l.drainedNotified {
		if l.drainedNotified = empty; empty && l.onDrained != nil {
			l.onDrained()
		}
	}
}

// maxSpareMailbox is for how many messages an empty mailbox keeps room.
const maxSpareMailbox = 1024

// applyCommands puts what follows from commands behind what is not told yet.
func (l *Loop) applyCommands(cmds []scheduler.Command) {
	now := l.now()
	for _, cmd := range cmds {
		l.undelivered = append(l.undelivered, l.core.Step(now, cmd)...)
	}
	l.needsScheduling, l.cachedSnapshot = true, nil
}

// now reads the clock. A clock that was set back stands still for the Core. The
// monotonic reading is taken off: times from a tag or a tape have none, and an order
// that compared some times by one clock and some by another would not be an order.
func (l *Loop) now() time.Time {
	if t := l.opt.Now().Round(0); t.After(l.lastTime) {
		l.lastTime = t
	}
	return l.lastTime
}

// since is how long ago a reading of the clock was; of a clock that was set back meanwhile, 0.
func (l *Loop) since(t time.Time) time.Duration { return max(0, l.opt.Now().Sub(t)) }
