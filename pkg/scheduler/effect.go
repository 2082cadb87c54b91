package scheduler

import (
	"fmt"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/lifecycle"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// Effect is an output of the Core. Effects are values, in the order of the changes that they describe;
// receivers may batch them and must not reorder them. The set is closed, like that of commands.
type Effect interface {
	effect()
	fmt.Stringer
}

type (
	// NodeAccepted is the answer to AddNode.
	NodeAccepted struct {
		Node        objects.NodeID
		Total       resources.Amounts // this and the next are not sent to the RM
		Schedulable bool              // false: it is registered as unschedulable
	}

	// NodeRejected is the answer to an AddNode that changed nothing, and to another command about a node that
	// the partition does not have (NOD-8).
	NodeRejected struct {
		Node    objects.NodeID
		Reason  string
		Unknown bool // it was no registration: the partition has no such node. Not sent to the RM
	}

	// ApplicationAccepted is the answer to AddApplication.
	ApplicationAccepted struct {
		App   objects.AppID
		Queue objects.QueuePath // the leaf that placement has found; this and Tags are not sent to the RM
		Tags  map[string]string // as the RM sent them; read-only
	}

	// ApplicationRejected is the answer to an AddApplication that changed nothing.
	ApplicationRejected struct {
		App    objects.AppID
		Queue  string // as the RM sent it; may be empty. Queue and User are not sent to the RM
		User   string // empty: unknown
		Reason string
	}

	// ApplicationUpdated says that an application entered a state. There is none for Rejected, which has an
	// answer, and for New, the state before any.
	ApplicationUpdated struct {
		App    objects.AppID
		Queue  objects.QueuePath // the leaf that it is, or was, in; for metrics, not sent to the RM
		At     time.Time
		State  lifecycle.State
		Reason lifecycle.Reason
	}

	// AskRejected is the answer to a SubmitAsk, SubmitAskWithClass, ReportAllocation or ReportForeign that
	// changed nothing.
	AskRejected struct {
		Key    objects.AllocationKey
		App    objects.AppID // empty for a foreign allocation
		Kind   Rejection     // not sent to the RM
		Reason string

		Reported bool // it was an allocation with a node, not an ask
	}

	// Allocated says that an ask is bound to a node. It is a pointer, so that an Effect of it is not a copy in memory of
	// its own.
	Allocated struct{ *Binding }

	// Binding is an ask and its node. It is not changed.
	Binding struct {
		Ask  *objects.Ask
		Node objects.NodeID
	}

	// Released says that an allocation was removed, or must be: Type PreemptedByScheduler asks the RM to
	// end it, and the allocation holds its resources until the RM confirms (PRE-83). The same holds for
	// PlaceholderReplaced and TimedOut (GAN-7, GAN-10).
	Released struct {
		Key     objects.AllocationKey
		App     objects.AppID
		Type    Termination
		Message string
	}

	// AskTimedOut says that a pending ask was removed because its gang was not complete in time, or because an operator
	// cancelled its application: the RM must end what it was for. The RM gets it as a release with the type TimedOut
	// (GAN-10, OPS-7).
	AskTimedOut struct {
		Key       objects.AllocationKey
		App       objects.AppID
		Message   string
		Withdrawn bool // by an operator
	}

	// PartitionReset is the answer to ResetPartition: effects before it are void.
	PartitionReset struct {
		Reason string // as in ResetPartition
	}

	// Refused says that a command for which the interface has no answer changed nothing. It goes to the
	// log, to history, and to a caller inside of the process.
	Refused struct {
		Subject, Reason string

		Unknown bool // an action of an operator is about something that does not exist

		Node objects.NodeID        // this and the next two name what it is about; empty: nothing of the kind
		App  objects.AppID         // the application, or that of Key
		Key  objects.AllocationKey // the ask or allocation
	}
)

func (NodeAccepted) effect()        {}
func (NodeRejected) effect()        {}
func (ApplicationAccepted) effect() {}
func (ApplicationRejected) effect() {}
func (ApplicationUpdated) effect()  {}
func (AskRejected) effect()         {}
func (Allocated) effect()           {}
func (Released) effect()            {}
func (AskTimedOut) effect()         {}
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
	return "application " + string(e.App) + " is " + e.State.String() // no Sprintf: it is frequent
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
func (e AskTimedOut) String() string {
	if e.Withdrawn {
		return fmt.Sprintf("withdrew ask %s (%s): %s", e.Key, e.App, e.Message)
	}
	return fmt.Sprintf("timed out ask %s (%s): %s", e.Key, e.App, e.Message)
}
func (PartitionReset) String() string { return "partition reset" }
func (e Refused) String() string      { return fmt.Sprintf("refused %s: %s", e.Subject, e.Reason) }
