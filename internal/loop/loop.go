package loop

import (
	"context"
	"sync"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// Sink takes effects away, one batch at a time, in order. It runs beside the loop and
// may Send and Call. While Deliver has not returned, decisions go on only until
// Options.MaxUntold effects wait. A Loop ends only when Deliver returns.
type Sink interface{ Deliver([]scheduler.Effect) }

// Options say how a Loop drives its Core. The zero value is good for a Core without an
// Oracle.
type Options struct {
	Now       func() time.Time // the clock; nil: time.Now
	Stride    int              // decisions before waiting commands are looked at again; 0: 256
	TellFirst bool             // decide only while everything decided has been delivered
	MaxUntold int              // effects that may wait for the Sink before decisions pause; 0: 8192
	HighWater int              // commands that may wait before Wait blocks; 0: 65536
}

// Loop is the single writer of one Core.
type Loop struct {
	core *scheduler.Core
	sink Sink
	opt  Options

	mu    sync.Mutex // guards box, waits and ebb
	box   []envelope
	waits int           // commands in the box
	ebb   chan struct{} // closed when the box is emptied; nil: nobody waits
	bell  chan struct{} // holds one ring while box may be non-empty
	ended chan struct{} // closed when Run returns

	// Only Run's goroutine touches the rest.
	last   time.Time           // the time of the last step: time never goes back
	untold []scheduler.Effect  // waiting for the Sink
	tells  bool                // the Sink has a batch
	hungry bool                // a decision may be possible
	view   *scheduler.Snapshot // of the state as it is; nil: nobody asked since it changed
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
	return &Loop{core: core, sink: sink, opt: opt, bell: make(chan struct{}, 1), ended: make(chan struct{})}
}

func orDefault(n, otherwise int) int {
	if n <= 0 {
		return otherwise
	}
	return n
}

// Run drives the Core until ctx ends. Commands that wait then are dropped.
func (l *Loop) Run(ctx context.Context) {
	out, told := make(chan []scheduler.Effect), make(chan struct{}, 1)
	delivered := make(chan struct{})
	go func() {
		defer close(delivered)
		for batch := range out {
			l.sink.Deliver(batch)
			told <- struct{}{}
		}
	}()
	defer func() {
		close(l.ended)
		if l.tells {
			<-told
		}
		if len(l.untold) > 0 {
			out <- l.untold
		}
		close(out)
		<-delivered
	}()

	for {
		var tell chan<- []scheduler.Effect
		if !l.tells && len(l.untold) > 0 {
			tell = out
		}
		var more chan struct{} // always ready while there is something to decide
		if l.mayDecide() {
			more = closed
		}
		due, stop := l.alarm()
		select {
		case <-ctx.Done():
			stop()
			return
		case <-l.bell:
			l.takeAll()
		case <-due:
			l.step([]scheduler.Command{scheduler.Wake{}})
		case tell <- l.untold:
			l.untold, l.tells = nil, true
		case <-told:
			l.tells = false
		case <-more:
		}
		stop()
		l.takeAll()
		l.decide()
	}
}

var closed = func() chan struct{} { c := make(chan struct{}); close(c); return c }()

// mayDecide reports whether the Core may be asked for decisions now.
func (l *Loop) mayDecide() bool {
	if !l.hungry {
		return false
	}
	if l.opt.TellFirst {
		return !l.tells && len(l.untold) == 0
	}
	return len(l.untold) < l.opt.MaxUntold
}

// decide lets the Core decide one stride.
func (l *Loop) decide() {
	if !l.mayDecide() {
		return
	}
	stride := l.opt.Stride
	if l.opt.TellFirst {
		stride = 1
	}
	effects, more := l.core.Schedule(l.now(), stride)
	l.untold = append(l.untold, effects...)
	l.hungry = more
	if len(effects) > 0 {
		l.view = nil
	}
}

func (l *Loop) takeAll() {
	l.mu.Lock()
	box, ebb := l.box, l.ebb
	l.box, l.waits, l.ebb = nil, 0, nil
	l.mu.Unlock()
	if ebb != nil {
		close(ebb)
	}
	for _, m := range box {
		if m.look != nil {
			m.look()
			continue
		}
		effects := l.step(m.cmds)
		if m.reply != nil {
			m.reply <- effects
		}
	}
}

func (l *Loop) step(cmds []scheduler.Command) (effects []scheduler.Effect) {
	now := l.now()
	for _, cmd := range cmds {
		effects = append(effects, l.core.Step(now, cmd)...)
	}
	l.untold = append(l.untold, effects...)
	l.hungry, l.view = true, nil
	return effects
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

// alarm rings at the Core's next deadline, if it has one.
func (l *Loop) alarm() (due <-chan time.Time, stop func()) {
	t, ok := l.core.NextDeadline()
	if !ok {
		return nil, func() {}
	}
	timer := time.NewTimer(t.Sub(l.now()))
	return timer.C, func() { timer.Stop() }
}
