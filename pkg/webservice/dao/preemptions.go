package dao

import (
	"github.com/canopy-scheduler/canopy/pkg/preemption"
	"github.com/canopy-scheduler/canopy/pkg/preemption/victim"
)

// The preemption history is ours: YuniKorn keeps none (PRE-109 to PRE-111).

// PreemptionList has the latest preemptions of a partition.
type PreemptionList struct {
	Total      uint64 `json:"total"`      // since the partition was created
	Remembered int    `json:"remembered"` // how many of them are kept
	// confirmed preemptions of unknown allocations, since then
	UnknownConfirmations uint64 `json:"unknownConfirmations"`
	// pairs of leaf queues that do not preempt each other for now
	CoolDowns   []CoolDown   `json:"coolDowns"`
	Preemptions []Preemption `json:"preemptions"`
}

// CoolDown is the time in which two leaf queues do not preempt each other.
type CoolDown struct {
	QueueNames [2]string `json:"queueNames"` // twice the same: the leaf queue does not preempt its own allocations
	Since      int64     `json:"since"`
	Until      int64     `json:"until"`
}

// Preemption is one preemption: why, by which ask, and its victims.
type Preemption struct {
	Number           uint64          `json:"number"`
	Time             int64           `json:"time"`
	PreemptionReason string          `json:"preemptionReason"`
	TriedReasons     []string        `json:"triedReasons,omitempty"`   // reasons for which no victims were found before
	Shortfall        Quantities      `json:"shortfall,omitempty"`      // reason pressure: what the node lacks
	Cause            string          `json:"cause,omitempty"`          // reason operator: what the operator did
	QuotaViolation   *ViolatingQueue `json:"quotaViolation,omitempty"` // reason quota: set in place of an ask
	Ask              *Preemptor      `json:"ask,omitempty"`
	NodeID           string          `json:"nodeID,omitempty"`
	Nodes            *NodeOutcomes   `json:"nodes,omitempty"`
	Victims          []Victim        `json:"victims"`
	MoreVictims      int             `json:"moreVictims,omitempty"` // victims that are not listed
	// with moreCandidates: in the answer about one preemption only
	Candidates     []Candidate `json:"candidates,omitempty"`
	MoreCandidates int         `json:"moreCandidates,omitempty"`
	Nomination     *Nomination `json:"nomination,omitempty"`
	Placed         *Placed     `json:"placed,omitempty"`
	Cancelled      int64       `json:"cancelled,omitempty"`
}

// ViolatingQueue is a queue above its enforced max.
type ViolatingQueue struct {
	QueueName string     `json:"queueName"`
	Excess    Quantities `json:"excess"`
}

// Preemptor is the ask that preempts.
type Preemptor struct {
	AllocationKey  string     `json:"allocationKey"`
	ApplicationID  string     `json:"applicationID"`
	User           string     `json:"user"`
	QueueName      string     `json:"queueName"`
	Priority       int32      `json:"priority"`
	Resource       Quantities `json:"resource"`
	RequestTime    int64      `json:"requestTime,omitempty"`
	RequiredNodeID string     `json:"requiredNodeId,omitempty"`
}

// NodeOutcomes counts the nodes of a victim search by outcome.
type NodeOutcomes struct {
	Compared int `json:"compared"` // nodes with a plan
	NoPlan   int `json:"noPlan"`   // nodes without a plan
	Rejected int `json:"rejected"` // nodes whose predicates rejected the ask
}

// Victim is an allocation that is, or was, preempted.
type Victim struct {
	AllocationKey  string     `json:"allocationKey"`
	ApplicationID  string     `json:"applicationID"`
	QueueName      string     `json:"queueName"`
	NodeID         string     `json:"nodeID"`
	Priority       int32      `json:"priority"`
	Resource       Quantities `json:"resource"`
	AllocationTime int64      `json:"allocationTime"`
	RuntimeSeconds int64      `json:"runtimeSeconds"`     // until the preemption
	GraceSeconds   int64      `json:"gracePeriodSeconds"` // for which the resource manager lets it terminate
	LostWork       Quantities `json:"lostWork"`           // resource times seconds
	State          string     `json:"state"`
	Ended          int64      `json:"ended,omitempty"`
	Termination    string     `json:"termination,omitempty"` // the termination type of the confirmation
}

// Candidate is an allocation that could have been a victim, with what became of it.
type Candidate struct {
	AllocationKey string `json:"allocationKey"`
	ApplicationID string `json:"applicationID"`
	QueueName     string `json:"queueName"`
	Priority      int32  `json:"priority"`
	Victim        bool   `json:"victim"`
	Reason        string `json:"reason"` // why it is ineligible, or the outcome if it is not
}

// Nomination is the state of the nomination of the preemptor.
type Nomination struct {
	State  string `json:"state"`
	Until  int64  `json:"until,omitempty"`
	LostTo string `json:"lostTo,omitempty"` // the ask that has the node instead
	Reason string `json:"reason,omitempty"` // the verdict when the nomination was given up
}

// Placed says where and when the preemptor was placed.
type Placed struct {
	Time         int64  `json:"time"`
	NodeID       string `json:"nodeID"`
	AfterSeconds int64  `json:"afterSeconds"` // since the preemption
}

// ReasonNames are the reasons of preemptions as the REST interface names them.
var ReasonNames = [...]string{victim.ReasonRequiredNode: "node", victim.ReasonGuarantee: "guarantee",
	victim.ReasonPriority: "priority", victim.ReasonQuota: "quota", victim.ReasonNodePressure: "pressure",
	victim.ReasonOperator: "operator"}

// NewCoolDowns shows the cool-downs of a list.
func NewCoolDowns(list []preemption.CoolDown) []CoolDown {
	out := make([]CoolDown, len(list))
	for i, p := range list {
		out[i] = CoolDown{[2]string{string(p.A), string(p.B)}, Nanos(p.Since), Nanos(p.Until)}
	}
	return out
}

// NewPreemption shows r.
func NewPreemption(r *preemption.Preemption) Preemption {
	body := Preemption{
		Number: r.Number, Time: Nanos(r.At), PreemptionReason: ReasonNames[r.Reason], Victims: viewVictims(r.Victims),
		MoreVictims: r.MoreVictims,
	}
	body.NodeID = string(r.Node)
	switch r.Reason {
	case victim.ReasonQuota:
		body.QuotaViolation = &ViolatingQueue{string(r.Excess.Queue), amountsOf(r.Excess.Amounts)}
		return body
	case victim.ReasonNodePressure:
		body.Shortfall = amountsOf(r.Excess.Amounts)
		return body
	case victim.ReasonOperator:
		body.Cause = r.Cause
		return body
	}
	body.Ask, body.Nodes, body.Cancelled = viewPreemptor(&r.Ask), viewNodeOutcomes(r.NodeOutcomes), Nanos(r.CancelledAt)
	body.Nomination = &Nomination{State: r.Nomination.State.String(), Until: Nanos(r.Nomination.EndedAt),
		LostTo: string(r.Nomination.LostTo)}
	for _, v := range r.TriedReasons {
		body.TriedReasons = append(body.TriedReasons, ReasonNames[v])
	}
	if r.Nomination.State == preemption.NominationGivenUp {
		body.Nomination.Reason = r.Nomination.Verdict
	}
	if at := r.Placement.At; !at.IsZero() {
		body.Placed = &Placed{Nanos(at), string(r.Placement.Node), int64(at.Sub(r.At).Seconds())}
	}
	return body
}

func viewPreemptor(a *preemption.Preemptor) *Preemptor {
	return &Preemptor{
		AllocationKey: string(a.Key), ApplicationID: string(a.App), User: a.User, QueueName: string(a.Queue),
		Priority: a.Priority, Resource: amountsOf(a.Amounts), RequestTime: Nanos(a.Created),
		RequiredNodeID: string(a.RequiredNode),
	}
}

func viewNodeOutcomes(s victim.OutcomeCounts) *NodeOutcomes {
	return &NodeOutcomes{Compared: s[victim.OutcomeCompared], NoPlan: s[victim.OutcomeNoPlan],
		Rejected: s[victim.OutcomeRejected]}
}

func viewVictims(list []preemption.Victim) []Victim {
	out := make([]Victim, len(list))
	for i := range list {
		v := &list[i]
		out[i] = Victim{
			AllocationKey: string(v.Key), ApplicationID: string(v.App), QueueName: string(v.Queue), NodeID: string(v.Node),
			Priority: v.Priority, Resource: amountsOf(v.Amounts), AllocationTime: Nanos(v.BoundAt),
			RuntimeSeconds: int64(v.RunTime.Seconds()), GraceSeconds: int64(v.Grace.Seconds()),
			LostWork: amountsOf(v.LostWork()), State: v.End.State.String(), Ended: Nanos(v.End.At),
		}
		if v.End.State == preemption.VictimReleased {
			out[i].Termination = v.End.Termination
		}
	}
	return out
}

// NewCandidates shows the candidates of a list.
func NewCandidates(list []preemption.Candidate) []Candidate {
	out := make([]Candidate, len(list))
	for i, c := range list {
		out[i] = Candidate{string(c.Key), string(c.App), string(c.Queue), c.Priority, c.Victim,
			candidateOutcome(c.Victim, c.Ineligible)}
	}
	return out
}

// candidateOutcome is the reason of a candidate: whether it became a victim, or why not.
func candidateOutcome(preempted bool, reason victim.IneligibleReason) string {
	switch {
	case preempted:
		return "victim"
	case reason == victim.Eligible:
		return "eligible, but not needed"
	}
	return reason.String()
}
