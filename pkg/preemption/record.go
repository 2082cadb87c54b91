package preemption

import (
	"time"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/preemption/victim"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// Preemption is a preemption in the history: the preemptor, the reason, the victims, the candidates that stayed, and
// how each of them ended (PRE-111). It is a value and never changes.
type Preemption struct {
	Number uint64 // from 1 on, by time
	At     time.Time
	Reason victim.Reason

	Victims     []Victim       // the one to reprieve first comes first
	MoreVictims int            // victims that are not listed
	Excess      Excess         // of an enforced max or node pressure; else empty
	Node        objects.NodeID // the node of the plan; empty for an enforced max and an operator
	Cause       string         // the action of an operator; else empty

	// The following fields are empty for an enforced max, node pressure, and an operator.

	Ask            Preemptor
	TriedReasons   []victim.Reason      // reasons without a plan, tried before Reason
	NodeOutcomes   victim.OutcomeCounts // of the nodes that were searched
	Candidates     []Candidate          // all allocations of the node, by key. Read-only
	MoreCandidates int                  // candidates that are not listed
	Nomination     Nomination
	Placement      Placement
	CancelledAt    time.Time // when the ask was cancelled; zero: it was not
}

// maxListed bounds the victims, and the candidates, that a Preemption lists.
const maxListed = 200

// Excess says by how much a queue used more than its max, or the allocations of a node more than its capacity.
type Excess struct {
	Queue   objects.QueuePath // empty: of a node
	Amounts resources.Amounts // without the resources that were already preempting
}

// Preemptor is an ask that preempted, as it was at that time.
type Preemptor struct {
	Key          objects.AllocationKey
	App          objects.AppID
	User         string
	Queue        objects.QueuePath
	Priority     int32
	Amounts      resources.Amounts
	Created      time.Time
	RequiredNode objects.NodeID // empty: any
}

// Victim is an allocation that was preempted.
type Victim struct {
	Key      objects.AllocationKey
	App      objects.AppID
	Queue    objects.QueuePath
	Node     objects.NodeID
	Priority int32
	Amounts  resources.Amounts
	BoundAt  time.Time     // when it got its node
	Grace    time.Duration // the grace period
	RunTime  time.Duration // from BoundAt until it was preempted; not negative
	End      VictimEnd
}

// LostWork returns the work that is lost with the victim: its amounts times the whole seconds of its run time.
func (v *Victim) LostWork() resources.Amounts { return v.Amounts.Times(int64(v.RunTime / time.Second)) }

// VictimEnd says how a victim ended (PRE-84).
type VictimEnd struct {
	State       VictimState
	At          time.Time // zero: it has not ended
	Termination string    // the type of the release that confirmed it, if State is VictimReleased
}

// VictimState is the state of a victim.
type VictimState uint8

// The states.
const (
	VictimTerminating        VictimState = iota // not confirmed yet
	VictimReleased                              // released by the RM
	VictimNodeRemoved                           // its node was removed
	VictimApplicationRemoved                    // its application was removed
	VictimUnknown                               // the RM re-registered before it ended
)

func (d VictimState) String() string {
	return [...]string{"terminating", "released", "node removed", "application removed", "unknown"}[d]
}

// Candidate is an allocation on the node of a preemption.
type Candidate struct {
	Key        objects.AllocationKey
	App        objects.AppID
	Queue      objects.QueuePath
	Priority   int32
	Ineligible victim.IneligibleReason // why it was not a victim; Eligible: nothing protects it
	Victim     bool                    // false for an eligible candidate: it was reprieved
}

// Nomination is the state of the nomination of a preemptor.
type Nomination struct {
	State   NominationState
	EndedAt time.Time             // zero: it has not ended
	LostTo  objects.AllocationKey // the ask that has the node now, if NominationLost
	Verdict string                // why the ask could not be placed, if NominationGivenUp
}

// NominationState is the state of a nomination, or how it ended (PRE-79).
type NominationState uint8

// The states.
const (
	NominationWaiting   NominationState = iota // the victims have not all ended
	NominationPlaced                           // the ask was placed, on this node or another
	NominationLost                             // to an ask of higher priority
	NominationNodeLost                         // the node became unschedulable, or was removed
	NominationGivenUp                          // the victims have ended, and the ask cannot be placed there
	NominationResized                          // the amounts of the ask were changed
	NominationCancelled                        // the ask was cancelled
	NominationUnknown                          // the RM re-registered
	NominationTimedOut                         // after the nomination timeout
	NominationMoved                            // the application of the ask was moved to another queue (OPS-9)
)

func (s NominationState) String() string {
	return [...]string{"waits", "placed", "lost to another ask", "lost its node", "given up", "resized", "cancelled",
		"unknown", "timed out", "application moved"}[s]
}

// Placement is the placement of an ask that had preempted, on its nominated node or another.
type Placement struct {
	At   time.Time // zero: it was not placed
	Node objects.NodeID
}

// Preemptions holds the last preemptions of a partition.
type Preemptions struct {
	Total uint64       // since the partition was created
	Last  []Preemption // newest first

	// UnknownConfirmations counts the confirmations of preemptions of unknown allocations since the
	// partition was created (PRE-85). They changed nothing. Some are late or came twice; many are a fault
	// of the RM.
	UnknownConfirmations uint64

	CoolDowns []CoolDown // those that have not ended, the oldest first
}

// DefaultPreemptionLogSize is the default number of preemptions that are logged.
const DefaultPreemptionLogSize = 1000
