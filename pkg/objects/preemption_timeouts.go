package objects

import (
	"slices"
	"time"
)

// Timeouts of preemption. A confirmation may never come: the workload hangs, or the RM has lost the
// release. After preemption.nominationtimeout the victim is overdue: it stays marked and is not
// released a second time, but its resources are not expected any more (PRE-87). A nomination ends
// after the same time (PRE-81). A timeout of zero means never.

// preemptionMark says that an allocation is marked for preemption.
type preemptionMark struct {
	at      time.Time // when it was marked
	overdue bool      // not released within the nomination timeout
}

// markVictim marks x for preemption.
func (p *Partition) markVictim(x *Allocation, now time.Time) {
	p.addPreempting(x, preemptionMark{at: now})
	if len(p.marks.expectedReleases) > 2*len(p.marks.preempting)+32 {
		p.marks.expectedReleases = slices.DeleteFunc(p.marks.expectedReleases, func(y *Allocation) bool { return !p.releaseExpected(y) })
	}
	p.marks.expectedReleases = append(p.marks.expectedReleases, x)
}

// releaseExpected reports whether x is preempting and not overdue.
func (p *Partition) releaseExpected(x *Allocation) bool {
	d, preempting := p.marks.preempting[x]
	return preempting && !d.overdue
}

// TakeOverdueReleases returns the preempting allocations that were not released within the
// nomination timeout, in the order in which they were marked, and makes them overdue. It returns
// each once (PRE-87).
func (p *Partition) TakeOverdueReleases(now time.Time) (overdue []*Allocation) {
	limit := p.conf.NominationTimeout
	for limit > 0 && len(p.marks.expectedReleases) > 0 {
		x := p.marks.expectedReleases[0]
		d := p.marks.preempting[x]
		if p.releaseExpected(x) && now.Before(p.timeoutStart(d.at).Add(limit)) {
			break
		}
		p.marks.expectedReleases = p.marks.expectedReleases[1:]
		if p.releaseExpected(x) {
			p.removePreempting(x)
			d.overdue = true
			p.addPreempting(x, d)
			overdue = append(overdue, x)
		}
	}
	return overdue
}

// OverdueNominee is the ask with the oldest nomination, if that has lasted for the nomination
// timeout; nil: there is none (PRE-81).
func (p *Partition) OverdueNominee(now time.Time) *Allocation {
	limit := p.conf.NominationTimeout
	if limit <= 0 || len(p.marks.nominees) == 0 || now.Before(p.timeoutStart(p.marks.nominated[p.marks.nominees[0]].at).Add(limit)) {
		return nil
	}
	return p.marks.nominees[0]
}

// NextPreemptionTimeout is the next time at which TakeOverdueReleases or OverdueNominee may return
// something. ok is false if there is none.
func (p *Partition) NextPreemptionTimeout() (at time.Time, ok bool) {
	limit := p.conf.NominationTimeout
	if limit <= 0 {
		return at, false
	}
	for len(p.marks.expectedReleases) > 0 && !p.releaseExpected(p.marks.expectedReleases[0]) {
		p.marks.expectedReleases = p.marks.expectedReleases[1:]
	}
	if len(p.marks.expectedReleases) > 0 {
		at, ok = p.timeoutStart(p.marks.preempting[p.marks.expectedReleases[0]].at).Add(limit), true
	}
	if len(p.marks.nominees) > 0 {
		if t := p.timeoutStart(p.marks.nominated[p.marks.nominees[0]].at).Add(limit); !ok || t.Before(at) {
			at, ok = t, true
		}
	}
	return at, ok
}

// RestartPreemptionTimeouts restarts all timeouts of preemption at now. Requires: now is not before
// that of an earlier call.
func (p *Partition) RestartPreemptionTimeouts(now time.Time) { p.marks.timeoutsRestartedAt = now }

// timeoutStart is when the timeout of a mark or nomination of time at begins.
func (p *Partition) timeoutStart(at time.Time) time.Time {
	if at.Before(p.marks.timeoutsRestartedAt) {
		return p.marks.timeoutsRestartedAt
	}
	return at
}

// EndedNomination is a nomination that has ended.
type EndedNomination struct {
	Ask   *Allocation // pending, bound, or removed
	Node  *Node       // may be removed
	Since time.Time
}

// PreemptingSince is when x was marked for preemption, and whether it is overdue. The zero time: it
// is not marked.
func (p *Partition) PreemptingSince(x *Allocation) (at time.Time, overdue bool) {
	if len(p.marks.preempting) == 0 {
		return at, false
	}
	d := p.marks.preempting[x]
	return d.at, d.overdue
}

// NominatedAt is when x was nominated; the zero time: it is not.
func (p *Partition) NominatedAt(x *Allocation) time.Time {
	if len(p.marks.nominees) == 0 {
		return time.Time{}
	}
	return p.marks.nominated[x].at
}
