package preemption

import (
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/preemption/victim"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// Preemption is a preemption in the history: the preemptor, the reason, the victims, the candidates that stayed, and
// how each of them ended (PRE-111). It is a value and never changes, and so is what it refers to. REST shows it as it
// is, like the other types of this file. Ask, NodeOutcomes and Nomination are nil for a preemption that is not for an
// ask: for an enforced max, for node pressure, and by an operator.
type Preemption struct {
	Number uint64            `json:"number"` // from 1 on, by time
	At     objects.Timestamp `json:"time"`
	Reason victim.Reason     `json:"preemptionReason"`
	// reasons for which no victims were found before
	TriedReasons   []victim.Reason      `json:"triedReasons,omitempty"`
	Shortfall      resources.Amounts    `json:"shortfall,omitzero"`       // reason pressure: what the node lacks
	Cause          string               `json:"cause,omitempty"`          // reason operator: what the operator did
	QuotaViolation *ViolatingQueue      `json:"quotaViolation,omitempty"` // reason quota: set in place of an ask
	Ask            *Preemptor           `json:"ask,omitempty"`
	Node           objects.NodeID       `json:"nodeID,omitempty"`
	NodeOutcomes   *victim.NodeOutcomes `json:"nodes,omitempty"`
	Victims        []Victim             `json:"victims"`
	MoreVictims    int                  `json:"moreVictims,omitempty"` // victims that are not listed
	// with moreCandidates: in the answer about one preemption only
	Candidates     []Candidate       `json:"candidates,omitempty"`
	MoreCandidates int               `json:"moreCandidates,omitempty"`
	Nomination     *Nomination       `json:"nomination,omitempty"`
	Placed         *Placed           `json:"placed,omitempty"`
	CancelledAt    objects.Timestamp `json:"cancelled,omitzero"`
}

// maxListed bounds the victims, and the candidates, that a Preemption lists.
const maxListed = 200

// ViolatingQueue is a queue above its enforced max.
type ViolatingQueue struct {
	Queue  objects.QueuePath `json:"queueName"`
	Excess resources.Amounts `json:"excess"` // without the resources that were already preempting
}

// Preemptor is an ask that preempted, as it was at that time.
type Preemptor struct {
	Key          objects.AllocationKey `json:"allocationKey"`
	App          objects.AppID         `json:"applicationID"`
	User         string                `json:"user"`
	Queue        objects.QueuePath     `json:"queueName"`
	Priority     int32                 `json:"priority"`
	Amounts      resources.Amounts     `json:"resource"`
	Created      objects.Timestamp     `json:"requestTime,omitzero"`
	RequiredNode objects.NodeID        `json:"requiredNodeId,omitempty"`
}

// Victim is an allocation that was preempted.
type Victim struct {
	Key            objects.AllocationKey `json:"allocationKey"`
	App            objects.AppID         `json:"applicationID"`
	Queue          objects.QueuePath     `json:"queueName"`
	Node           objects.NodeID        `json:"nodeID"`
	Priority       int32                 `json:"priority"`
	Amounts        resources.Amounts     `json:"resource"`
	BoundAt        objects.Timestamp     `json:"allocationTime"`
	RuntimeSeconds int64                 `json:"runtimeSeconds"`     // until the preemption
	GraceSeconds   int64                 `json:"gracePeriodSeconds"` // for which the resource manager lets it terminate
	LostWork       resources.Amounts     `json:"lostWork"`           // resource times seconds
	VictimEnd
}

// VictimEnd says how a victim ended (PRE-84).
type VictimEnd struct {
	State       VictimState       `json:"state"`
	EndedAt     objects.Timestamp `json:"ended,omitzero"`
	Termination string            `json:"termination,omitempty"` // the termination type of the confirmation
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

// MarshalText writes the words of String.
func (d VictimState) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// Candidate is an allocation on the node of a preemption, with what became of it.
type Candidate struct {
	Key      objects.AllocationKey `json:"allocationKey"`
	App      objects.AppID         `json:"applicationID"`
	Queue    objects.QueuePath     `json:"queueName"`
	Priority int32                 `json:"priority"`
	Victim   bool                  `json:"victim"`
	Reason   string                `json:"reason"` // why it is ineligible, or the outcome if it is not
	// when its minimum run time ends, if that is the reason
	YoungUntil objects.Timestamp `json:"youngUntil,omitzero"`
}

// Nomination is the state of the nomination of a preemptor.
type Nomination struct {
	State   NominationState       `json:"state"`
	EndedAt objects.Timestamp     `json:"until,omitzero"`
	LostTo  objects.AllocationKey `json:"lostTo,omitempty"` // the ask that has the node instead
	Verdict string                `json:"reason,omitempty"` // the verdict when the nomination was given up
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

// MarshalText writes the words of String.
func (s NominationState) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Placed says where and when an ask that had preempted was placed: on its nominated node or another.
type Placed struct {
	At           objects.Timestamp `json:"time"`
	Node         objects.NodeID    `json:"nodeID"`
	AfterSeconds int64             `json:"afterSeconds"` // since the preemption
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
