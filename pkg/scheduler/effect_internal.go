package scheduler

import (
	"fmt"
	"strings"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// Effects for which the streams of the interface have no message, or that the resource manager ordered itself. Event
// and Refused are internal too.

type (
	// NodeChanged says that a node was changed at the request of the RM, or that its allocations began or ceased to exceed
	// its capacity. A command that changes nothing has no such effect.
	NodeChanged struct {
		Node        objects.NodeID
		Change      NodeChange
		Before      resources.Amounts // NodeResized, NodeRemoved: the capacity before
		After       resources.Amounts // NodeResized, NodeOvercommitted, NodeNotOvercommitted: the capacity now
		Excess      resources.Amounts // NodeOvercommitted: what the allocations exceed it by
		Allocations int               // on the node; NodeRemoved: released with it. NodeResized: 0
	}

	// QueueChanged says how a queue was changed.
	QueueChanged objects.ChangedQueue

	// AskCancelled says that a pending ask was removed.
	AskCancelled struct {
		Key    objects.AllocationKey
		App    objects.AppID
		Reason string
	}

	// OperatorActed says that an action of an operator has changed something.
	OperatorActed Operate

	// AsksWait says why pending asks wait, each of which has another waiting state than was said last (ASK-62). The linked
	// shim gets each by a callback of its own (RMI-65).
	AsksWait struct {
		Asks []WaitingAsk
	}
)

// NodeChange is a kind of change of a node.
type NodeChange uint8

// The kinds.
const (
	NodeResized           NodeChange = iota // its capacity changed
	NodeMadeUnschedulable                   // it is unschedulable
	NodeMadeSchedulable                     // it is schedulable again
	NodeRemoved                             // it and its allocations were removed
	NodeOvercommitted                       // its allocations exceed its capacity
	NodeNotOvercommitted                    // they no longer do
)

func (n NodeChange) String() string {
	return [...]string{"resized", "made unschedulable", "made schedulable", "removed", "overcommitted",
		"no longer overcommitted"}[n]
}

func (OperatorActed) effect() {}
func (NodeChanged) effect()   {}
func (QueueChanged) effect()  {}
func (AskCancelled) effect()  {}
func (AsksWait) effect()      {}

func (e NodeChanged) String() string {
	switch e.Change {
	case NodeResized:
		return fmt.Sprintf("node %s was resized from %v to %v", e.Node, e.Before, e.After)
	case NodeOvercommitted:
		return fmt.Sprintf("node %s is overcommitted by %v: its capacity is %v; allocations on it: %d", e.Node, e.Excess,
			e.After, e.Allocations)
	case NodeNotOvercommitted:
		return fmt.Sprintf("node %s is no longer overcommitted: its capacity is %v; allocations on it: %d", e.Node, e.After,
			e.Allocations)
	case NodeRemoved:
		return fmt.Sprintf("node %s was removed; allocations on it: %d", e.Node, e.Allocations)
	}
	return fmt.Sprintf("node %s was %s; allocations on it: %d", e.Node, e.Change, e.Allocations)
}

func (e OperatorActed) String() string {
	text := Operate(e)
	by := e.By
	if by == "" {
		by = "an operator"
	}
	done := e.Action.Info().Done
	if e.From != "" {
		done += fmt.Sprintf(" from queue %s to %s", e.From, e.Queue)
	}
	return fmt.Sprintf("%s was %s by %s", text.subject(), done, by)
}

func (e QueueChanged) String() string {
	kind := "queue"
	if e.Dynamic {
		kind = "dynamic queue"
	}
	return fmt.Sprintf("%s %s: %s", kind, e.Queue, e.Change)
}

func (e AskCancelled) String() string {
	return fmt.Sprintf("cancelled ask %s (%s): %s", e.Key, e.App, e.Reason)
}

// String is a line for each ask.
func (e AsksWait) String() string {
	lines := make([]string, 0, len(e.Asks))
	for w, reason := range e.EachWithReason {
		lines = append(lines, fmt.Sprintf("waiting ask %s (%s) is %s: %s", w.Ask.Key, w.Ask.App, w.State, reason))
	}
	return strings.Join(lines, "\n")
}

// Internal reports whether no response of the interface has an effect: it is for history, logs and metrics (RMI-52),
// and AsksWait for callbacks.
func Internal(e Effect) bool {
	switch e.(type) {
	case Event, Refused, NodeChanged, QueueChanged, AskCancelled, AsksWait, OperatorActed:
		return true
	}
	return false
}
