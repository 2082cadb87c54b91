package scheduler

import (
	"fmt"
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/placement"
)

// queueSwitch describes what an action switches on for a queue and those below. StartQueue switches all of it off.
type queueSwitch struct {
	action OperatorAction
	kept   func(s *OperatorState) *[]objects.QueuePath
	isOn   func(q *objects.Queue) bool // also for a queue above
	apply  func(p *objects.Partition, q *objects.Queue, isOn func(objects.QueuePath) bool)
}

var queueSwitches = [...]queueSwitch{
	{StopQueue, func(s *OperatorState) *[]objects.QueuePath { return &s.Stopped }, (*objects.Queue).Stopped,
		objects.SetStopped},
	{DrainQueue, func(s *OperatorState) *[]objects.QueuePath { return &s.Drained }, (*objects.Queue).DrainedByOperator,
		objects.SetDrained},
}

// switchQueue stops, drains or starts a queue (OPS-2, OPS-8).
func (c *Core) switchQueue(m *Operate) (changed bool, err error) {
	q, known := c.part.Queue(m.Queue)
	o := &c.operators
	isOn := slices.ContainsFunc(queueSwitches[:], func(s queueSwitch) bool { return o.queues[s.action][m.Queue] })
	switch {
	case !known && !(m.Action == StartQueue && isOn):
		return false, fmt.Errorf("%w queue %s", objects.ErrUnknown, m.Queue)
	case m.Action != StartQueue:
		changed = !o.queues[m.Action][m.Queue]
		o.switchOn(m.Action, m.Queue)
	default:
		changed = isOn
		for _, s := range queueSwitches {
			delete(o.queues[s.action], m.Queue)
		}
		if len(o.queues[DrainQueue]) == 0 {
			o.admitted = nil
		}
	}
	if changed && known {
		c.applyToQueues(q)
	}
	return changed, nil
}

// switchOn switches something on at a path. Applying it is left to the caller.
func (o *operators) switchOn(action OperatorAction, path objects.QueuePath) {
	o.queues = put(o.queues, action, put(o.queues[action], path, true))
}

// switchesQueues reports whether something is switched on for a queue.
func (o *operators) switchesQueues() bool {
	return slices.ContainsFunc(queueSwitches[:], func(s queueSwitch) bool { return len(o.queues[s.action]) > 0 })
}

// applyToQueues applies to q and the queues below what is switched on.
func (c *Core) applyToQueues(q *objects.Queue) {
	for _, s := range queueSwitches {
		s.apply(c.part, q, func(path objects.QueuePath) bool { return c.operators.queues[s.action][path] })
	}
}

// outdated reports whether q does not know yet what operators have switched: it is new.
func (c *Core) outdated(q *objects.Queue) bool {
	return slices.ContainsFunc(queueSwitches[:], func(s queueSwitch) bool {
		return s.isOn(q) != hasPathOf(c.operators.queues[s.action], q)
	})
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
	if len(c.operators.queues[DrainQueue]) == 0 {
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
