package twin

import (
	"github.com/canopy-scheduler/canopy/pkg/objects"
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
	case scheduler.StopQueue, scheduler.StartQueue:
		stopped := c.Action == scheduler.StopQueue
		unknown = t.queue(c.Queue) == nil && (stopped || !t.stopped[c.Queue])
		changed = t.stopped[c.Queue] != stopped
		if !unknown {
			if t.stopped[c.Queue] = stopped; !stopped {
				delete(t.stopped, c.Queue)
			}
		}
	default:
		t.cordon(c)
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
	if t.held[id] = held; !held {
		delete(t.held, id)
	}
}

// cordon makes a node unschedulable, or what the RM says count again.
func (t *Twin) cordon(c scheduler.Operate) {
	n, cordoned := t.node(c.Node), c.Action == scheduler.CordonNode
	schedulable, was := t.cordoned[c.Node]
	switch {
	case n == nil && (cordoned || !was):
		t.refuse("operation", "unknown")
	case was == cordoned:
	case cordoned:
		t.cordoned[c.Node] = n.schedulable
		t.emit(scheduler.OperatorActed(c))
		t.makeSchedulable(n, false)
	default:
		delete(t.cordoned, c.Node)
		t.emit(scheduler.OperatorActed(c))
		if n != nil {
			t.makeSchedulable(n, schedulable)
		}
	}
}

// switchedOff reports whether operators hold a, or have stopped a queue of its path.
func (t *Twin) switchedOff(a *app) bool {
	if t.held[a.id] {
		return true
	}
	for _, q := range t.pathQueues(a.leaf) {
		if t.stopped[q.path] {
			return true
		}
	}
	return false
}

// schedulableByOperators is whether a node is schedulable that the RM says is, or is not.
func (t *Twin) schedulableByOperators(id objects.NodeID, schedulable bool) bool {
	if _, cordoned := t.cordoned[id]; cordoned {
		t.cordoned[id] = schedulable
		return false
	}
	return schedulable
}
