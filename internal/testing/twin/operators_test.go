package twin

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/lifecycle"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/placement"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// operate applies an action of an operator.
func (t *Twin) operate(c scheduler.Operate) {
	changed, unknown := false, false
	switch c.Action {
	case scheduler.HoldApplication, scheduler.ReleaseApplication:
		held := c.Action == scheduler.HoldApplication
		unknown = t.app(c.App) == nil && (held || !t.held[c.App])
		changed = t.held[c.App] != held
		if !unknown {
			t.setHeld(c.App, held)
		}
	case scheduler.StopQueue, scheduler.DrainQueue, scheduler.StartQueue:
		switchedOff := t.stopped[c.Queue] || t.drained[c.Queue]
		unknown = t.queue(c.Queue) == nil && (c.Action != scheduler.StartQueue || !switchedOff)
		switch {
		case unknown:
		case c.Action == scheduler.StopQueue:
			changed = !t.stopped[c.Queue]
			t.stopped[c.Queue] = true
		case c.Action == scheduler.DrainQueue:
			changed = !t.drained[c.Queue]
			t.drained[c.Queue] = true
		default:
			changed = switchedOff
			delete(t.stopped, c.Queue)
			delete(t.drained, c.Queue)
			if len(t.drained) == 0 {
				clear(t.admitted)
			}
		}
	case scheduler.CancelApplication:
		t.cancel(c)
		return
	case scheduler.MoveApplication:
		t.move(c)
		return
	default:
		t.switchNode(c)
		return
	}
	switch {
	case unknown:
		t.refuse("operation", "unknown")
	case changed:
		t.forgetGroups()
		t.emit(scheduler.OperatorActed(c))
	}
}

func (t *Twin) setHeld(id objects.AppID, held bool) {
	t.held[id] = held
	if !held {
		delete(t.held, id)
	}
}

// cancel ends an application: its asks are withdrawn, and it has failed when all of its allocations have ended.
func (t *Twin) cancel(c scheduler.Operate) {
	a := t.app(c.App)
	switch {
	case a == nil:
		t.refuse("operation", "unknown")
		return
	case a.cancelled:
		return
	}
	t.emit(scheduler.OperatorActed(c))
	a.cancelled = true
	if a.state != lifecycle.Failing {
		t.enterState(a, lifecycle.Failing, lifecycle.ReasonCancelled)
		t.emitStates()
	}
	own, message := byKey(t.allocationsOf(a.id)), fmt.Sprintf("application %s was cancelled by an operator", a.id)
	for _, w := range own {
		t.unlink(w)
	}
	for _, w := range filter(own, func(w *allocation) bool { return w.node == "" }) {
		t.emit(scheduler.AskTimedOut{Key: w.ask.Key, App: a.id, Message: message, Withdrawn: true})
		t.allocations = slices.DeleteFunc(t.allocations, func(x *allocation) bool { return x == w })
		t.standInRemoved(w)
	}
	for _, w := range filter(own, func(w *allocation) bool { return w.node != "" && !w.preempting && !w.ending }) {
		t.evict(w, message)
	}
	t.updateIdle(a, false)
	t.forgetGroups()
}

// evict preempts an allocation because an operator ends it.
func (t *Twin) evict(w *allocation, message string) {
	w.preempting, w.preemptingSince = true, t.now
	t.emit(scheduler.Released{Key: w.ask.Key, App: w.ask.App, Type: scheduler.PreemptedByScheduler,
		Message: "preempted (operator): " + message})
}

// switchNode cordons or drains a node, or lets what the RM says count again.
func (t *Twin) switchNode(c scheduler.Operate) {
	n := t.node(c.Node)
	schedulable, was := t.cordoned[c.Node]
	switch {
	case n == nil && (c.Action != scheduler.UncordonNode || !was):
		t.refuse("operation", "unknown")
	case c.Action == scheduler.UncordonNode && was:
		delete(t.cordoned, c.Node)
		delete(t.drainingNodes, c.Node)
		t.emit(scheduler.OperatorActed(c))
		if n != nil {
			t.makeSchedulable(n, schedulable)
		}
	case c.Action == scheduler.UncordonNode, c.Action == scheduler.CordonNode && was, t.drainingNodes[c.Node]:
	default:
		t.emit(scheduler.OperatorActed(c))
		if !was {
			t.cordoned[c.Node] = n.schedulable
			t.makeSchedulable(n, false)
		}
		if c.Action == scheduler.DrainNode {
			t.drainingNodes[c.Node] = true
		}
	}
}

// drainNodes preempts what a drained node has, as far as disruption budgets allow.
func (t *Twin) drainNodes() (any bool) {
	for _, id := range slices.Sorted(maps.Keys(t.drainingNodes)) {
		left := filter(t.allocations, func(w *allocation) bool {
			return w.node == id && !w.preempting && !w.ending && w.ask.RequiredNode() == ""
		})
		slices.SortFunc(left, func(a, b *allocation) int {
			return cmp.Or(cmp.Compare(a.ask.Priority, b.ask.Priority), b.boundAt.Compare(a.boundAt),
				cmp.Compare(a.ask.Key, b.ask.Key))
		})
		for _, w := range left {
			if !t.budgetsProtect(w) {
				t.evict(w, fmt.Sprintf("node %s is drained by an operator", id))
				any = true
			}
		}
		if any {
			return true
		}
	}
	return false
}

// budgetsProtect reports whether a disruption budget does not allow to preempt one more allocation like w.
func (t *Twin) budgetsProtect(w *allocation) bool {
	for i := range t.budgets {
		b := &t.budgets[i]
		if w.ask.Placeholder || !budgetSelects(b, w.ask.Tags()) {
			continue
		}
		if all, leaving := t.budgetUsage(b); disruptionsAllowed(b.Allowance, all, leaving) <= 0 {
			return true
		}
	}
	return false
}

// switchedOff reports whether operators hold a, or have stopped a queue of its path, or have to move it out of the
// recovery queue.
func (t *Twin) switchedOff(a *app) bool {
	if t.held[a.id] || a.leaf == placement.RecoveryQueue {
		return true
	}
	for _, q := range t.pathQueues(a.leaf) {
		if t.stopped[q.path] {
			return true
		}
	}
	return false
}

// schedulableByOperators reports whether a node is schedulable, given what the RM says.
func (t *Twin) schedulableByOperators(id objects.NodeID, schedulable bool) bool {
	if _, cordoned := t.cordoned[id]; cordoned {
		t.cordoned[id] = schedulable
		return false
	}
	return schedulable
}

// isDrained reports whether operators drain the lowest queue that exists of a path, or one above.
func (t *Twin) isDrained(path objects.QueuePath) bool {
	return slices.ContainsFunc(t.pathQueues(path), func(q *queue) bool { return t.drained[q.path] })
}

// expectBack makes drained queues admit the applications that they have when these come back, and remembers where
// applications were moved.
func (t *Twin) expectBack() {
	for _, a := range t.apps {
		if t.isDrained(a.leaf) {
			t.admitted[a.id] = true
		}
		if a.moved {
			t.movedTo[a.id] = a.leaf
		}
	}
}
