package objects

import (
	"cmp"
	"fmt"

	"github.com/canopy-scheduler/canopy/pkg/lifecycle"
)

// checkState checks that the state of a fits its asks and allocations. Requires: its counts are
// right.
func (c *recount) checkState(a *Application) error {
	idle := a.pendingCount == 0 && a.boundCount == 0
	completes := a.pendingCount == 0 && a.allocated.IsZero()
	fits := map[lifecycle.State]bool{
		lifecycle.New: idle && len(a.log) == 0, lifecycle.Accepted: !idle || a.gang != nil && a.gang.Resumed(), lifecycle.Running: !idle,
		lifecycle.Resuming: a.gang != nil && a.gang.Ending() > 0, lifecycle.Failing: a.pendingCount == 0 && a.boundCount > 0, lifecycle.Completing: completes && (a.extra.completingEntry != nil || !idle),
	}
	switch {
	case !fits[a.state]:
		return fmt.Errorf("application %s is %s, with %d asks and %d allocations", a.ID(), a.state, a.pendingCount, a.boundCount)
	case a.state != lifecycle.New && a.log[len(a.log)-1].State != a.state:
		return fmt.Errorf("application %s is %s, the last state of its log is %s", a.ID(), a.state, a.log[len(a.log)-1].State)
	case a.extra.completingEntry != nil && (a.state != lifecycle.Completing || a.extra.completingEntry.Value.(completingSince).app != a):
		return fmt.Errorf("application %s has the completing entry of another application", a.ID())
	}
	return nil
}

// checkEnded checks the list of completing applications and the history.
func (c *recount) checkEnded() error {
	p := c.p
	last := int64(0)
	for e := p.deadlines.completing.Front(); e != nil; e = e.Next() {
		w := e.Value.(completingSince)
		if p.apps[w.app.ID()] != w.app || w.app.extra.completingEntry != e || w.since < last {
			return fmt.Errorf("application %s is wrongly listed as completing", w.app.ID())
		}
		last = w.since
	}
	return cmp.Or(p.deadlines.completed.Check(), p.deadlines.rejected.Check())
}
