package twin

import (
	"time"

	"github.com/canopy-scheduler/canopy/pkg/policies"
)

// Ageing (PRI-50 to PRI-52). No run has more applications than rise at once.

// waitsForAllocation reports whether a has asks and no allocation.
func (t *Twin) waitsForAllocation(a *app) (pending bool) {
	for _, w := range t.allocationsOf(a.id) {
		if w.node != "" {
			return false
		}
		pending = true
	}
	return pending
}

// ages reports whether the leaf of a has ageing.
func (t *Twin) ages(a *app) bool { return t.queue(a.leaf).conf.Ageing.By > 0 && !t.ignorePriority }

// age raises what waits.
func (t *Twin) age() {
	for _, a := range t.apps {
		a.raised = 0
		if !a.waitsSince.IsZero() && t.ages(a) {
			a.raised = t.raise(a)
		}
	}
}

// raise counts the whole steps of the wait of a, one after the other.
func (t *Twin) raise(a *app) int32 {
	ageing, raised := t.queue(a.leaf).conf.Ageing, int64(0)
	for at := a.waitsSince.Add(ageing.Every); !at.After(t.now) && raised < int64(ageing.UpTo); at = at.Add(ageing.Every) {
		raised += int64(ageing.By)
	}
	return int32(min(raised, int64(ageing.UpTo)))
}

// updateWaits begins and ends waits, at the end of a command or a run. A wait begins where a leaf has ageing, and goes
// on where it has none any more.
func (t *Twin) updateWaits() {
	defer t.age()
	for _, a := range t.apps {
		switch {
		case !t.waitsForAllocation(a):
			a.waitsSince = time.Time{}
		case !t.ages(a):
		case a.allocationsMade == 0:
			a.waitsSince = a.submitted
		case a.waitsSince.IsZero():
			a.waitsSince = t.now
		}
	}
}

// selectionPriority is the priority by which a is compared.
func (t *Twin) selectionPriority(c *totals, a *app) policies.CurrentPriority {
	top := c.priority(a)
	for _, w := range t.allocationsOf(a.id) {
		if w.node != "" {
			return top
		}
	}
	return top.Raised(a.raised)
}
