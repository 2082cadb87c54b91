package objects

import "time"

// preemptionMark says that an allocation is marked for preemption.
type preemptionMark struct {
	at      time.Time // when it was marked
	overdue bool      // not released within the nomination timeout (PRE-87)
}

// MarkPreempting marks victims for preemption, for no ask. Requires: they are bound and not
// preempting.
func (p *Partition) MarkPreempting(victims []*Allocation, now time.Time) {
	for _, y := range victims {
		p.addPreempting(y, preemptionMark{at: now})
	}
}

// MarkOverdue marks that the release of y is not expected any more: it stays preempting, and counts as an overdue
// release (PRE-87, QUE-43). Requires: y is preempting and not overdue.
func (p *Partition) MarkOverdue(y *Allocation) {
	d := p.marks.preempting[y]
	p.removePreempting(y)
	d.overdue = true
	p.addPreempting(y, d)
}

// PreemptingSince returns when x was marked for preemption, and whether it is overdue. The zero time: it
// is not marked.
func (p *Partition) PreemptingSince(x *Allocation) (at time.Time, overdue bool) {
	if len(p.marks.preempting) == 0 {
		return at, false
	}
	d := p.marks.preempting[x]
	return d.at, d.overdue
}

// NominatedAt returns when x was nominated; the zero time: it is not.
func (p *Partition) NominatedAt(x *Allocation) time.Time {
	if len(p.marks.nominees) == 0 {
		return time.Time{}
	}
	return p.marks.nominated[x].at
}
