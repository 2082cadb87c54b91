package preemption

import (
	"fmt"
	"slices"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/objects"
)

// timeouts tracks what preemption waits for: the confirmed release of a victim, and the placement of a nominated ask. A
// confirmation may never come: the workload hangs, or the RM has lost the release. After preemption.nominationtimeout
// the victim is overdue: it stays marked and is not released a second time, but its resources are not expected any more
// (PRE-87). A nomination ends after the same time (PRE-81). A timeout of zero means never.
type timeouts struct {
	expected    []*objects.Allocation // victims that are not overdue, in the order of their marks; some may be released
	restartedAt time.Time             // no timeout begins before; zero: no restart yet
}

// RestartTimeouts restarts all timeouts at now, because releases may not have reached the RM before. Requires: now is
// not before the time of an earlier call.
func (eng *Engine) RestartTimeouts(now time.Time) { eng.timeouts.restartedAt = now }

// expectReleases adds the victims that were marked since the last call.
func (eng *Engine) expectReleases() {
	victims := take(&eng.changes.marked)
	if len(victims) == 0 {
		return
	}
	t := &eng.timeouts
	if len(t.expected) > 2*eng.part.PreemptingCount()+32 {
		t.expected = slices.DeleteFunc(t.expected, func(y *objects.Allocation) bool { return !eng.releaseExpected(y) })
	}
	t.expected = append(t.expected, victims...)
}

// releaseExpected reports whether y is preempting and not overdue.
func (eng *Engine) releaseExpected(y *objects.Allocation) bool {
	_, overdue := eng.part.PreemptingSince(y)
	return !overdue && eng.part.Preempting(y)
}

// start returns the time from which the timeout of a mark or nomination of time at counts.
func (t *timeouts) start(at time.Time) time.Time {
	if at.Before(t.restartedAt) {
		return t.restartedAt
	}
	return at
}

// nextExpected returns the first victim whose release is expected, and when it is overdue; nil: there is none.
func (eng *Engine) nextExpected(limit time.Duration) (y *objects.Allocation, overdueAt time.Time) {
	t := &eng.timeouts
	for len(t.expected) > 0 && !eng.releaseExpected(t.expected[0]) {
		t.expected = t.expected[1:]
	}
	if len(t.expected) == 0 {
		return nil, overdueAt
	}
	at, _ := eng.part.PreemptingSince(t.expected[0])
	return t.expected[0], t.start(at).Add(limit)
}

// oldestNominee returns the ask with the oldest nomination, and the time at which that times out; nil: there is none.
func (eng *Engine) oldestNominee(limit time.Duration) (x *objects.Allocation, timesOutAt time.Time) {
	nominees := eng.part.Nominees()
	if len(nominees) == 0 {
		return nil, timesOutAt
	}
	return nominees[0], eng.timeouts.start(eng.part.NominatedAt(nominees[0])).Add(limit)
}

// endTimedOutNominations ends nominations that have lasted for the nomination timeout. It also ends the wait for
// victims marked that long ago: they are overdue then (PRE-81, PRE-87). It precedes all decisions, because in a busy
// cluster these may never end.
func (eng *Engine) endTimedOutNominations(now time.Time) {
	limit := eng.part.NominationTimeout()
	if limit <= 0 {
		return
	}
	for y, at := eng.nextExpected(limit); y != nil && !now.Before(at); y, at = eng.nextExpected(limit) {
		since, _ := eng.part.PreemptingSince(y)
		eng.part.MarkOverdue(y)
		eng.host.OnOverdue(y, since) // PRE-88
	}
	for x, at := eng.oldestNominee(limit); x != nil && !now.Before(at); x, at = eng.oldestNominee(limit) {
		eng.log.endNomination(x, Nomination{State: NominationTimedOut, EndedAt: objects.TimestampOf(now)})
		eng.giveUpNomination(x, now)
		eng.reportEndedNominations(NominationTimedOut, nil, "", now)
	}
}

// nextNominationTimeout returns the next time at which endTimedOutNominations has work. Work that is due already is
// left to the next Schedule.
func (eng *Engine) nextNominationTimeout() (at time.Time, ok bool) {
	limit := eng.part.NominationTimeout()
	if limit <= 0 {
		return at, false
	}
	if y, t := eng.nextExpected(limit); y != nil {
		at, ok = t, true
	}
	if x, t := eng.oldestNominee(limit); x != nil && (!ok || t.Before(at)) {
		at, ok = t, true
	}
	return at, ok && at.After(eng.servedUntil)
}

// checkTimeouts verifies that each preempting allocation that is not overdue has a timeout.
func (eng *Engine) checkTimeouts() error {
	expected := map[*objects.Allocation]bool{}
	for _, y := range eng.timeouts.expected {
		expected[y] = true
	}
	for y := range eng.part.EachPreempting {
		if !expected[y] && eng.releaseExpected(y) {
			return fmt.Errorf("%s is marked for preemption, and its release has no timeout", y.Key())
		}
	}
	return nil
}
