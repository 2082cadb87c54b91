package loop

import (
	"context"

	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// delivery is a goroutine that calls the Sink, and the batch that this goroutine has.
type delivery struct {
	batches   chan []scheduler.Effect
	emptied   chan []scheduler.Effect // buffers of batches that were delivered
	ended     chan struct{}           // closed when the goroutine ends, which it does when batches is closed
	delivered bool                    // no batch is with the Sink
	inFlight  int                     // effects of the batch that is with the Sink
	spare     []scheduler.Effect      // buffer for the next batch
}

func (l *Loop) startDelivery() *delivery {
	d := &delivery{make(chan []scheduler.Effect), make(chan []scheduler.Effect, 1), make(chan struct{}), true, 0, nil}
	go func() {
		defer close(d.ended)
		for batch := range d.batches {
			l.sink.Deliver(batch)
			d.emptied <- l.reuse(batch)
		}
	}()
	return d
}

// noteSent notes that the Sink has got what was undelivered.
func (l *Loop) noteSent(d *delivery) {
	d.delivered, d.inFlight = false, len(l.undelivered)
	l.undelivered, d.spare = d.spare, nil
}

func (d *delivery) noteDelivered(buffer []scheduler.Effect) {
	d.delivered, d.inFlight, d.spare = true, 0, buffer
}

// offerEffects hands effects to the Sink if the Sink is ready, and does not wait.
func (l *Loop) offerEffects(d *delivery) {
	select {
	case buffer := <-d.emptied:
		d.noteDelivered(buffer)
	default:
	}
	if !d.delivered || len(l.undelivered) == 0 {
		return
	}
	select {
	case d.batches <- l.undelivered:
		l.noteSent(d)
	default:
	}
}

// finishDelivery delivers what is left, and ends the goroutine.
func (l *Loop) finishDelivery(d *delivery) {
	if !d.delivered {
		<-d.emptied
	}
	if len(l.undelivered) > 0 {
		d.batches <- l.undelivered
		l.undelivered = <-d.emptied
	}
	close(d.batches)
	<-d.ended
	l.noteSinkBacklog(0)
}

// runAsync delivers effects on a goroutine of its own (ORD-5). Decisions run ahead of a slow Sink
// up to MaxUndelivered effects; commands never wait for it. It returns when ctx ends, or, with ended
// false, when the mode has changed; all effects are delivered then.
func (l *Loop) runAsync(ctx context.Context) (ended bool) {
	d := l.startDelivery()
	defer func() {
		if ended {
			close(l.ended)
		}
		l.finishDelivery(d)
	}()
	offer := func() { l.offerEffects(d) }

	var timer deadlineTimer
	defer timer.stop()
	for {
		var send chan<- []scheduler.Effect
		if d.delivered && len(l.undelivered) > 0 {
			send = d.batches
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
			l.noteSent(d)
		case buffer := <-d.emptied:
			d.noteDelivered(buffer)
		case <-ready:
		}
		l.rest.Store(restNone)
		l.drainMailbox()
		if l.sync {
			return false
		}
		l.decideAndServe(offer)
		l.noteSinkBacklog(len(l.undelivered) + d.inFlight)
		l.noteProgress()
	}
}

// decideAndServe makes decisions, and does a slice of a snapshot and a step of an audit if they are due. offer hands
// effects to a Sink that is ready, before the slice and the step: a decision does not wait for readers.
func (l *Loop) decideAndServe(offer func()) {
	if l.mayDecide() {
		l.decide(l.decisionBatch())
	}
	if len(l.readers) > 0 || l.auditPending() {
		offer()
		l.yieldToOthers()
	}
	l.serveReaders()
	l.stepAudit()
	l.yieldToOthers()
}

// mayDecide reports whether Core.Schedule may be called now (RMI-45).
func (l *Loop) mayDecide() bool {
	return l.needsScheduling && len(l.undelivered) < l.opt.MaxUndelivered && !l.holdsBack()
}

var (
	closedChan   = func() chan struct{} { c := make(chan struct{}); close(c); return c }()
	wakeCommands = []scheduler.Command{scheduler.Wake{}}
)
