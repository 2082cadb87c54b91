package scheduler

import (
	"time"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/preemption"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// Preemption is what is kept of a preemption: for whom, by which right, who had to leave
// and who did not, and what became of it since. It is a value: whoever has one may read it
// for as long as they like.
type Preemption struct {
	Number uint64 // from 1 on, in the order in which they happened
	At     time.Time
	Reason preemption.Reason

	Victims     []Victim       // the one that should stay longest first
	MoreVictims int            // that are not named
	Excess      Excess         // by right of quota and by pressure; else empty
	Node        objects.NodeID // where room is made; empty by right of quota

	// What follows is empty where no ask wants the room.

	Ask            Preemptor
	TriedReasons   []preemption.Reason      // that were tried before it
	NodeOutcomes   preemption.OutcomeCounts // the nodes that were looked at
	Candidates     []Candidate              // everybody on the node, in key order. Read-only
	MoreCandidates int                      // that are not named
	Nomination     Nomination
	Placement      Placement
	CancelledAt    time.Time // when the ask was cancelled; zero: it was not
}

// maxListed is how many victims, and how many candidates, a Preemption names.
const maxListed = 200

// Excess is what a queue held more than its max, or a node more than it has.
type Excess struct {
	Queue   objects.QueuePath // empty: it is the node
	Amounts resources.Amounts // beside what was told to leave
}

// Preemptor is an ask that takes the place of others, as it was then.
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

// Victim is an allocation that was told to leave.
type Victim struct {
	Key      objects.AllocationKey
	App      objects.AppID
	Queue    objects.QueuePath
	Node     objects.NodeID
	Priority int32
	Amounts  resources.Amounts
	BoundAt  time.Time     // when it got its node
	Grace    time.Duration // that the RM gives it to end in
	RunTime  time.Duration // from then until it was told to leave; not below 0
	End      VictimEnd
}

// LostWork is what it had used: its amounts, times the whole seconds it ran.
func (v *Victim) LostWork() resources.Amounts { return v.Amounts.Times(int64(v.RunTime / time.Second)) }

// VictimEnd is how an allocation that was told to leave left.
type VictimEnd struct {
	State       VictimState
	At          time.Time   // zero: it is still there
	Termination Termination // what the RM said of it, if it was VictimReleased
}

// VictimState is a way to leave.
type VictimState uint8

// The ways to leave.
const (
	VictimTerminating        VictimState = iota // it was told, and has not left
	VictimReleased                              // the RM said that it is gone
	VictimNodeRemoved                           // its node was removed
	VictimApplicationRemoved                    // its application was removed
	VictimUnknown                               // the RM says everything again: what became of it is not known
)

func (d VictimState) String() string {
	return [...]string{"terminating", "released", "node removed", "application removed", "unknown"}[d]
}

// Candidate is an allocation on the node of a Preemption.
type Candidate struct {
	Key        objects.AllocationKey
	App        objects.AppID
	Queue      objects.QueuePath
	Priority   int32
	Ineligible preemption.IneligibleReason // that kept it; Eligible: none did
	Victim     bool                        // else room was made without it
}

// Nomination is what became of the claim of an ask on a node.
type Nomination struct {
	State   NominationState
	EndedAt time.Time             // when it ended; zero: it has not
	LostTo  objects.AllocationKey // the more important ask that has the node now, if NominationLost
	Verdict Verdict               // what stood in the way, if NominationGivenUp
}

// NominationState is how a nomination stands, or ended.
type NominationState uint8

// The states of a nomination.
const (
	NominationWaiting   NominationState = iota // until others have left
	NominationPlaced                           // the ask was placed, on this node or another
	NominationLost                             // to a more important ask
	NominationNodeLost                         // the node drains, or was removed
	NominationGivenUp                          // everybody has left, and yet it cannot be placed there
	NominationResized                          // the ask is another one now
	NominationCancelled                        // nobody wants the ask any more
	NominationUnknown                          // the RM says everything again
	NominationTimedOut                         // it has lasted as long as preemption waits
)

func (s NominationState) String() string {
	return [...]string{"waits", "placed", "lost to another ask", "lost its node", "given up", "resized", "cancelled", "unknown", "timed out"}[s]
}

// Placement is where and when an ask that preempted was placed, by its nomination or later.
type Placement struct {
	At   time.Time // zero: it was not
	Node objects.NodeID
}
