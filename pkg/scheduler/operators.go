package scheduler

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/objects"
)

// OperatorAction is what an operator does to an application, a queue or a node.
type OperatorAction uint8

// The actions.
const (
	HoldApplication    OperatorAction = iota // its asks are not placed and do not preempt (OPS-1)
	ReleaseApplication                       // it is no longer on hold
	StopQueue                                // no ask in and below the queue is placed or preempts (OPS-2)
	StartQueue                               // the queue is no longer stopped, and no longer drained
	CordonNode                               // the node is unschedulable, whatever the resource manager says (OPS-3)
	UncordonNode                             // what the resource manager says counts again
	DrainNode                                // it is cordoned, and its allocations are preempted (OPS-10)
	DrainQueue                               // the queue accepts no new application (OPS-8)
	MoveApplication                          // it is in another leaf queue (OPS-9)
	CancelApplication                        // it ends: its asks are withdrawn, its allocations are preempted (OPS-7)
)

// String is the action as a past participle, for events and logs.
func (a OperatorAction) String() string {
	return [...]string{"held", "released", "stopped", "started", "cordoned", "uncordoned", "set draining", "set draining",
		"moved", "cancelled"}[a]
}

// Code is the stable code of the action.
func (a OperatorAction) Code() string {
	return [...]string{"hold", "release", "stop", "start", "cordon", "uncordon", "drain", "drain", "move", "cancel"}[a]
}

// OperatorState is what operators have switched, by name, sorted. It is a value.
type OperatorState struct {
	// applications on hold, also those that were when the process ended and have not come back
	Held     []objects.AppID
	Stopped  []objects.QueuePath // stopped queues, also those that do not exist now
	Cordoned []objects.NodeID    // likewise
	Draining []objects.NodeID    // those of Cordoned that are drained
	Drained  []objects.QueuePath // drained queues, likewise
	Moved    []MovedApplication  // by application, also those that have not come back
	// applications in drained queues, which are admitted when they come back, and those that have not
	Admitted []objects.AppID
}

// MovedApplication is an application that an operator has moved.
type MovedApplication struct {
	App   objects.AppID
	Queue objects.QueuePath // where it was moved
	objects.Moved
}

// operators is what operators have switched.
type operators struct {
	moved    map[objects.AppID]MovedApplication // applications that are placed where they were moved when they come back
	awaited  map[objects.AppID]bool             // applications that are on hold when they come back
	admitted map[objects.AppID]bool             // applications that drained queues admit when they come back
	stopped  map[objects.QueuePath]bool
	drained  map[objects.QueuePath]bool
	draining map[objects.NodeID]bool // those of cordoned that are drained
	cordoned map[objects.NodeID]bool // with what the resource manager says of the node: it is schedulable
}

// OperatorState is what operators have switched.
func (c *Core) OperatorState() (s OperatorState) {
	held, admitted := maps.Clone(c.operators.awaited), maps.Clone(c.operators.admitted)
	for _, id := range c.heldApplications() {
		held = put(held, id, true)
	}
	for _, id := range c.applicationsOfDrained() {
		admitted = put(admitted, id, true)
	}
	s.Held, s.Stopped, s.Cordoned = slices.Sorted(maps.Keys(held)), slices.Sorted(maps.Keys(c.operators.stopped)),
		slices.Sorted(maps.Keys(c.operators.cordoned))
	s.Moved, s.Draining = c.movedApplications(), slices.Sorted(maps.Keys(c.operators.draining))
	s.Drained, s.Admitted = slices.Sorted(maps.Keys(c.operators.drained)), slices.Sorted(maps.Keys(admitted))
	return s
}

// heldApplications are the applications on hold, in no order. The cost grows with the number of applications.
func (c *Core) heldApplications() (ids []objects.AppID) {
	for a := range objects.EachApplication(c.part) {
		if a.OnHold() {
			ids = append(ids, a.ID())
		}
	}
	return ids
}

// operate applies an action of an operator (OPS-1 to OPS-3). An action about something unknown is refused; one that
// changes nothing has no effect.
func (c *Core) operate(now time.Time, m Operate) {
	_, wasCordoned := c.operators.cordoned[m.Node]
	changed, err := c.performOperation(m)
	switch {
	case err != nil:
		c.emitRefused(Refused{Subject: m.Action.Code() + " of " + m.subject(), App: m.App, Node: m.Node,
			Unknown: errors.Is(err, objects.ErrUnknown)}, err)
	case m.Action == CancelApplication && changed:
		c.emit(OperatorActed(m))
		c.cancel(now, m.App)
	case m.Action == MoveApplication && changed:
		a, _ := c.part.Application(m.App)
		m.From = a.Queue().Path()
		c.emit(OperatorActed(m))
		c.move(now, a, m)
	case changed:
		c.emit(OperatorActed(m))
		c.reportSchedulability(m, wasCordoned)
	}
}

func (c *Core) performOperation(m Operate) (changed bool, err error) {
	switch m.Action {
	case HoldApplication, ReleaseApplication:
		return c.hold(m.App, m.Action == HoldApplication)
	case StopQueue, DrainQueue, StartQueue:
		return c.switchQueue(m.Queue, m.Action)
	case CancelApplication:
		return c.mayCancel(m.App)
	case MoveApplication:
		return c.mayMove(m.App, m.Queue)
	}
	return c.switchNode(m.Node, m.Action)
}

func (c *Core) hold(id objects.AppID, held bool) (changed bool, err error) {
	a, known := c.part.Application(id)
	switch {
	case !known && !held && c.operators.awaited[id]:
		delete(c.operators.awaited, id)
		return true, nil
	case !known:
		return false, fmt.Errorf("%w application %s", objects.ErrUnknown, id)
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
	if q, known := c.part.Queue(leaf); known && len(c.operators.stopped)+len(c.operators.drained) > 0 {
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
		if _, err := c.hold(id, true); err != nil {
			c.operators.awaited = put(c.operators.awaited, id, true)
		}
	}
	for _, path := range s.Stopped {
		c.operators.stopped = put(c.operators.stopped, path, true)
	}
	for _, path := range s.Drained {
		c.operators.drained = put(c.operators.drained, path, true)
	}
	for _, m := range s.Moved {
		c.operators.moved = put(c.operators.moved, m.App, m)
	}
	for _, id := range s.Admitted {
		c.operators.admitted = put(c.operators.admitted, id, true)
	}
	for _, id := range s.Cordoned {
		if _, err := c.switchNode(id, CordonNode); err != nil {
			c.operators.cordoned = put(c.operators.cordoned, id, true)
		}
	}
	for _, id := range s.Draining {
		if _, err := c.switchNode(id, DrainNode); err != nil {
			c.operators.draining = put(c.operators.draining, id, true)
		}
	}
	c.applyToQueues(c.part.Root())
}
