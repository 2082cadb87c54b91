package loop

import (
	"time"

	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// A linked shim that starts while allocations run enables its nodes before it has reported them all, and sends new asks among
// the reports. If these asks were placed, a queue would run more than its max. Nothing in the interface says that the last
// allocation is reported, so decisions are held back until none has been reported for some time (RMI-80).

// recoveryBound is after how many times Mode.RecoveryQuiet a recovery is over whatever is reported.
const recoveryBound = 30

// Recovery is a recovery that is over.
type Recovery struct {
	Took     time.Duration // since the first application after the registration
	Reported int           // allocations of the resource manager
	Bounded  bool          // allocations were still reported, see RMI-80
}

// recovery is the state of the recovery after a registration. The zero value holds nothing back.
type recovery struct {
	quiet    time.Duration // 0: no recovery is under way
	begin    time.Time     // the first application; zero: there was none since the registration
	until    time.Time     // until then decisions are held back; if begin is zero, nothing can be decided
	reported int
}

// note notes a command that is applied.
func (r *recovery) note(cmd scheduler.Command, now time.Time) {
	switch cmd.(type) {
	case scheduler.AddApplication:
		if r.begin.IsZero() {
			r.begin, r.until = now, now.Add(r.quiet)
		}
	case scheduler.ReportAllocation:
		r.reported++
		if !r.begin.IsZero() {
			r.until = now.Add(r.quiet)
		}
	}
	if bound := r.begin.Add(recoveryBound * r.quiet); r.until.After(bound) {
		r.until = bound
	}
}

// holdsBack reports whether decisions are held back, and ends a recovery that is over.
func (l *Loop) holdsBack() bool {
	r := &l.recovery
	if r.quiet == 0 || r.begin.IsZero() {
		return false
	}
	now := l.now()
	if now.Before(r.until) {
		return true
	}
	over := Recovery{Took: now.Sub(r.begin), Reported: r.reported, Bounded: !r.until.Before(r.begin.Add(recoveryBound * r.quiet))}
	*r = recovery{}
	if l.onRecovered != nil {
		l.onRecovered(over)
	}
	return false
}

// nextDeadline is the next time at which the loop has something to do; ok is false if there is none.
func (l *Loop) nextDeadline() (at time.Time, ok bool) {
	at, ok = l.core.NextDeadline()
	for _, t := range []time.Time{l.auditState.nextDue, l.recovery.until} {
		if !t.IsZero() && (!ok || t.Before(at)) {
			at, ok = t, true
		}
	}
	return at, ok
}
