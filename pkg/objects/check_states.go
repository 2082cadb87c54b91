package objects

import (
	"cmp"
	"container/list"
	"fmt"

	"github.com/canopy-scheduler/canopy/pkg/lifecycle"
)

// checkState checks that the state of a fits its asks and allocations. Requires: its counts are
// right.
func (c *recount) checkState(a *Application) error {
	idle := a.pendingCount == 0 && a.boundCount == 0
	completes := a.pendingCount == 0 && a.allocated.IsZero()
	fits := map[lifecycle.State]bool{
		lifecycle.New: idle && len(a.log) == 0, lifecycle.Accepted: !idle || a.gang != nil && a.gang.Resumed(),
		lifecycle.Running:  !idle,
		lifecycle.Resuming: a.gang != nil && a.gang.Ending() > 0, lifecycle.Failing: a.pendingCount == 0 && a.boundCount > 0,
		lifecycle.Completing: completes && (a.extra.deadlineEntry != nil || !idle),
	}
	switch {
	case !fits[a.state]:
		return fmt.Errorf("application %s is %s, with %d asks and %d allocations", a.ID(), a.state, a.pendingCount,
			a.boundCount)
	case a.state != lifecycle.New && a.log[len(a.log)-1].State != a.state:
		return fmt.Errorf("application %s is %s, the last state of its log is %s", a.ID(), a.state, a.log[len(a.log)-1].State)
	case a.extra.deadlineEntry != nil && a.extra.deadlineEntry.Value.(deadlineSince).app != a:
		return fmt.Errorf("application %s has the deadline of another application", a.ID())
	case a.state != lifecycle.New && a.state != lifecycle.Completing && a.extra.deadlineEntry != nil:
		return fmt.Errorf("application %s is %s, and has a deadline", a.ID(), a.state)
	}
	return nil
}

// checkEnded checks the lists of applications with a deadline and the history.
func (c *recount) checkEnded() error {
	d := &c.p.deadlines
	return cmp.Or(c.checkDeadlines(&d.newApps, lifecycle.New), c.checkDeadlines(&d.completing, lifecycle.Completing),
		d.completed.Check(), d.rejected.Check())
}

// checkDeadlines checks the list of the applications in a state that have a deadline.
func (c *recount) checkDeadlines(l *list.List, state lifecycle.State) error {
	last := int64(0)
	for e := l.Front(); e != nil; e = e.Next() {
		w := e.Value.(deadlineSince)
		if c.p.apps[w.app.ID()] != w.app || w.app.extra.deadlineEntry != e || w.since < last || w.app.state != state {
			return fmt.Errorf("application %s is wrongly listed as %s", w.app.ID(), state)
		}
		last = w.since
	}
	return nil
}
