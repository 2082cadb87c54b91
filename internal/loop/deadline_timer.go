package loop

import "time"

// deadlineTimer is one timer for all deadlines of a Core.
type deadlineTimer struct {
	timer *time.Timer
	at    time.Time // what the timer is set to; zero: it is not set, or has rung
}

// set makes the alarm ring at the next deadline, as it is now. nil: there is none. There
// nearly always is one, days away, so a timer that is right is left alone. A regular audit is a deadline too.
func (a *deadlineTimer) set(l *Loop) (due <-chan time.Time) {
	t, ok := l.core.NextDeadline()
	if due := l.auditState.nextDue; !due.IsZero() && (!ok || due.Before(t)) {
		t, ok = due, true
	}
	switch {
	case !ok:
		a.stop()
		return nil
	case a.timer == nil:
		a.timer = time.NewTimer(t.Sub(l.now()))
	case !t.Equal(a.at):
		a.timer.Reset(t.Sub(l.now()))
	}
	a.at = t
	return a.timer.C
}

// fired must be called when the alarm has rung. The clock may not have come as far as the
// timer has; then it is set again.
func (a *deadlineTimer) fired() { a.at = time.Time{} }

func (a *deadlineTimer) stop() {
	if a.at = (time.Time{}); a.timer != nil {
		a.timer.Stop()
	}
}
