package scheduler

import (
	"fmt"
	"maps"
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/objects"
)

// operators holds what operators have switched.
type operators struct {
	// applications that are placed where they were moved when they come back
	moved    map[objects.AppID]MovedApplication
	awaited  map[objects.AppID]bool                        // applications that are on hold when they come back
	admitted map[objects.AppID]bool                        // applications that drained queues admit when they come back
	queues   map[OperatorAction]map[objects.QueuePath]bool // what queueSwitches have on
	draining map[objects.NodeID]bool                       // those of cordoned that are drained
	// with what the resource manager says of the node: it is schedulable
	cordoned map[objects.NodeID]bool
}

// OperatorState returns what operators have switched.
func (c *Core) OperatorState() (s OperatorState) {
	held, admitted := maps.Clone(c.operators.awaited), maps.Clone(c.operators.admitted)
	for _, id := range c.heldApplications() {
		held = put(held, id, true)
	}
	for _, id := range c.applicationsOfDrained() {
		admitted = put(admitted, id, true)
	}
	for _, x := range queueSwitches {
		*x.kept(&s) = slices.Sorted(maps.Keys(c.operators.queues[x.action]))
	}
	s.Held, s.Cordoned = slices.Sorted(maps.Keys(held)), slices.Sorted(maps.Keys(c.operators.cordoned))
	s.Moved, s.Draining = c.movedApplications(), slices.Sorted(maps.Keys(c.operators.draining))
	s.Admitted = slices.Sorted(maps.Keys(admitted))
	return s
}

// heldApplications returns the applications on hold, in no order. The cost grows with the number of applications.
func (c *Core) heldApplications() (ids []objects.AppID) {
	for a := range objects.EachApplication(c.part) {
		if a.OnHold() {
			ids = append(ids, a.ID())
		}
	}
	return ids
}

// hold puts an application on hold, or ends that (OPS-1). One that has not come back can be released.
func (c *Core) hold(m *Operate) (changed bool, err error) {
	a, known := c.part.Application(m.App)
	held := m.Action == HoldApplication
	switch {
	case !known && !held && c.operators.awaited[m.App]:
		delete(c.operators.awaited, m.App)
		return true, nil
	case !known:
		return false, fmt.Errorf("%w application %s", objects.ErrUnknown, m.App)
	case a.OnHold() == held:
		return false, nil
	}
	objects.SetOnHold(c.part, a, held)
	return true, nil
}

func put[K comparable, V any](m map[K]V, key K, value V) map[K]V {
	if m == nil {
		m = map[K]V{}
	}
	m[key] = value
	return m
}

// operatorsOnAdded applies to a new application what operators have switched before: it may have come back, or its leaf
// may be new.
func (c *Core) operatorsOnAdded(id objects.AppID, leaf objects.QueuePath) {
	if q, known := c.part.Queue(leaf); known && c.operators.switchesQueues() {
		for q.Parent() != nil && c.outdated(q.Parent()) { // it is new, too
			q = q.Parent()
		}
		c.applyToQueues(q)
	}
	delete(c.operators.admitted, id)
	c.restoreMove(id)
	if a, known := c.part.Application(id); known && c.operators.awaited[id] {
		delete(c.operators.awaited, id)
		objects.SetOnHold(c.part, a, true)
	}
}

// operatorsOnReset keeps what operators have switched while the partition is reset: applications and nodes will be
// reported again.
func (c *Core) operatorsOnReset() {
	for _, id := range c.heldApplications() {
		c.operators.awaited = put(c.operators.awaited, id, true)
	}
	for _, id := range c.applicationsOfDrained() {
		c.operators.admitted = put(c.operators.admitted, id, true)
	}
	for _, m := range c.movedApplications() {
		c.operators.moved = put(c.operators.moved, m.App, m)
	}
}

// restoreOperators replaces what operators have switched by what was stored. Nothing need exist yet.
func (c *Core) restoreOperators(s OperatorState) {
	c.operators = operators{}
	for _, id := range s.Held {
		if _, err := c.hold(&Operate{Action: HoldApplication, App: id}); err != nil {
			c.operators.awaited = put(c.operators.awaited, id, true)
		}
	}
	for _, x := range queueSwitches {
		for _, path := range *x.kept(&s) {
			c.operators.switchOn(x.action, path)
		}
	}
	for _, m := range s.Moved {
		c.operators.moved = put(c.operators.moved, m.App, m)
	}
	for _, id := range s.Admitted {
		c.operators.admitted = put(c.operators.admitted, id, true)
	}
	for _, id := range s.Cordoned {
		if _, err := c.switchNode(&Operate{Action: CordonNode, Node: id}); err != nil {
			c.operators.cordoned = put(c.operators.cordoned, id, true)
		}
	}
	for _, id := range s.Draining {
		if _, err := c.switchNode(&Operate{Action: DrainNode, Node: id}); err != nil {
			c.operators.draining = put(c.operators.draining, id, true)
		}
	}
	c.applyToQueues(c.part.Root())
}
