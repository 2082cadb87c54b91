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

// auditing is the audit that is under way, and who waits for its result.
type auditing struct {
	audit   *scheduler.Audit // nil: there is none
	began   time.Time
	waiting []auditor
	regular bool      // it is made because it is time for one, whether or not anything waits for it
	after   time.Time // before this, it does not go on while there is something else to do
	due     time.Time // when the next regular one begins; zero: there are none
}

type auditor struct {
	ctx   context.Context
	reply chan<- Audit
}

// Audit checks the books and returns what it has found; that the books are wrong is no error of
// Audit. It runs in small steps between decisions, at most one at a time: all who ask while one
// is under way get its result. It is given up when no caller waits for it any more. Errors:
// ErrEnded, or that of ctx.
func (l *Loop) Audit(ctx context.Context) (Audit, error) {
	reply := make(chan Audit, 1)
	if !l.put(envelope{look: func() { l.auditing.waiting = append(l.auditing.waiting, auditor{ctx, reply}) }}) {
		return Audit{}, ErrEnded
	}
	return await(ctx, l, reply)
}

// audits reports whether an audit is under way or asked for.
func (l *Loop) audits() bool {
	a := &l.auditing
	return a.audit != nil || len(a.waiting) > 0 || !a.due.IsZero() && !l.last.Before(a.due)
}

// auditMore does a step of the audit, if one is wanted and due.
func (l *Loop) auditMore() {
	a := &l.auditing
	if !l.audits() {
		return
	}
	a.waiting = slices.DeleteFunc(a.waiting, func(w auditor) bool { return w.ctx.Err() != nil })
	if !a.due.IsZero() && !l.last.Before(a.due) {
		a.due, a.regular = l.last.Add(l.opt.AuditEvery), true
	}
	if len(a.waiting) == 0 && !a.regular {
		a.audit = nil
		return
	}
	now := l.now()
	if (l.mayDecide() || len(l.readers) > 0) && now.Before(a.after) {
		return
	}
	if a.audit == nil {
		a.audit, a.began = l.core.NewAudit(), now
	}
	done, err := a.audit.Step(auditSlice)
	ended := l.now()
	a.after = ended.Add(auditShare * ended.Sub(now))
	if !done {
		return
	}
	result := Audit{Finished: ended, Took: ended.Sub(a.began), Checked: a.audit.Checked(), Err: err}
	l.audited.Store(&result)
	if l.opt.Audited != nil {
		l.opt.Audited(l.core.Partition().Name(), result)
	}
	for _, w := range a.waiting {
		w.reply <- result
	}
	a.audit, a.waiting, a.regular = nil, nil, false
	if !a.due.IsZero() {
		a.due = ended.Add(l.opt.AuditEvery)
	}
}

// letOthersRun gives way to other goroutines while only readers or audits keep the loop busy: it
// would go on for 10 ms otherwise, and what has been decided waits behind it to be sent.
func (l *Loop) letOthersRun() {
	if !l.hungry && (len(l.readers) > 0 || l.auditing.audit != nil) {
		runtime.Gosched()
	}
}

// startAudits says when the first regular audit begins.
func (l *Loop) startAudits() {
	if l.opt.AuditEvery > 0 {
		l.auditing.due = l.now().Add(l.opt.AuditEvery)
	}
}
