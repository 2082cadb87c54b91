package scheduler

import (
	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// Command is something the Core is told. The set is closed: everything that can ever
// happen to the scheduler is a type in this file. What a command holds is not changed
// after it was sent.
type Command interface{ command() }

type (
	// UseConfig replaces the configuration of the partition. It has been validated.
	// Effect: none, or Refused when the tree cannot become the new one.
	// A partition that was being removed is not any more. It takes as long as there are queues that
	// change.
	UseConfig struct {
		Partition configs.Partition

		// Prepared is what Partition has otherwise than the configuration in force, found out
		// beforehand; nil, or of other configurations: it is found out now. What follows is the same.
		Prepared *objects.Difference
	}

	// DrainPartition says that the configuration does not have the partition any more: it takes no
	// new node and no new application, and what it has goes on. Effect: none.
	DrainPartition struct{}

	// ResetPartition drops all nodes, applications and allocations: the RM will say everything
	// again (behaviour.md 10.4). Effect: Forgotten.
	ResetPartition struct{}

	// AddNode offers a machine. Effect: NodeAccepted or NodeRejected.
	AddNode struct {
		Node        objects.NodeID
		Total       resources.Amounts
		Attributes  map[string]string
		Schedulable bool // false: it joins draining
	}

	// SetCapacity changes what a node has. Effect: none, or Refused.
	SetCapacity struct {
		Node  objects.NodeID
		Total resources.Amounts
	}

	// SetSchedulable drains a node or takes it into use again. Effect: none, or Refused.
	SetSchedulable struct {
		Node        objects.NodeID
		Schedulable bool
	}

	// RemoveNode takes a machine away. Effect: Released for each allocation on it, or
	// Refused.
	RemoveNode struct{ Node objects.NodeID }

	// AddApplication asks for a place in the queue tree. The ID may be that of one that
	// has ended. Its tags may say what a dynamic leaf may have. Effect: ApplicationAccepted
	// or ApplicationRejected; then Refused for each of these tags that makes no sense.
	AddApplication struct {
		App   objects.AppID
		User  security.User
		Queue string // as the RM wrote it
		Tags  map[string]string

		// Unresolved is why nobody can say which groups the user has, which is a reason to
		// reject the application (behaviour.md 4.3). Empty: User has them.
		Unresolved string
	}

	// RemoveApplication ends an application. Effect: Released for each of its
	// allocations, then ApplicationUpdated up to Completed, unless it is New. An unknown
	// one is no mistake: it may have ended already.
	RemoveApplication struct{ App objects.AppID }

	// SubmitAsk asks for one allocation, of no priority class. Under a known key it changes the
	// amounts, if they differ and the class quotas leave room, and nothing else. Effect: none, or
	// AskRejected.
	SubmitAsk struct{ Ask *objects.Ask }

	// SubmitAskWithClass is SubmitAsk with what the priority class of the ask demands. Under a
	// known key nothing is demanded: what was admitted stays (priority.md S0-2). Effect: none,
	// or AskRejected.
	SubmitAskWithClass struct {
		Ask          *objects.Ask
		RejectReason string        // why it cannot be admitted; empty: it can
		RejectKind   Rejection     // the kind of Refuse; empty: RejectedOther
		Class        string        // its priority class, for class quotas; empty: none
		NamedClass   string        // the one that it names itself; empty: none
		AllowedUsers *security.ACL // whose application may ask; nil: everybody's
	}

	// ReportAllocation says that an allocation runs, whoever placed it. Under the key of
	// a pending ask it places that ask. No quota is asked. Effect: Allocated, none when
	// it was known to run, or AskRejected.
	ReportAllocation struct {
		Ask   *objects.Ask
		Node  objects.NodeID
		Class string // its priority class, unless the key is known; empty: none
	}

	// Release says that an allocation has stopped, or that an ask is not wanted any more.
	// Without a key it is about all work of the application. Effect: Released, unless
	// the RM only confirms what we told it, or it was an ask; then ApplicationUpdated, if
	// the application has nothing left to do. What is unknown is no mistake; only of a single key
	// that is said to have been preempted: Refused.
	Release struct {
		App  objects.AppID
		Key  objects.AllocationKey // empty: all
		Type Termination
	}

	// ReportForeign says that something which is not ours takes room on a node. Effect:
	// none, or AskRejected.
	ReportForeign struct{ Foreign objects.Foreign }

	// ReleaseForeign says that it does not any more. Effect: none.
	ReleaseForeign struct{ Key objects.AllocationKey }

	// SetListening says whether the RM hears what is decided. While it does not, nothing is placed
	// and nothing is preempted, and no nomination and no victim times out. At the beginning it
	// does. Effect: none.
	SetListening struct{ Listening bool }

	// Wake says that time has passed. Deadlines that are due are served, as before any
	// other command. Effect: ApplicationUpdated for those that complete or are forgotten,
	// Released for placeholders that are not needed any more.
	Wake struct{}
)

func (UseConfig) command()          {}
func (DrainPartition) command()     {}
func (ResetPartition) command()     {}
func (AddNode) command()            {}
func (SetCapacity) command()        {}
func (SetSchedulable) command()     {}
func (RemoveNode) command()         {}
func (AddApplication) command()     {}
func (RemoveApplication) command()  {}
func (SubmitAsk) command()          {}
func (SubmitAskWithClass) command() {}
func (ReportAllocation) command()   {}
func (Release) command()            {}
func (ReportForeign) command()      {}
func (ReleaseForeign) command()     {}
func (SetListening) command()       {}
func (Wake) command()               {}

// Termination says why an allocation ended. The numbers are those of the interface.
type Termination int32

// The reasons an allocation ends (behaviour.md 10.8).
const (
	Unspecified          Termination = iota // not said
	StoppedByRM                             // the RM wanted it
	TimedOut                                // it waited too long
	PreemptedByScheduler                    // we wanted its room
	PlaceholderReplaced                     // the real one took its place
)

func (t Termination) String() string {
	names := [...]string{"unspecified", "stopped by rm", "timed out", "preempted", "replaced"}
	if t < 0 || int(t) >= len(names) {
		return names[Unspecified]
	}
	return names[t]
}

// confirmsOurRelease reports whether a release of this type only says that what we asked for has
// happened; nobody is told again.
func (t Termination) confirmsOurRelease() bool {
	return t == TimedOut || t == PreemptedByScheduler || t == PlaceholderReplaced
}
