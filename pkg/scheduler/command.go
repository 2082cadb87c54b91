package scheduler

import (
	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/fairness"
	"github.com/canopy-scheduler/canopy/pkg/gangs"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/runtimes"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// Command is an input of the Core. The set is closed: each input of the scheduler is a type in this file. A
// command is not modified after it was sent.
type Command interface{ command() }

type (
	// UseConfig replaces the configuration of the partition with one that has been validated. Effect: none,
	// or Refused when the queue tree cannot be changed to the new one. A draining partition is in use again
	// (CFG-112). The cost grows with the number of queues that change.
	UseConfig struct {
		Partition configs.Partition

		// Prepared is the difference between Partition and the configuration in force, computed beforehand.
		// If it is nil or between other configurations, the difference is computed now. The result is the
		// same.
		Prepared *configs.Difference `recording:"-"` // the Core computes it itself
	}

	// DrainPartition begins the removal of a partition that is no longer in the configuration: it accepts
	// no new node and no new application, and those that it has continue. Effect: none.
	DrainPartition struct{}

	// ResetPartition drops all nodes, applications and allocations, because an RM registers and will report
	// its own (PRE-89). Effect: PartitionReset.
	ResetPartition struct {
		Reason string // which RM registers, and in whose place; empty: it is the first one
	}

	// AddNode registers a node. Effect: NodeAccepted or NodeRejected.
	AddNode struct {
		Node        objects.NodeID
		Total       resources.Amounts
		Attributes  map[string]string
		Schedulable bool // false: it is registered as unschedulable
	}

	// SetCapacity changes the capacity of a node. Effect: none, NodeRejected for an unknown node, or Refused.
	SetCapacity struct {
		Node  objects.NodeID
		Total resources.Amounts
	}

	// SetAttributes replaces the attributes of a node, and so its labels and taints. Effect: none, or Refused; none for
	// an unknown node: the SetCapacity of the same update is answered.
	SetAttributes struct {
		Node       objects.NodeID
		Attributes map[string]string
	}

	// SetSchedulable makes a node unschedulable, or schedulable again. Effect: none, or NodeRejected for
	// an unknown node.
	SetSchedulable struct {
		Node        objects.NodeID
		Schedulable bool
	}

	// RemoveNode removes a node. Effect: Released for each allocation on it, then Allocated for real asks that
	// replace placeholders of the node on other nodes; or NodeRejected for an unknown node.
	RemoveNode struct{ Node objects.NodeID }

	// AddApplication submits an application. The ID of an application that has ended may be used again.
	// Tags may set the quotas of a dynamic leaf (QUO-21). Effect: ApplicationAccepted or
	// ApplicationRejected; then Refused for each malformed quota tag, and if a forced application is in the recovery
	// queue.
	AddApplication struct {
		App   objects.AppID
		User  security.User
		Queue string // as the RM sent it
		Tags  map[string]string

		// Refused says why the API refuses the application: something of it is malformed, or the groups of its user could not
		// be resolved. A forced one is in the recovery queue then, another one is rejected. Empty: it is well-formed.
		Refused string

		Gang gangs.Spec // what the RM declares about its gang; zero: nothing
	}

	// RemoveApplication ends an application. Effect: Released for each of its allocations, then
	// ApplicationUpdated for each state up to Completed, unless it is New. An unknown application is no
	// error: it may have ended already.
	RemoveApplication struct{ App objects.AppID }

	// SubmitAsk requests one allocation, without a priority class. For a known key it changes the amounts,
	// if they differ and the class quotas allow it (QUO-39), and nothing else; what contradicts the known ask
	// is rejected (ASK-27). Effect: none, or AskRejected.
	SubmitAsk struct{ Ask *objects.Ask }

	// SubmitAskWithClass is SubmitAsk with the requirements of the priority class of the ask. For a known
	// key they are not checked again: the admission stands (S0-2). Effect: none, or AskRejected.
	SubmitAskWithClass struct {
		Ask          *objects.Ask
		RejectReason string        // why the ask is rejected; empty: it is not
		RejectKind   Rejection     // the kind of RejectReason; empty: RejectedOther
		Class        string        // priority class, for class quotas; empty: none
		NamedClass   string        // the class that the ask names itself; empty: none
		AllowedUsers *security.ACL // users whose applications may use the class; nil: all
	}

	// ReportAllocation reports a running allocation, whatever scheduler placed it. With the key of a
	// pending ask it binds that ask. Quotas are not checked (QUO-8). Effect: Allocated, none if the
	// allocation is known already, an event if its application does not take it (ASK-67), or AskRejected, also if
	// it is known on another node.
	ReportAllocation struct {
		Ask   *objects.Ask
		Node  objects.NodeID
		Class string // priority class, unless the key is known; empty: none
	}

	// Release ends an allocation or cancels an ask; without a key, all of the application. Effect:
	// Released, unless the RM confirms a release of the core or the key is that of an ask; then
	// ApplicationUpdated, if the application has neither asks nor allocations left. An unknown key is no
	// error, except in a confirmation of a preemption: Refused (PRE-85). The end of a placeholder that is replaced
	// places its real ask: Allocated (GAN-7).
	Release struct {
		App   objects.AppID
		Key   objects.AllocationKey // empty: all
		Type  Termination
		Scope ReleaseScope

		// NodeRefused says that the binding of the allocation failed on its node: the ask, when it comes again, is kept
		// from the node for a time (NOD-44). Message says why.
		NodeRefused bool
		Message     string
	}

	// RejectAsk is an ask, an allocation or a foreign allocation that the API refuses because it is malformed. Effect:
	// AskRejected.
	RejectAsk struct{ Rejected AskRejected }

	// ReportForeign reports a foreign allocation: usage of a node that no application of this scheduler
	// owns. Effect: none, or AskRejected.
	ReportForeign struct{ Foreign objects.Foreign }

	// ReleaseForeign ends a foreign allocation. Effect: none.
	ReleaseForeign struct{ Key objects.AllocationKey }

	// SetListening says whether an RM receives effects. While none does, nothing is placed or preempted,
	// and no nomination and no victim times out (PRE-5). A new Core is listening. Effect: none.
	SetListening struct{ Listening bool }

	// Operate is an action of an operator on an application, a queue or a node. Effect: OperatorActed, for a node
	// perhaps NodeChanged, too; for a cancelled application ApplicationUpdated, AskTimedOut for each ask, and Released for
	// each allocation; for one that is moved perhaps events and QueueChanged. None if nothing changes, or Refused if there
	// is no such thing, or if it may not be moved.
	Operate struct {
		Action OperatorAction
		App    objects.AppID     // of actions on applications
		Queue  objects.QueuePath // of actions on queues; of MoveApplication: where to
		From   objects.QueuePath // of MoveApplication, in OperatorActed: where it was
		Node   objects.NodeID    // of actions on nodes
		By     string            // the identity of the operator, for events and logs; empty: not known
	}

	// RestoreOperators replaces what operators have switched by what was stored, before anything else happens. Effect:
	// none.
	RestoreOperators struct{ State OperatorState }

	// RestoreUsage has the usage over time that a former process has kept (FAI-7). It precedes the applications, and each
	// history is valid.
	RestoreUsage struct{ Usage []fairness.Kept }
	// RestoreStarts says when allocations have begun to run that a former process has stored. It precedes the reports of
	// the RM (RUN-7). Effect: none.
	RestoreStarts struct{ Starts []runtimes.Start }

	// Wake serves the deadlines that are due, as every other command does first. Effect: ApplicationUpdated
	// for applications that complete or are dropped from memory, Released for placeholders that are no
	// longer needed, AskTimedOut for asks that end with their gang.
	Wake struct{}
)

func (UseConfig) command()          {}
func (DrainPartition) command()     {}
func (ResetPartition) command()     {}
func (AddNode) command()            {}
func (SetCapacity) command()        {}
func (SetAttributes) command()      {}
func (SetSchedulable) command()     {}
func (RemoveNode) command()         {}
func (AddApplication) command()     {}
func (RemoveApplication) command()  {}
func (SubmitAsk) command()          {}
func (SubmitAskWithClass) command() {}
func (ReportAllocation) command()   {}
func (Release) command()            {}
func (RejectAsk) command()          {}
func (ReportForeign) command()      {}
func (ReleaseForeign) command()     {}
func (SetListening) command()       {}
func (Operate) command()            {}
func (RestoreOperators) command()   {}
func (RestoreStarts) command()      {}
func (RestoreUsage) command()       {}
func (Wake) command()               {}

// ReleaseScope says what a Release is about. What is outside of it stays, without an effect (ASK-61).
type ReleaseScope uint8

// The scopes.
const (
	AsksAndAllocations ReleaseScope = iota
	OnlyAsks                        // that are pending
	OnlyAllocations                 // that are bound
)

// covers reports whether the scope includes an ask that is pending, or else bound.
func (s ReleaseScope) covers(pending bool) bool {
	return s == AsksAndAllocations || pending == (s == OnlyAsks)
}

// Termination is the reason why an allocation ended. The numbers are those of TerminationType of the
// scheduler interface (ASK-46).
type Termination int32

// The reasons.
const (
	Unspecified          Termination = iota // the RM gave none
	StoppedByRM                             // at the request of the RM
	TimedOut                                // a placeholder was not replaced in time
	PreemptedByScheduler                    // a victim
	PlaceholderReplaced                     // by the member of its gang
)

func (t Termination) String() string {
	names := [...]string{"unspecified", "stopped by rm", "timed out", "preempted", "replaced"}
	if t < 0 || int(t) >= len(names) {
		return names[Unspecified]
	}
	return names[t]
}

// confirmsOurRelease reports whether a release of this type confirms one that the core requested; a
// confirmation has no effect of its own.
func (t Termination) confirmsOurRelease() bool {
	return t == TimedOut || t == PreemptedByScheduler || t == PlaceholderReplaced
}
