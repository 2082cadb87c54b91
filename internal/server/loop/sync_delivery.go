package loop

import (
	"context"

	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// runSync delivers on the goroutine of the loop: the effects of commands, or of one decision, are
// delivered before anything else happens (RMI-60, NOD-31, ORD-5). A second goroutine would cost
// more than a decision, and the next decision has to wait for the delivery anyway. It returns when
// ctx ends, or, with ended false, when the mode has changed; all effects are delivered then.
func (l *Loop) runSync(ctx context.Context) (ended bool) {
	defer func() {
		if ended {
			close(l.ended)
		}
	}()
	var timer deadlineTimer
	defer timer.stop()
	for {
		l.drainMailbox()
		l.deliver()
		if !l.sync {
			return false
		}
		held := l.holdsBack() || l.rateLimited()
		for n := 0; l.needsScheduling && !held && n < l.opt.DecisionBatch && !l.readersDue() && ctx.Err() == nil; n++ {
			if effects := l.schedule(1); len(effects) > 0 { // everything else is delivered
				l.sink.Deliver(effects)
				if l.rate.every > 0 {
					l.rate.take(effects, l.now())
					held = l.rateLimited()
				}
			}
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
			return true
		}
		if l.hasMail.Load() || l.needsScheduling && !held || len(l.readers) > 0 || l.auditPending() {
			continue
		}
		l.noteProgress()
		l.rest.Store(restOf(true, l.needsScheduling))
		select {
		case <-ctx.Done():
		case <-l.wake:
		case <-timer.set(l):
			timer.fired()
			l.applyCommands(wakeCommands)
		}
		l.rest.Store(restNone)
	}
}

// deliver delivers the undelivered effects.
func (l *Loop) deliver() {
	if len(l.undelivered) == 0 {
		return
	}
	l.sink.Deliver(l.undelivered)
	l.undelivered = l.reuse(l.undelivered)
}

// reuse returns the buffer of a delivered batch for the next one, unless it is large.
func (l *Loop) reuse(batch []scheduler.Effect) []scheduler.Effect {
	if cap(batch) > 2*l.opt.MaxUndelivered {
		return nil
	}
	clear(batch)
	return batch[:0]
}
