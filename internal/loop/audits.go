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
	auditSlice = 200 // objects, asks and allocations that are checked before anything else is looked at; less than 1 ms, but for the sums of what has 40,000 or more
	auditShare = 100 // while there is something else to do, an audit takes one in so many parts of the time
)

// auditState is the audit that is under way, and who waits for its result.
type auditState struct {
	audit     *scheduler.Audit // nil: there is none
	began     time.Time
	waiters   []auditWaiter
	scheduled bool      // it is made because it is time for one, whether or not anything waits for it
	notBefore time.Time // before this, it does not go on while there is something else to do
	nextDue   time.Time // when the next regular one begins; zero: there are none
}

type auditWaiter struct {
	ctx   context.Context
	reply chan<- Audit
}

// Audit checks the books and returns what it has found; that the books are wrong is no error of
// Audit. It runs in small steps between decisions, at most one at a time: all who ask while one
// is under way get its result. It is given up when no caller waits for it any more. Errors:
// ErrEnded, or that of ctx.
func (l *Loop) Audit(ctx context.Context) (Audit, error) {
	reply := make(chan Audit, 1)
	if !l.enqueue(envelope{run: func() { l.auditState.waiters = append(l.auditState.waiters, auditWaiter{ctx, reply}) }}) {
		return Audit{}, ErrEnded
	}
	return await(ctx, l, reply)
}

// auditPending reports whether an audit is under way or asked for.
func (l *Loop) auditPending() bool {
	a := &l.auditState
	return a.audit != nil || len(a.waiters) > 0 || !a.nextDue.IsZero() && !l.lastTime.Before(a.nextDue)
}

// stepAudit does a step of the audit, if one is wanted and due.
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

// yieldToOthers gives way to other goroutines while only readers or audits keep the loop busy: it
// would go on for 10 ms otherwise, and what has been decided waits behind it to be sent.
func (l *Loop) yieldToOthers() {
	if !l.needsScheduling && (len(l.readers) > 0 || l.auditState.audit != nil) {
		runtime.Gosched()
	}
}

// startAudits says when the first regular audit begins.
func (l *Loop) startAudits() {
	if l.opt.AuditEvery > 0 {
		l.auditState.nextDue = l.now().Add(l.opt.AuditEvery)
	}
}
