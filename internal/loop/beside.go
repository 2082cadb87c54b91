package loop

import (
	"context"

	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// runBeside delivers in a goroutine of its own: decisions run ahead of a Sink that takes
// its time, up to a bound, and news never waits for it.
func (l *Loop) runBeside(ctx context.Context) {
	out, told := make(chan []scheduler.Effect), make(chan []scheduler.Effect, 1)
	delivered := make(chan struct{})
	go func() {
		defer close(delivered)
		for batch := range out {
			l.sink.Deliver(batch)
			told <- l.emptied(batch)
		}
	}()
	tells, telling := false, 0   // the Sink has a batch, of so many effects
	var spare []scheduler.Effect // room for the next one
	defer func() {
		close(l.ended)
		if tells {
			<-told
		}
		if len(l.untold) > 0 {
			out <- l.untold
		}
		close(out)
		<-delivered
	}()

	l.startAudits()
	var next alarm
	defer next.stop()
	for {
		var tell chan<- []scheduler.Effect
		if !tells && len(l.untold) > 0 {
			tell = out
		}
		var more chan struct{} // always ready while there is something to decide, or to do for readers
		if l.mayDecide() || len(l.readers) > 0 || l.audits() {
			more = closed
		}
		l.idle.Store(more == nil)
		select {
		case <-ctx.Done():
			l.shut()
			return
		case <-l.bell:
		case <-next.set(l):
			next.rang()
			l.step(wake)
		case tell <- l.untold:
			tells, telling = true, len(l.untold)
			l.untold, spare = spare, nil
		case spare = <-told:
			tells, telling = false, 0
		case <-more:
		}
		l.idle.Store(false)
		l.takeAll()
		if l.mayDecide() {
			l.decide(l.stride())
		}
		l.serveReaders()
		l.auditMore()
		l.letOthersRun()
		l.noteBehind(len(l.untold) + telling)
		l.moved()
	}
}

// mayDecide reports whether the Core may be asked for decisions now.
func (l *Loop) mayDecide() bool { return l.hungry && len(l.untold) < l.opt.MaxUntold }

var (
	closed = func() chan struct{} { c := make(chan struct{}); close(c); return c }()
	wake   = []scheduler.Command{scheduler.Wake{}}
)
