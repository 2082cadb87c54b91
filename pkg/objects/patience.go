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

// departure is what is known of an allocation that was told to leave.
type departure struct {
	at      time.Time // when it was told
	overdue bool      // so long ago that nobody counts on it
}

// departing is the book of q for what was told to leave.
func (q *Queue) departing(d departure) *resources.Vector {
	if d.overdue {
		return &q.overdue
	}
	return &q.leaving
}

// departs notes that x was told to leave.
func (p *Partition) departs(x *Allocation, now time.Time) {
	p.leaves(x, departure{at: now})
	if len(p.told) > 2*len(p.leaving)+32 {
		p.told = slices.DeleteFunc(p.told, func(y *Allocation) bool { return !p.awaited(y) })
	}
	p.told = append(p.told, x)
}

// awaited reports whether x was told to leave, has not left, and is not overdue.
func (p *Partition) awaited(x *Allocation) bool {
	d, told := p.leaving[x]
	return told && !d.overdue
}

// TakeOverdue returns who was told to leave as long ago as anybody waits, and has not left,
// in the order in which they were told. It returns nobody twice: from now on, nobody counts
// on their leaving.
func (p *Partition) TakeOverdue(now time.Time) (overdue []*Allocation) {
	limit := p.conf.NominationTimeout
	for limit > 0 && len(p.told) > 0 {
		x := p.told[0]
		d := p.leaving[x]
		if p.awaited(x) && now.Before(p.patientFrom(d.at).Add(limit)) {
			break
		}
		p.told = p.told[1:]
		if p.awaited(x) {
			p.left(x)
			d.overdue = true
			p.leaves(x, d)
			p.changes++
			overdue = append(overdue, x)
		}
	}
	return overdue
}

// OverdueNominee is the ask that has waited for its node longest, if that is as long as
// anybody waits; nil: none has.
func (p *Partition) OverdueNominee(now time.Time) *Allocation {
	limit := p.conf.NominationTimeout
	if limit <= 0 || len(p.nominees) == 0 || now.Before(p.patientFrom(p.nominated[p.nominees[0]].at).Add(limit)) {
		return nil
	}
	return p.nominees[0]
}

// PatienceEnds is when TakeOverdue or OverdueNominee may next have something to say.
func (p *Partition) PatienceEnds() (at time.Time, ok bool) {
	limit := p.conf.NominationTimeout
	if limit <= 0 {
		return at, false
	}
	for len(p.told) > 0 && !p.awaited(p.told[0]) {
		p.told = p.told[1:]
	}
	if len(p.told) > 0 {
		at, ok = p.patientFrom(p.leaving[p.told[0]].at).Add(limit), true
	}
	if len(p.nominees) > 0 {
		if t := p.patientFrom(p.nominated[p.nominees[0]].at).Add(limit); !ok || t.Before(at) {
			at, ok = t, true
		}
	}
	return at, ok
}

// RestartPatience has all time-outs of preemption begin anew at now. Requires: now is not before
// that of any call before.
func (p *Partition) RestartPatience(now time.Time) { p.patience = now }

// patientFrom is when the time-out of something that began at a time began.
func (p *Partition) patientFrom(at time.Time) time.Time {
	if at.Before(p.patience) {
		return p.patience
	}
	return at
}

// Lapsed is a nomination that has ended.
type Lapsed struct {
	Ask   *Allocation // pending, placed by now, or gone
	Node  *Node       // where it waited; may be gone
	Since time.Time
}

// TakeLapsed returns the nominations that have ended since it was last called, in the order
// in which they did. The list is good until the next one ends.
func (p *Partition) TakeLapsed() []Lapsed {
	out := p.lapsed
	p.lapsed = p.lapsed[:0]
	return out
}

// ToldAt is when x was told to leave. overdue says that nobody counts on it any more. The
// zero time: it was not told.
func (p *Partition) ToldAt(x *Allocation) (at time.Time, overdue bool) {
	if len(p.leaving) == 0 {
		return at, false
	}
	d := p.leaving[x]
	return d.at, d.overdue
}

// NominatedAt is since when x waits for its node; the zero time: it waits for none.
func (p *Partition) NominatedAt(x *Allocation) time.Time {
	if len(p.nominees) == 0 {
		return time.Time{}
	}
	return p.nominated[x].at
}
