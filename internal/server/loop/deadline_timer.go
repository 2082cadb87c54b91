package loop

import "time"

// deadlineTimer is one timer for all deadlines of a Core and for regular audits (ORD-3).
type deadlineTimer struct {
	timer *time.Timer
	at    time.Time // when the timer fires; zero: it is not set, or has fired
}

// set sets the timer to the next deadline and returns its channel; nil: there is no deadline. A
// timer that is set to the right time is not reset: the next deadline is usually days away.
func (a *deadlineTimer) set(l *Loop) (due <-chan time.Time) {
	t, ok := l.nextDeadline()
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

// fired must be called when the timer has fired. If the clock has not reached the deadline yet,
// the timer is set again.
func (a *deadlineTimer) fired() { a.at = time.Time{} }

func (a *deadlineTimer) stop() {
	a.at = (time.Time{})
	if a.timer != nil {
		a.timer.Stop()
	}
}
