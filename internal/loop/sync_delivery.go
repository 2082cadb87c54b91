package loop

import (
	"context"

	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// runSync delivers where it decides: what follows from commands, or from one decision,
// has been delivered before anything else happens. Handing it to another goroutine would
// cost more than deciding, and there is nothing to do meanwhile: the next decision waits
// for the delivery anyway.
func (l *Loop) runSync(ctx context.Context) {
	defer close(l.ended)
	l.startAudits()
	var timer deadlineTimer
	defer timer.stop()
	for {
		l.drainMailbox()
		l.deliver()
		for n := 0; l.needsScheduling && n < l.opt.DecisionBatch && !l.readersDue() && ctx.Err() == nil; n++ {
			l.decide(1)
			l.deliver()
			l.noteProgress()
			if l.hasMail.Load() {
				break
			}
		}
		l.serveReaders()
		l.stepAudit()
		l.yieldToOthers()
		if ctx.Err() != nil {
			l.closeMailbox()
			l.deliver()
			return
		}
		if l.hasMail.Load() || l.needsScheduling || len(l.readers) > 0 || l.auditPending() {
			continue
		}
		l.noteProgress()
		l.idle.Store(true)
		select {
		case <-ctx.Done():
		case <-l.wake:
		case <-timer.set(l):
			timer.fired()
			l.applyCommands(wakeCommands)
		}
		l.idle.Store(false)
	}
}

// deliver tells what is untold.
func (l *Loop) deliver() {
	if len(l.undelivered) == 0 {
		return
	}
	l.sink.Deliver(l.undelivered)
	l.undelivered = l.reuse(l.undelivered)
}

// reuse is the room of a batch that has been told, for another one, unless it is a lot.
func (l *Loop) reuse(batch []scheduler.Effect) []scheduler.Effect {
	if cap(batch) > 2*l.opt.MaxUndelivered {
		return nil
	}
	clear(batch)
	return batch[:0]
}
