package objects

import (
	"slices"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// How long preemption waits. A confirmation may never come: the work hangs, or the RM has
// forgotten it. After preemption.nominationtimeout nobody counts on it any more. Who was
// told to leave stays so, and is not told again; only no ask takes what it holds for free
// any more. And who waits for a node as long as that waits for it no longer.

// preemptionMark is what is known of an allocation that was told to leave.
type preemptionMark struct {
	at      time.Time // when it was told
	overdue bool      // so long ago that nobody counts on it
}

// releaseTotal is the book of q for what was told to leave.
func (q *Queue) releaseTotal(d preemptionMark) *resources.Vector {
	if d.overdue {
		return &q.overdueRelease
	}
	return &q.expectedRelease
}

// markVictim notes that x was told to leave.
func (p *Partition) markVictim(x *Allocation, now time.Time) {
	p.addPreempting(x, preemptionMark{at: now})
	if len(p.expectedReleases) > 2*len(p.preempting)+32 {
		p.expectedReleases = slices.DeleteFunc(p.expectedReleases, func(y *Allocation) bool { return !p.releaseExpected(y) })
	}
	p.expectedReleases = append(p.expectedReleases, x)
}

// releaseExpected reports whether x was told to leave, has not left, and is not overdue.
func (p *Partition) releaseExpected(x *Allocation) bool {
	d, preempting := p.preempting[x]
	return preempting && !d.overdue
}

// TakeOverdueReleases returns who was told to leave as long ago as anybody waits, and has not left,
// in the order in which they were told. It returns nobody twice: from now on, nobody counts
// on their leaving.
func (p *Partition) TakeOverdueReleases(now time.Time) (overdue []*Allocation) {
	limit := p.conf.NominationTimeout
	for limit > 0 && len(p.expectedReleases) > 0 {
		x := p.expectedReleases[0]
		d := p.preempting[x]
		if p.releaseExpected(x) && now.Before(p.timeoutStart(d.at).Add(limit)) {
			break
		}
		p.expectedReleases = p.expectedReleases[1:]
		if p.releaseExpected(x) {
			p.removePreempting(x)
			d.overdue = true
			p.addPreempting(x, d)
			p.preemptionGeneration++
			overdue = append(overdue, x)
		}
	}
	return overdue
}

// OverdueNominee is the ask that has waited for its node longest, if that is as long as
// anybody waits; nil: none has.
func (p *Partition) OverdueNominee(now time.Time) *Allocation {
	limit := p.conf.NominationTimeout
	if limit <= 0 || len(p.nominees) == 0 || now.Before(p.timeoutStart(p.nominated[p.nominees[0]].at).Add(limit)) {
		return nil
	}
	return p.nominees[0]
}

// NextPreemptionTimeout is when TakeOverdueReleases or OverdueNominee may next have something to say.
func (p *Partition) NextPreemptionTimeout() (at time.Time, ok bool) {
	limit := p.conf.NominationTimeout
	if limit <= 0 {
		return at, false
	}
	for len(p.expectedReleases) > 0 && !p.releaseExpected(p.expectedReleases[0]) {
		p.expectedReleases = p.expectedReleases[1:]
	}
	if len(p.expectedReleases) > 0 {
		at, ok = p.timeoutStart(p.preempting[p.expectedReleases[0]].at).Add(limit), true
	}
	if len(p.nominees) > 0 {
		if t := p.timeoutStart(p.nominated[p.nominees[0]].at).Add(limit); !ok || t.Before(at) {
			at, ok = t, true
		}
	}
	return at, ok
}

// RestartPreemptionTimeouts has all time-outs of preemption begin anew at now. Requires: now is not before
// that of any call before.
func (p *Partition) RestartPreemptionTimeouts(now time.Time) { p.timeoutsRestartedAt = now }

// timeoutStart is when the time-out of something that began at a time began.
func (p *Partition) timeoutStart(at time.Time) time.Time {
	if at.Before(p.timeoutsRestartedAt) {
		return p.timeoutsRestartedAt
	}
	return at
}

// EndedNomination is a nomination that has ended.
type EndedNomination struct {
	Ask   *Allocation // pending, placed by now, or gone
	Node  *Node       // where it waited; may be gone
	Since time.Time
}

// TakeEndedNominations returns the nominations that have ended since it was last called, in the order
// in which they did. The list is good until the next one ends.
func (p *Partition) TakeEndedNominations() []EndedNomination {
	out := p.endedNominations
	p.endedNominations = p.endedNominations[:0]
	return out
}

// PreemptingSince is when x was told to leave. overdue says that nobody counts on it any more. The
// zero time: it was not told.
func (p *Partition) PreemptingSince(x *Allocation) (at time.Time, overdue bool) {
	if len(p.preempting) == 0 {
		return at, false
	}
	d := p.preempting[x]
	return d.at, d.overdue
}

// NominatedAt is since when x waits for its node; the zero time: it waits for none.
func (p *Partition) NominatedAt(x *Allocation) time.Time {
	if len(p.nominees) == 0 {
		return time.Time{}
	}
	return p.nominated[x].at
}
