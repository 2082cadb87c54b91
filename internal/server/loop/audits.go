package loop

import (
	"context"
	"runtime"
	"slices"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// How audits share the loop with decisions and readers (ADR 33).
const (
	// objects, asks and allocations per step; less than 1 ms, except for the sums of an object with 40,000 or more
	auditSlice = 64
	auditShare = 100 // while there is other work, an audit takes 1/auditShare of the time
)

// auditState is the audit under way, and the callers that wait for its result.
type auditState struct {
	audit     *scheduler.Audit // nil: none is under way
	began     time.Time
	waiters   []auditWaiter
	scheduled bool      // it is a regular audit, made whether or not a caller waits
	notBefore time.Time // until then it does not go on while there is other work
	nextDue   time.Time // begin of the next regular audit; zero: there are none
}

type auditWaiter struct {
	ctx   context.Context
	reply chan<- Audit
}

// Audit checks the accounting and returns the result; inconsistent accounting is in Audit.Err and
// is no error of the call. The audit runs in small steps between decisions, one at a time: all
// callers during an audit get its result. It is abandoned when no caller waits for it any more.
// Errors: ErrEnded, or that of ctx.
func (l *Loop) Audit(ctx context.Context) (Audit, error) {
	reply := make(chan Audit, 1)
	if !l.enqueue(envelope{run: func() { l.auditState.waiters = append(l.auditState.waiters, auditWaiter{ctx, reply}) }}) {
		return Audit{}, ErrEnded
	}
	return await(ctx, l, reply)
}

// auditPending reports whether an audit is under way, requested or due.
func (l *Loop) auditPending() bool {
	a := &l.auditState
	return a.audit != nil || len(a.waiters) > 0 || !a.nextDue.IsZero() && !l.lastTime.Before(a.nextDue)
}

// stepAudit does a step of the audit, if one is pending and its share of the time allows it
// (OBS-56).
func (l *Loop) stepAudit() {
	a := &l.auditState
	if !l.auditPending() {
		return
	}
	a.waiters = slices.DeleteFunc(a.waiters, func(waiter auditWaiter) bool { return waiter.ctx.Err() != nil })
	if !a.nextDue.IsZero() && !l.lastTime.Before(a.nextDue) {
		a.nextDue, a.scheduled = l.lastTime.Add(l.opt.AuditEvery), true
	}
	if len(a.waiters) == 0 && !a.scheduled {
		a.audit = nil
		return
	}
	now := l.now()
	if (l.mayDecide() || len(l.readers) > 0) && now.Before(a.notBefore) {
		return
	}
	if a.audit == nil {
		a.audit, a.began = l.core.NewAudit(), now
	}
	done, err := a.audit.Step(auditSlice)
	ended := l.now()
	a.notBefore = ended.Add(auditShare * ended.Sub(now))
	if !done {
		return
	}
	result := Audit{Finished: ended, Took: ended.Sub(a.began), Checked: a.audit.Checked(), Err: err}
	l.lastAudit.Store(&result)
	if l.opt.OnAudit != nil {
		l.opt.OnAudit(l.core.Partition().Name(), result)
	}
	for _, waiter := range a.waiters {
		waiter.reply <- result
	}
	a.audit, a.waiters, a.scheduled = nil, nil, false
	if !a.nextDue.IsZero() {
		a.nextDue = ended.Add(l.opt.AuditEvery)
	}
}

// yieldToOthers yields to other goroutines while only readers or audits keep the loop busy:
// otherwise the loop could run for 10 ms while the delivery of decisions waits for a processor.
func (l *Loop) yieldToOthers() {
	if !l.needsScheduling && (len(l.readers) > 0 || l.auditState.audit != nil) {
		runtime.Gosched()
	}
}

// startAudits sets the time of the first regular audit (OBS-58).
func (l *Loop) startAudits() {
	if l.opt.AuditEvery > 0 {
		l.auditState.nextDue = l.now().Add(l.opt.AuditEvery)
	}
}
