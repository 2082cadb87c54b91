package objects

// OrderEnd marks that the release of the allocation x is ordered, other than by preemption: it keeps its resources
// until the RM confirms, and is no victim. Requires: x is bound, is no placeholder, and no release of it is ordered.
func OrderEnd(p *Partition, x *Allocation) {
	if p.marks.ending == nil {
		p.marks.ending = map[*Allocation]struct{}{}
	}
	p.marks.ending[x] = struct{}{}
	p.journal.post(Change{Kind: EndOrdered, Ask: x})
}

// Ending reports whether the release of x is ordered and not confirmed, other than by preemption: it is a placeholder
// that ends, or OrderEnd has marked it.
func Ending(p *Partition, x *Allocation) bool {
	if len(p.marks.ending) > 0 {
		if _, ending := p.marks.ending[x]; ending {
			return true
		}
	}
	return p.gangs.isEnding(x)
}

// NoteChanged posts that something that is shown of x has changed.
func NoteChanged(p *Partition, x *Allocation) { p.journal.post(Change{Kind: AllocationTagged, Ask: x}) }
