package loop

import (
	"context"

	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// runAsync delivers in a goroutine of its own: decisions run ahead of a Sink that takes
// its time, up to a bound, and news never waits for it.
func (l *Loop) runAsync(ctx context.Context) {
	batches, emptied := make(chan []scheduler.Effect), make(chan []scheduler.Effect, 1)
	sinkDone := make(chan struct{})
	go func() {
		defer close(sinkDone)
		for batch := range batches {
			l.sink.Deliver(batch)
			emptied <- l.reuse(batch)
		}
	}()
	delivering, inFlight := false, 0 // the Sink has a batch, of so many effects
	var spare []scheduler.Effect     // room for the next one
	defer func() {
		close(l.ended)
		if delivering {
			<-emptied
		}
		if len(l.undelivered) > 0 {
			batches <- l.undelivered
		}
		close(batches)
		<-sinkDone
	}()

	l.startAudits()
	var timer deadlineTimer
	defer timer.stop()
	for {
		var send chan<- []scheduler.Effect
		if !delivering && len(l.undelivered) > 0 {
			send = batches
		}
		var ready chan struct{} // always ready while there is something to decide, or to do for readers
		if l.mayDecide() || len(l.readers) > 0 || l.auditPending() {
			ready = closedChan
		}
		l.idle.Store(ready == nil)
		select {
		case <-ctx.Done():
			l.closeMailbox()
			return
		case <-l.wake:
		case <-timer.set(l):
			timer.fired()
			l.applyCommands(wakeCommands)
		case send <- l.undelivered:
			delivering, inFlight = true, len(l.undelivered)
			l.undelivered, spare = spare, nil
		case spare = <-emptied:
			delivering, inFlight = false, 0
		case <-ready:
		}
		l.idle.Store(false)
		l.drainMailbox()
		if l.mayDecide() {
			l.decide(l.decisionBatch())
		}
		l.serveReaders()
		l.stepAudit()
		l.yieldToOthers()
		l.noteSinkBacklog(len(l.undelivered) + inFlight)
		l.noteProgress()
	}
}

// mayDecide reports whether the Core may be asked for decisions now.
func (l *Loop) mayDecide() bool {
	return l.needsScheduling && len(l.undelivered) < l.opt.MaxUndelivered
}

var (
	closedChan   = func() chan struct{} { c := make(chan struct{}); close(c); return c }()
	wakeCommands = []scheduler.Command{scheduler.Wake{}}
)
