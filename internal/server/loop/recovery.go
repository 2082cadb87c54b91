package loop

import (
	"time"

	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// A linked shim that starts while allocations run enables its nodes before it has reported them all, and sends new asks
// among the reports. If these asks were placed, a queue would run more than its max. Nothing in the interface says that
// the last allocation is reported, so decisions are held back until none has been reported for some time (RMI-80).

// A shim submits the applications of what runs soon after its nodes are schedulable. One that comes later than
// idleBound times Mode.RecoveryQuiet is a new one: nothing ran, and nothing is held back. Otherwise the first pods of a
// quiet cluster would wait, and be bound all at once.
const idleBound = 2

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
	nodes    time.Time     // the first schedulable node; zero: there was none since the registration
	begin    time.Time     // the first application; zero: there was none since the registration
	until    time.Time     // until then decisions are held back; if begin is zero, nothing can be decided
	reported int
}

// note notes a command that is applied. needless is true if it shows that there is nothing to recover.
func (r *recovery) note(cmd scheduler.Command, now time.Time) (needless bool) {
	switch cmd := cmd.(type) {
	case scheduler.AddNode:
		r.noteNode(cmd.Schedulable, now)
	case scheduler.SetSchedulable:
		r.noteNode(cmd.Schedulable, now)
	case scheduler.AddApplication:
		if r.begin.IsZero() {
			if !r.nodes.IsZero() && r.reported == 0 && now.Sub(r.nodes) >= idleBound*r.quiet {
				return true
			}
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
	return false
}

func (r *recovery) noteNode(schedulable bool, now time.Time) {
	if schedulable && r.nodes.IsZero() {
		r.nodes = now
	}
}

// noteCommand notes a command that is applied during a recovery.
func (l *Loop) noteCommand(cmd scheduler.Command, now time.Time) {
	if l.recovery.note(cmd, now) {
		l.endRecovery(Recovery{})
	}
}

func (l *Loop) endRecovery(over Recovery) {
	l.recovery = recovery{}
	if l.onRecovered != nil {
		l.onRecovered(over)
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
	over := Recovery{Took: now.Sub(r.begin), Reported: r.reported,
		Bounded: !r.until.Before(r.begin.Add(recoveryBound * r.quiet))}
	l.endRecovery(over)
	return false
}

// nextDeadline is the next time at which the loop has something to do; ok is false if there is none.
func (l *Loop) nextDeadline() (at time.Time, ok bool) {
	at, ok = l.core.NextDeadline()
	for _, t := range []time.Time{l.auditState.nextDue, l.recovery.until, l.rateLimitedUntil()} {
		if !t.IsZero() && (!ok || t.Before(at)) {
			at, ok = t, true
		}
	}
	return at, ok
}
