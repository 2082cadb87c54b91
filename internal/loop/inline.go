package loop

import (
	"context"

	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// runInLine delivers where it decides: what follows from commands, or from one decision,
// has been delivered before anything else happens. Handing it to another goroutine would
// cost more than deciding, and there is nothing to do meanwhile: the next decision waits
// for the delivery anyway.
func (l *Loop) runInLine(ctx context.Context) {
	defer close(l.ended)
	l.startAudits()
	var next alarm
	defer next.stop()
	for {
		l.takeAll()
		l.deliver()
		for n := 0; l.hungry && n < l.opt.Stride && !l.mayRead() && ctx.Err() == nil; n++ {
			l.decide(1)
			l.deliver()
			l.moved()
			if l.mail.Load() {
				break
			}
		}
		l.serveReaders()
		l.auditMore()
		l.letOthersRun()
		if ctx.Err() != nil {
			l.shut()
			l.deliver()
			return
		}
		if l.mail.Load() || l.hungry || len(l.readers) > 0 || l.audits() {
			continue
		}
		l.moved()
		l.idle.Store(true)
		select {
		case <-ctx.Done():
		case <-l.bell:
		case <-next.set(l):
			next.rang()
			l.step(wake)
		}
		l.idle.Store(false)
	}
}

// deliver tells what is untold.
func (l *Loop) deliver() {
	if len(l.untold) == 0 {
		return
	}
	l.sink.Deliver(l.untold)
	l.untold = l.emptied(l.untold)
}

// emptied is the room of a batch that has been told, for another one, unless it is a lot.
func (l *Loop) emptied(batch []scheduler.Effect) []scheduler.Effect {
	if cap(batch) > 2*l.opt.MaxUntold {
		return nil
	}
	clear(batch)
	return batch[:0]
}
