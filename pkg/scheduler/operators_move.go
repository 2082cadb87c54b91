package scheduler

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/gangscheduling"
	"github.com/canopy-scheduler/canopy/pkg/objects"
)

// mayMove reports whether an application is in another queue, and notes in which. The error says why it may not be
// moved (OPS-9).
func (c *Core) mayMove(m *Operate) (changed bool, err error) {
	a, known := c.part.Application(m.App)
	if !known {
		return false, fmt.Errorf("%w application %s", objects.ErrUnknown, m.App)
	}
	to, known := c.part.Queue(m.Queue)
	switch {
	case !known:
		return false, fmt.Errorf("%w queue %s", objects.ErrUnknown, m.Queue)
	case a.Queue() == to:
		return false, nil
	}
	m.From = a.Queue().Path()
	return true, gangscheduling.CheckMove(c.part, a, to)
}

// move moves an application. Requires: mayMove.
func (c *Core) move(now time.Time, m *Operate) {
	a, _ := c.part.Application(m.App)
	to, _ := c.part.Queue(m.Queue)
	objects.MoveApplication(c.part, a, to)
	objects.RecordMove(c.part, a, objects.Moved{From: m.From, At: now, By: m.By})
	c.preemption.EndMoved(now)
	c.emitQueueChanges()
}

// movedApplications returns the applications that operators have moved, also those that have not come back, by ID. The
// cost grows with the number of applications.
func (c *Core) movedApplications() []MovedApplication {
	all := slices.Collect(maps.Values(c.operators.moved))
	for a := range objects.EachApplication(c.part) {
		if moved := objects.LastMove(c.part, a); moved != nil {
			m := MovedApplication{a.ID(), a.Queue().Path(), *moved}
			m.At = m.At.UTC()
			all = append(all, m)
		}
	}
	slices.SortFunc(all, func(a, b MovedApplication) int { return strings.Compare(string(a.App), string(b.App)) })
	return all
}

// movedLeaf returns the leaf to which an operator moved an application before it came back; empty: it was not moved, or
// that leaf does not take it any more.
func (c *Core) movedLeaf(m AddApplication) objects.QueuePath {
	to, moved := c.operators.moved[m.App]
	if !moved {
		return ""
	}
	q, known := c.part.Queue(to.Queue)
	if !known || !q.Leaf() || q.Draining() || q.DrainedByOperator() && !c.operators.admitted[m.App] ||
		!q.MaySubmit(m.User) {
		return ""
	}
	return to.Queue
}

// restoreMove records that an application was moved before it came back, if it is where it was moved.
func (c *Core) restoreMove(id objects.AppID) {
	to, moved := c.operators.moved[id]
	if !moved {
		return
	}
	delete(c.operators.moved, id)
	if a, known := c.part.Application(id); known && a.Queue().Path() == to.Queue {
		objects.RecordMove(c.part, a, to.Moved)
	}
}
