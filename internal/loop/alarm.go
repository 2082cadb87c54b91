package loop

import "time"

// alarm is one timer for all deadlines of a Core.
type alarm struct{ timer *time.Timer }

// set makes the alarm ring at the next deadline, as it is now. nil: there is none.
func (a *alarm) set(l *Loop) (due <-chan time.Time) {
	t, ok := l.core.NextDeadline()
	if !ok {
		a.stop()
		return nil
	}
	in := t.Sub(l.now())
	if a.timer == nil {
		a.timer = time.NewTimer(in)
	} else {
		a.timer.Reset(in)
	}
	return a.timer.C
}

func (a *alarm) stop() {
	if a.timer != nil {
		a.timer.Stop()
	}
}
