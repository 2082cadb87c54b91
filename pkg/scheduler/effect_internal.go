package scheduler

import (
	"fmt"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// Effects that no resource manager is told of: it ordered what they say, or the interface has no
// words for it. Noted and Refused are such effects too.

type (
	// NodeChanged says that a node of the partition was changed, as the RM ordered. A command that
	// changes nothing has no such effect.
	NodeChanged struct {
		Node        objects.NodeID
		Change      NodeChange
		Before      resources.Amounts // NodeResized, NodeRemoved: what it had
		After       resources.Amounts // NodeResized: what it has
		Allocations int               // that run on it; NodeRemoved: that were released with it. NodeResized: 0
	}

	// QueueChanged says what became of a queue.
	QueueChanged objects.ChangedQueue

	// AskCancelled says that an ask is gone without having been placed.
	AskCancelled struct {
		Key    objects.AllocationKey
		App    objects.AppID
		Reason string
	}
)

// NodeChange is what became of a node.
type NodeChange uint8

// The changes of nodes.
const (
	NodeResized   NodeChange = iota // it has other amounts
	NodeDrained                     // it takes nothing new
	NodeUndrained                   // it is schedulable again
	NodeRemoved                     // it is gone, with its allocations
)

func (n NodeChange) String() string {
	return [...]string{"resized", "drained", "undrained", "removed"}[n]
}

func (NodeChanged) effect()  {}
func (QueueChanged) effect() {}
func (AskCancelled) effect() {}

func (e NodeChanged) String() string {
	switch e.Change {
	case NodeResized:
		return fmt.Sprintf("node %s was resized from %v to %v", e.Node, e.Before, e.After)
	case NodeRemoved:
		return fmt.Sprintf("node %s was removed; allocations on it: %d", e.Node, e.Allocations)
	}
	return fmt.Sprintf("node %s was %s; allocations on it: %d", e.Node, e.Change, e.Allocations)
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

// Internal reports whether an effect is for history, logs and metrics only: no resource manager
// is told of it.
func Internal(e Effect) bool {
	switch e.(type) {
	case Event, Refused, NodeChanged, QueueChanged, AskCancelled:
		return true
	}
	return false
}
