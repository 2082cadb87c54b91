package scheduler

import (
	"errors"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/objects"
)

// OperatorAction is an action of an operator on an application, a queue or a node. A recording has its number: a new
// one goes to the end.
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

// ActionInfo describes an action. The paths of REST, the commands, events, and lines of the log take what they say of
// it from here.
type ActionInfo struct {
	On      ObjectKind
	Verb    string // in paths and commands
	Done    string // a past participle
	Does    string // a sentence without a full stop
	ToQueue bool   // the action takes a second name, that of a queue
}

// ObjectKind is a kind of object on which operators act, as paths name it.
type ObjectKind string

// The kinds.
const (
	OnApplication ObjectKind = "application"
	OnQueue       ObjectKind = "queue"
	OnNode        ObjectKind = "node"
)

// operatorActions describes the actions. perform checks and performs one and reports whether it changes anything; it
// leaves to follow what has effects, which come after OperatorActed.
var operatorActions = [...]struct {
	ActionInfo
	perform func(c *Core, m *Operate) (changed bool, err error)
	follow  func(c *Core, now time.Time, m *Operate) // nil: nothing more
}{
	HoldApplication: {ActionInfo{OnApplication, "hold", "put on hold",
		"Place no further asks of an application, and leave what runs", false}, (*Core).hold, nil},
	ReleaseApplication: {ActionInfo{OnApplication, "release", "released", "End the hold of an application", false},
		(*Core).hold, nil},
	MoveApplication: {ActionInfo{OnApplication, "move", "moved",
		"Move an application with all that it has to another leaf queue, within the quotas of that", true},
		(*Core).mayMove, (*Core).move},
	CancelApplication: {ActionInfo{OnApplication, "cancel", "cancelled",
		"End an application: withdraw its asks, and have the resource manager end what runs", false},
		(*Core).mayCancel, (*Core).cancel},
	StopQueue: {ActionInfo{OnQueue, "stop", "stopped",
		"Place nothing more in a queue and those below, and leave what runs", false}, (*Core).switchQueue, nil},
	DrainQueue: {ActionInfo{OnQueue, "drain", "set draining",
		"Accept no new applications in a queue and those below, and let those that are there run to the end", false},
		(*Core).switchQueue, nil},
	StartQueue: {ActionInfo{OnQueue, "start", "started", "End the stop and the drain of a queue", false},
		(*Core).switchQueue, nil},
	CordonNode: {ActionInfo{OnNode, "cordon", "cordoned",
		"Place nothing more on a node, whatever the resource manager says of it, and leave what runs", false},
		(*Core).switchNode, nil},
	DrainNode: {ActionInfo{OnNode, "drain", "set draining",
		"Cordon a node, and have the resource manager end what runs there, within disruption budgets", false},
		(*Core).switchNode, nil},
	UncordonNode: {ActionInfo{OnNode, "uncordon", "uncordoned",
		"Let what the resource manager says of a node count again, and end a drain", false}, (*Core).switchNode, nil},
}

// OperatorState holds what operators have switched, by name, sorted. Package operators stores its JSON: a name there
// must not change.
type OperatorState struct {
	// applications on hold, also those that were when the process ended and have not come back
	Held     []objects.AppID     `json:"onHold,omitempty"`
	Stopped  []objects.QueuePath `json:"stopped,omitempty"`       // also those that do not exist now
	Cordoned []objects.NodeID    `json:"cordoned,omitempty"`      // likewise
	Draining []objects.NodeID    `json:"drainingNodes,omitempty"` // those of Cordoned that are drained
	Drained  []objects.QueuePath `json:"draining,omitempty"`      // also those that do not exist now
	Moved    []MovedApplication  `json:"moved,omitempty"`         // by application, also those that have not come back
	// applications in drained queues, which are admitted when they come back, and those that have not
	Admitted []objects.AppID `json:"admitted,omitempty"`
}

// MovedApplication is an application that an operator has moved.
type MovedApplication struct {
	App   objects.AppID     `json:"application"`
	Queue objects.QueuePath `json:"queue"` // where it was moved
	objects.Moved
}

// EachOperatorAction yields every action: those on applications, then on queues, then on nodes.
func EachOperatorAction(yield func(OperatorAction) bool) {
	for _, kind := range []ObjectKind{OnApplication, OnQueue, OnNode} {
		for a := range operatorActions {
			if operatorActions[a].On == kind && !yield(OperatorAction(a)) {
				return
			}
		}
	}
}

// Info describes the action.
func (a OperatorAction) Info() ActionInfo { return operatorActions[a].ActionInfo }

// Of returns the command for the action on the object of a name. toQueue is the second name, if the action takes one.
func (a OperatorAction) Of(name, toQueue string) Operate {
	m := Operate{Action: a, Queue: objects.QueuePath(toQueue)}
	switch a.Info().On {
	case OnApplication:
		m.App = objects.AppID(name)
	case OnQueue:
		m.Queue = objects.QueuePath(name)
	case OnNode:
		m.Node = objects.NodeID(name)
	}
	return m
}

// Object returns the name of the object of the action.
func (m *Operate) Object() string {
	switch m.Action.Info().On {
	case OnApplication:
		return string(m.App)
	case OnQueue:
		return string(m.Queue)
	}
	return string(m.Node)
}

// subject returns the kind and the name of the object.
func (m *Operate) subject() string { return string(m.Action.Info().On) + " " + m.Object() }

// operate applies an action of an operator (OPS-1 to OPS-3). An action on something unknown is refused; one that
// changes nothing has no effect.
func (c *Core) operate(now time.Time, m Operate) {
	action, before := &operatorActions[m.Action], c.isSchedulable(m.Node)
	changed, err := action.perform(c, &m)
	if err != nil {
		c.emitRefused(Refused{Subject: action.Verb + " of " + m.subject(), App: m.App, Node: m.Node,
			Unknown: errors.Is(err, objects.ErrUnknown)}, err)
	}
	if err != nil || !changed {
		return
	}
	c.emit(OperatorActed(m))
	if action.follow != nil {
		action.follow(c, now, &m)
	}
	c.reportSchedulability(m.Node, before)
}
