package scheduler

import (
	"fmt"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// Effect is something the outside must be told. Effects are values in the order in
// which they became true; a room further out may batch them but never reorder them.
// The set is closed, like that of commands.
type Effect interface {
	effect()
	fmt.Stringer
}

type (
	// NodeAccepted answers AddNode.
	NodeAccepted struct {
		Node        objects.NodeID
		Total       resources.Amounts // the RM is not told, nor of what follows
		Schedulable bool              // false: it joined draining
	}

	// NodeRejected answers AddNode: nothing changed.
	NodeRejected struct {
		Node   objects.NodeID
		Reason string
	}

	// ApplicationAccepted answers AddApplication.
	ApplicationAccepted struct{ App objects.AppID }

	// ApplicationRejected answers AddApplication: nothing changed.
	ApplicationRejected struct {
		App    objects.AppID
		Queue  string // as the RM wrote it; may be empty. The RM is not told, nor of User
		User   string // empty: not known
		Reason string
	}

	// ApplicationUpdated says that an application entered a state. Nobody is told of
	// Rejected, which is an answer, nor of New, which is nothing yet.
	ApplicationUpdated struct {
		App    objects.AppID
		Queue  objects.QueuePath // the leaf that it is in, or was; for meters, the RM is not told
		State  objects.State
		At     time.Time
		Reason objects.StateReason
	}

	// AskRejected answers SubmitAsk, SubmitAskWithClass, ReportAllocation or ReportForeign: nothing changed.
	AskRejected struct {
		Key    objects.AllocationKey
		App    objects.AppID // empty for a foreign allocation
		Kind   Rejection     // the RM is not told
		Reason string
	}

	// Allocated says that an ask has its node.
	Allocated struct {
		Ask  *objects.Ask
		Node objects.NodeID
	}

	// Released says that an allocation is gone from the books.
	Released struct {
		Key     objects.AllocationKey
		App     objects.AppID
		Type    Termination
		Message string
	}

	// PartitionReset answers Forget: whatever was said before is void.
	PartitionReset struct{}

	// Refused says that a command which has no answer on the wire changed nothing. It is
	// for the log, and for whoever sent it from inside.
	Refused struct{ Subject, Reason string }
)

func (NodeAccepted) effect()        {}
func (NodeRejected) effect()        {}
func (ApplicationAccepted) effect() {}
func (ApplicationRejected) effect() {}
func (ApplicationUpdated) effect()  {}
func (AskRejected) effect()         {}
func (Allocated) effect()           {}
func (Released) effect()            {}
func (PartitionReset) effect()      {}
func (Refused) effect()             {}

func (e NodeAccepted) String() string { return fmt.Sprintf("accepted node %s", e.Node) }
func (e NodeRejected) String() string { return fmt.Sprintf("rejected node %s: %s", e.Node, e.Reason) }
func (e ApplicationAccepted) String() string {
	return fmt.Sprintf("accepted application %s", e.App)
}
func (e ApplicationRejected) String() string {
	return fmt.Sprintf("rejected application %s: %s", e.App, e.Reason)
}
func (e ApplicationUpdated) String() string {
	return "application " + string(e.App) + " is " + e.State.String() // told of every application that starts
}
func (e AskRejected) String() string {
	return fmt.Sprintf("rejected ask %s (%s): %s", e.Key, e.App, e.Reason)
}
func (e Allocated) String() string {
	return fmt.Sprintf("allocated %s (%s) on %s", e.Ask.Key, e.Ask.App, e.Node)
}
func (e Released) String() string {
	return fmt.Sprintf("released %s (%s), %s: %s", e.Key, e.App, e.Type, e.Message)
}
func (PartitionReset) String() string { return "partition reset" }
func (e Refused) String() string      { return fmt.Sprintf("refused %s: %s", e.Subject, e.Reason) }
