package objects

import (
	"iter"

	"github.com/canopy-scheduler/canopy/pkg/feasibility"
)

// Descent visits the applications with schedulable asks in selection order. It goes down from root by the masks, as a
// decision does: queues and applications whose asks no quota allows are not visited. The zero value is ready; its
// memory is for the next descent.
type Descent struct {
	masks []feasibility.Mask // by depth of the queue; the last one of a visit is that of the application
}

// Applications yields each application with the mask of the shapes for which there is headroom, which is valid until
// the next one.
func (d *Descent) Applications(root *Queue) iter.Seq2[*Application, feasibility.Mask] {
	return func(yield func(*Application, feasibility.Mask) bool) {
		if len(d.masks) == 0 {
			d.masks = append(d.masks, nil)
		}
		root.PendingShapes(&d.masks[0])
		d.below(root, 0, yield)
	}
}

// Narrow has narrow remove shapes from what is visited from now on.
func (d *Descent) Narrow(narrow func(feasibility.Mask)) {
	for _, mask := range d.masks {
		narrow(mask)
	}
}

// below visits q for the shapes of masks[level].
func (d *Descent) below(q *Queue, level int, yield func(*Application, feasibility.Mask) bool) bool {
	if q.Leaf() {
		for a := range q.FeasibleApplications(d.masks[level]) {
			d.enter(level, a.RestrictToHeadroom)
			if !yield(a, d.masks[level+1]) {
				return false
			}
		}
		return true
	}
	for child := range q.FeasibleChildren(d.masks[level]) {
		d.enter(level, child.RestrictToHeadroom)
		if !d.below(child, level+1, yield) {
			return false
		}
	}
	return true
}

// enter sets the mask below level.
func (d *Descent) enter(level int, restrict func(feasibility.Mask)) {
	if len(d.masks) == level+1 {
		d.masks = append(d.masks, nil)
	}
	d.masks[level+1].CopyFrom(d.masks[level])
	restrict(d.masks[level+1])
}
