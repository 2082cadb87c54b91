package loop

import (
	"context"

	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// runAsync delivers effects on a goroutine of its own (ORD-5). Decisions run ahead of a slow Sink
// up to MaxUndelivered effects; commands never wait for it. It returns when ctx ends, or, with ended
// false, when the mode has changed; all effects are delivered then.
func (l *Loop) runAsync(ctx context.Context) (ended bool) {
	batches, emptied := make(chan []scheduler.Effect), make(chan []scheduler.Effect, 1)
	sinkDone := make(chan struct{})
	go func() {
		defer close(sinkDone)
		for batch := range batches {
			l.sink.Deliver(batch)
			emptied <- l.reuse(batch)
		}
	}()
	delivering, inFlight := false, 0 // the Sink has a batch, with this many effects
	var spare []scheduler.Effect     // buffer for the next batch
	defer func() {
		if ended {
			close(l.ended)
		}
		if delivering {
			<-emptied
		}
		if len(l.undelivered) > 0 {
			batches <- l.undelivered
			l.undelivered = <-emptied
		}
		close(batches)
		<-sinkDone
		l.noteSinkBacklog(0)
	}()

	var timer deadlineTimer
	defer timer.stop()
	for {
		var send chan<- []scheduler.Effect
		if !delivering && len(l.undelivered) > 0 {
			send = batches
		}
		var ready chan struct{} // always ready while there is work: decisions, readers or an audit
		if l.mayDecide() || len(l.readers) > 0 || l.auditPending() {
			ready = closedChan
		}
		l.rest.Store(restOf(ready == nil, l.needsScheduling)) // it may wait for the Sink before it decides
		select {
		case <-ctx.Done():
			l.closeMailbox()
			return true
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
		l.rest.Store(restNone)
		l.drainMailbox()
		if l.sync {
			return false
		}
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

// mayDecide reports whether Core.Schedule may be called now (RMI-45).
func (l *Loop) mayDecide() bool {
	return l.needsScheduling && len(l.undelivered) < l.opt.MaxUndelivered && !l.holdsBack()
}

var (
	closedChan   = func() chan struct{} { c := make(chan struct{}); close(c); return c }()
	wakeCommands = []scheduler.Command{scheduler.Wake{}}
)
