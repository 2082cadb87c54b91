package scheduler

import (
	"fmt"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/placement"
)

// switchQueue stops, drains or starts a queue (OPS-2, OPS-8).
func (c *Core) switchQueue(m *Operate) (changed bool, err error) {
	path, action := m.Queue, m.Action
	q, known := c.part.Queue(path)
	o := &c.operators
	switch {
	case !known && !(action == StartQueue && (o.stopped[path] || o.drained[path])):
		return false, fmt.Errorf("%w queue %s", objects.ErrUnknown, path)
	case action == StopQueue:
		changed = !o.stopped[path]
		o.stopped = put(o.stopped, path, true)
	case action == DrainQueue:
		changed = !o.drained[path]
		o.drained = put(o.drained, path, true)
	default:
		changed = o.stopped[path] || o.drained[path]
		delete(o.stopped, path)
		delete(o.drained, path)
		if len(o.drained) == 0 {
			o.admitted = nil
		}
	}
	if changed && known {
		c.applyToQueues(q)
	}
	return changed, nil
}

// applyToQueues makes q and the queues below it stopped or not, and drained or not.
func (c *Core) applyToQueues(q *objects.Queue) {
	objects.SetStopped(c.part, q, func(path objects.QueuePath) bool { return c.operators.stopped[path] })
	objects.SetDrained(c.part, q, func(path objects.QueuePath) bool { return c.operators.drained[path] })
}

// outdated reports whether q does not know yet what operators have switched: it is new.
func (c *Core) outdated(q *objects.Queue) bool {
	return q.Stopped() != hasPathOf(c.operators.stopped, q) || q.DrainedByOperator() != hasPathOf(c.operators.drained, q)
}

// hasPathOf reports whether paths has q or a queue above.
func hasPathOf(paths map[objects.QueuePath]bool, q *objects.Queue) bool {
	for ; q != nil; q = q.Parent() {
		if paths[q.Path()] {
			return true
		}
	}
	return false
}

// applicationsOfDrained returns the applications in drained queues, in no order. The cost grows with the number of
// applications if a queue is drained.
func (c *Core) applicationsOfDrained() (ids []objects.AppID) {
	if len(c.operators.drained) == 0 {
		return nil
	}
	for a := range objects.EachApplication(c.part) {
		if a.Queue().DrainedByOperator() {
			ids = append(ids, a.ID())
		}
	}
	return ids
}

// queuesFor returns the tree in which an application is placed. Drained queues admit one that comes back (OPS-8).
func (c *Core) queuesFor(id objects.AppID) placement.Tree {
	if c.operators.admitted[id] {
		return admittingTree{c.part}
	}
	return c.part
}

// admittingTree is the queues of a partition for an application that drained queues admit.
type admittingTree struct{ *objects.Partition }

// Lookup implements placement.Tree.
func (t admittingTree) Lookup(path string) (placement.QueueInfo, bool) {
	info, ok := t.Partition.Lookup(path)
	info.Drained = false
	return info, ok
}

// checkNotDrained returns why an application may not have a queue created at path; nil: it may (OPS-8).
func (c *Core) checkNotDrained(id objects.AppID, path objects.QueuePath) error {
	if q := objects.ClosestQueue(c.part, path); q.DrainedByOperator() && !c.operators.admitted[id] {
		return fmt.Errorf("queue %s cannot be created: %s %w", path, q.Path(), objects.ErrDrained)
	}
	return nil
}
