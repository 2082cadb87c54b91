package objects

import (
	"container/list"
	"fmt"
)

// checkState checks that the state of a fits its asks and allocations. Requires: its counts are
// right.
func (c *recount) checkState(a *Application) error {
	idle := a.pendingCount == 0 && a.boundCount == 0
	completes := a.pendingCount == 0 && a.allocated.IsZero()
	fits := map[State]bool{
		New: idle && len(a.log) == 0, Accepted: !idle, Running: !idle, Completing: completes && (a.completingEntry != nil || !idle),
	}
	switch {
	case !fits[a.state]:
		return fmt.Errorf("application %s is %s, with %d asks and %d allocations", a.id, a.state, a.pendingCount, a.boundCount)
	case a.state != New && a.log[len(a.log)-1].State != a.state:
		return fmt.Errorf("application %s is %s, the last state of its log is %s", a.id, a.state, a.log[len(a.log)-1].State)
	case a.completingEntry != nil && (a.state != Completing || a.completingEntry.Value.(completingSince).app != a):
		return fmt.Errorf("application %s has the completing entry of another application", a.id)
	}
	return nil
}

// checkEnded checks the list of completing applications and the history.
func (p *Partition) checkEnded() error {
	last := int64(0)
	for e := p.life.completing.Front(); e != nil; e = e.Next() {
		w := e.Value.(completingSince)
		if p.apps[w.app.id] != w.app || w.app.completingEntry != e || w.since < last {
			return fmt.Errorf("application %s is wrongly listed as completing", w.app.id)
		}
		last = w.since
	}
	for _, h := range []*history{&p.life.completed, &p.life.rejected} {
		seen := map[AppID]*list.Element{}
		for e := h.list.Front(); e != nil; e = e.Next() {
			x := e.Value.(*EndedApplication)
			if _, twice := seen[x.ID]; twice && h.unique {
				return fmt.Errorf("application %s is in the history twice", x.ID)
			}
			seen[x.ID] = e
			if before := e.Prev(); before != nil && before.Value.(*EndedApplication).Finished.After(x.Finished) {
				return fmt.Errorf("application %s is out of order in the history", x.ID)
			}
		}
		if h.list.Len() > h.maxEntries || len(seen) != len(h.newest) {
			return fmt.Errorf("the history has %d applications, %d by ID, at most %d", h.list.Len(), len(h.newest), h.maxEntries)
		}
		for id, e := range seen {
			if h.newest[id] != e {
				return fmt.Errorf("the history finds an older entry of application %s", id)
			}
		}
	}
	return nil
}
