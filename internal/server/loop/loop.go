package loop

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/lifecycle"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// Sink receives effects, one batch at a time, in order. It must not keep the batch after Deliver
// returns. A Loop ends only when Deliver has returned.
//
// By default Deliver runs on a goroutine of its own and may Send and Call; until it returns,
// decisions go on up to Options.MaxUndelivered effects. With Options.SyncDelivery Deliver runs on
// the goroutine of the loop, which does nothing else meanwhile: so Deliver may Send, but must not
// wait for the Loop (ADR 16).
type Sink interface{ Deliver([]scheduler.Effect) }

// Options configure a Loop (ORD-2). The zero value is valid for a Core without an Oracle.
type Options struct {
	Now            func() time.Time // the clock; nil: time.Now
	DecisionBatch  int              // decisions before waiting commands are applied; 0: 256
	SyncDelivery   bool             // deliver each decision before anything else is done, until Cluster.Reset changes it
	MaxUndelivered int              // effects that may wait for the Sink before decisions pause; 0: 8192
	// HighWater is the number of commands that may wait before Wait blocks; 0: 65536. Wait also blocks at four times
	// MaxUndelivered effects.
	HighWater int

	// DecisionMeter is called once for each partition of a Cluster; the function that it returns
	// is called by the loop with the duration of each batch of decisions, and must not block.
	// nil, or a nil function: nothing is measured, and the clock is not read for it.
	DecisionMeter func(partition string) func(took time.Duration)

	// AuditEvery is the interval of regular audits, which run in steps between decisions; 0:
	// none.
	AuditEvery time.Duration

	// OnAudit is called by the loop with each audit that has finished. It must not block. nil:
	// not called.
	OnAudit func(partition string, a Audit)

	// OnRecovered is called by the loop when a recovery is over (RMI-80). It must not block. nil: not called.
	OnRecovered func(partition string, r Recovery)

	// Lifetimes of the Cores that a Cluster makes; nil: objects.DefaultLifetimes.
	Lifetimes *lifecycle.Lifetimes

	// Recorder is called once for each partition of a Cluster, with its Core and the options of that; nil: nothing is
	// recorded.
	Recorder func(partition string, core *scheduler.Core, opt objects.Options) Recorder

	// FirstCommands are applied to a new partition of a Cluster before anything else; nil: there are none.
	FirstCommands func(partition string) []scheduler.Command
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

	mu             sync.Mutex // guards mailbox, closed, queuedCommands and mailboxDrained
	mailbox        []envelope
	closed         bool          // nothing is accepted any more
	hasMail        atomic.Bool   // mailbox is not empty: readable without the lock
	queuedCommands int           // commands in mailbox
	sinkBacklog    atomic.Int64  // effects that the Sink has not finished
	mailboxDrained chan struct{} // closed when the mailbox is emptied; nil: no goroutine waits
	wake           chan struct{} // holds a value while mailbox may be non-empty
	ended          chan struct{} // closed when Run returns

	rest      atomic.Int32          // restNone, restUndecided or restDone
	progress  atomic.Int64          // begin of the last finished step, in nanoseconds since 1970; 0: none
	lastAudit atomic.Pointer[Audit] // the last audit; nil: none

	queryLock chan struct{} // holds a token during a slow query (Explain, DryRun)

	// Only the goroutine of Run accesses the fields below.
	sync            bool                // effects are delivered by the loop itself; see Mode
	lastTime        time.Time           // the time of the last step: time never goes back
	lastReading     time.Time           // of the clock, monotonic if the clock is
	undelivered     []scheduler.Effect  // effects waiting for the Sink
	spareMailbox    []envelope          // an empty buffer for mailbox
	needsScheduling bool                // a decision may be possible
	cachedSnapshot  *scheduler.Snapshot // of the current state; nil: none was made since it changed

	readers            []reader // callers that wait for a snapshot
	refresh            snapshotRefresh
	decisionsSinceRead int // decisions since the last work for readers

	auditState auditState

	recorder    Recorder // nil: nothing is recorded
	rate        placementRate
	recovery    recovery
	onRecovered func(Recovery) // called when a recovery is over; may be nil

	onDecided func(took time.Duration) // called with the duration of each batch of decisions; may be nil

	onDrained       func() // called when the partition is drained; may be nil
	drainedNotified bool   // onDrained was called for the present state
}

type envelope struct {
	cmds  []scheduler.Command
	reply chan<- []scheduler.Effect // nil: no caller waits
	run   func()                    // instead of commands: a query, run by the goroutine of Run
}

// New returns a Loop around core. The caller must not access core any more.
func New(core *scheduler.Core, sink Sink, opt Options) *Loop {
	if opt.Now == nil {
		opt.Now = time.Now
	}
	opt.DecisionBatch = orDefault(opt.DecisionBatch, 256)
	opt.MaxUndelivered = orDefault(opt.MaxUndelivered, 8192)
	opt.HighWater = orDefault(opt.HighWater, 65536)
	return &Loop{core: core, sink: sink, opt: opt, sync: opt.SyncDelivery, wake: make(chan struct{}, 1),
		ended:     make(chan struct{}),
		queryLock: make(chan struct{}, 1)}
}

func orDefault(n, fallback int) int {
	if n <= 0 {
		return fallback
	}
	return n
}

// Run drives the Core until ctx ends. Commands that were sent before are applied and their
// effects delivered; nothing more is decided.
func (l *Loop) Run(ctx context.Context) {
	if l.recorder != nil {
		defer l.recorder.Close() // also when the Core panics
	}
	l.startAudits()
	for ended := false; !ended; { // once more for each change of the mode
		if l.sync {
			ended = l.runSync(ctx)
		} else {
			ended = l.runAsync(ctx)
		}
	}
}

// decide lets the Core make up to n decisions.
func (l *Loop) decide(n int) {
	effects := l.schedule(n)
	l.undelivered = append(l.undelivered, effects...) // the Core reuses its slice
}

// schedule lets the Core make up to n decisions and returns their effects (OBS-67). They are valid until the next call
// of the Core.
func (l *Loop) schedule(n int) []scheduler.Effect {
	now := l.now()
	if l.cachedSnapshot != nil {
		if at, ok := l.core.NextDeadline(); ok && !now.Before(at) {
			l.cachedSnapshot = nil // expirations may change more than the effects say
		}
	}
	l.decisionsSinceRead += n
	if l.recorder != nil {
		l.recorder.Schedule(now, n)
	}
	effects, more := l.core.Schedule(now, n)
	if l.recorder != nil {
		l.recorder.Effects(effects, more)
	}
	if l.onDecided != nil {
		l.onDecided(l.since(now))
	}
	l.needsScheduling = more
	if len(effects) > 0 {
		l.cachedSnapshot = nil
	}
	l.notifyDrained()
	return effects
}

// drainMailbox applies all waiting commands and runs all waiting queries, in order (ORD-4).
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

// closeMailbox refuses further commands, and applies those that were accepted before: every
// command is applied or refused.
func (l *Loop) closeMailbox() {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.drainMailbox()
}

// notifyDrained calls onDrained when the partition becomes drained, once.
func (l *Loop) notifyDrained() {
	if empty := l.core.Removable(); empty != l.drainedNotified {
		l.drainedNotified = empty
		if empty && l.onDrained != nil {
			l.onDrained()
		}
	}
}

// maxSpareMailbox is the capacity, in envelopes, that an empty mailbox keeps.
const maxSpareMailbox = 1024

// applyCommands applies commands and appends their effects to undelivered.
func (l *Loop) applyCommands(cmds []scheduler.Command) {
	now := l.now()
	for _, cmd := range cmds {
		if l.recovery.quiet > 0 {
			l.noteCommand(cmd, now)
		}
		l.undelivered = append(l.undelivered, l.step(now, cmd)...)
	}
	l.needsScheduling, l.cachedSnapshot = true, nil
}

// step applies a command and returns its effects, which are valid until the next call of the Core.
func (l *Loop) step(now time.Time, cmd scheduler.Command) []scheduler.Effect {
	if l.recorder == nil {
		return l.core.Step(now, cmd)
	}
	l.recorder.Command(now, cmd)
	effects := l.core.Step(now, cmd)
	l.recorder.Effects(effects, false)
	return effects
}

// now reads the clock. If the clock was set back, the time of the Core goes on at half its speed until the clock has
// caught up (ORD-63): it never goes back, and if it stood still, no deadline would come. The monotonic reading is
// removed from it: times from tags and recordings have none, and the order of times would be inconsistent if only some
// had one.
func (l *Loop) now() time.Time {
	reading := l.opt.Now()
	switch t := reading.Round(0); {
	case t.After(l.lastTime):
		l.lastTime = t
	default:
		// the difference is monotonic; rounded up, so that a timer ends
		l.lastTime = l.lastTime.Add((max(0, reading.Sub(l.lastReading)) + 1) / 2)
	}
	l.lastReading = reading
	return l.lastTime
}

// since is the time since a reading of the clock; 0 if the clock was set back meanwhile.
func (l *Loop) since(t time.Time) time.Duration { return max(0, l.opt.Now().Sub(t)) }
