package webservice

import (
	"github.com/canopy-scheduler/canopy/pkg/preemption"
	"github.com/canopy-scheduler/canopy/pkg/preemption/victim"
)

// The preemption history is ours: YuniKorn keeps none (PRE-109 to PRE-111).

type preemptionsBody struct {
	Total                uint64           `json:"total"`                // since the partition was created
	Remembered           int              `json:"remembered"`           // how many of them are kept
	UnknownConfirmations uint64           `json:"unknownConfirmations"` // confirmed preemptions of unknown allocations, since then
	CoolDowns            []coolDownBody   `json:"coolDowns"`            // pairs of leaf queues that do not preempt each other for now
	Preemptions          []preemptionBody `json:"preemptions"`
}

type coolDownBody struct {
	QueueNames [2]string `json:"queueNames"` // twice the same: the leaf queue does not preempt its own allocations
	Since      int64     `json:"since"`
	Until      int64     `json:"until"`
}

type preemptionBody struct {
	Number           uint64              `json:"number"`
	Time             int64               `json:"time"`
	PreemptionReason string              `json:"preemptionReason"`
	TriedReasons     []string            `json:"triedReasons,omitempty"`   // reasons for which no victims were found before
	Shortfall        quantities          `json:"shortfall,omitempty"`      // reason pressure: what the node lacks
	QuotaViolation   *violatingQueueBody `json:"quotaViolation,omitempty"` // reason quota: set in place of an ask
	Ask              *preemptorBody      `json:"ask,omitempty"`
	NodeID           string              `json:"nodeID,omitempty"`
	Nodes            *nodeOutcomesBody   `json:"nodes,omitempty"`
	Victims          []victimBody        `json:"victims"`
	MoreVictims      int                 `json:"moreVictims,omitempty"` // victims that are not listed
	Candidates       []candidateBody     `json:"candidates,omitempty"`  // with moreCandidates: in the answer about one preemption only
	MoreCandidates   int                 `json:"moreCandidates,omitempty"`
	Nomination       *nominationBody     `json:"nomination,omitempty"`
	Placed           *placedBody         `json:"placed,omitempty"`
	Cancelled        int64               `json:"cancelled,omitempty"`
}

type violatingQueueBody struct {
	QueueName string     `json:"queueName"`
	Excess    quantities `json:"excess"`
}

type preemptorBody struct {
	AllocationKey  string     `json:"allocationKey"`
	ApplicationID  string     `json:"applicationID"`
	User           string     `json:"user"`
	QueueName      string     `json:"queueName"`
	Priority       int32      `json:"priority"`
	Resource       quantities `json:"resource"`
	RequestTime    int64      `json:"requestTime,omitempty"`
	RequiredNodeID string     `json:"requiredNodeId,omitempty"`
}

// nodeOutcomesBody counts the nodes of a victim search by outcome.
type nodeOutcomesBody struct {
	Compared int `json:"compared"` // nodes with a plan
	NoPlan   int `json:"noPlan"`   // nodes without a plan
	Rejected int `json:"rejected"` // nodes whose predicates rejected the ask
}

type victimBody struct {
	AllocationKey  string     `json:"allocationKey"`
	ApplicationID  string     `json:"applicationID"`
	QueueName      string     `json:"queueName"`
	NodeID         string     `json:"nodeID"`
	Priority       int32      `json:"priority"`
	Resource       quantities `json:"resource"`
	AllocationTime int64      `json:"allocationTime"`
	RuntimeSeconds int64      `json:"runtimeSeconds"`     // until the preemption
	GraceSeconds   int64      `json:"gracePeriodSeconds"` // for which the resource manager lets it terminate
	LostWork       quantities `json:"lostWork"`           // resource times seconds
	State          string     `json:"state"`
	Ended          int64      `json:"ended,omitempty"`
	Termination    string     `json:"termination,omitempty"` // the termination type of the confirmation
}

type candidateBody struct {
	AllocationKey string `json:"allocationKey"`
	ApplicationID string `json:"applicationID"`
	QueueName     string `json:"queueName"`
	Priority      int32  `json:"priority"`
	Victim        bool   `json:"victim"`
	Reason        string `json:"reason"` // why it is ineligible, or the outcome if it is not
}

type nominationBody struct {
	State  string `json:"state"`
	Until  int64  `json:"until,omitempty"`
	LostTo string `json:"lostTo,omitempty"` // the ask that has the node instead
	Reason string `json:"reason,omitempty"` // the verdict when the nomination was given up
}

type placedBody struct {
	Time         int64  `json:"time"`
	NodeID       string `json:"nodeID"`
	AfterSeconds int64  `json:"afterSeconds"` // since the preemption
}

func viewCoolDowns(list []preemption.CoolDown) []coolDownBody {
	out := make([]coolDownBody, len(list))
	for i, p := range list {
		out[i] = coolDownBody{[2]string{string(p.A), string(p.B)}, nanos(p.Since), nanos(p.Until)}
	}
	return out
}

func viewPreemption(r *preemption.Preemption) preemptionBody {
	body := preemptionBody{
		Number: r.Number, Time: nanos(r.At), PreemptionReason: reasonNames[r.Reason], Victims: viewVictims(r.Victims), MoreVictims: r.MoreVictims,
	}
	body.NodeID = string(r.Node)
	switch r.Reason {
	case victim.ReasonQuota:
		body.QuotaViolation = &violatingQueueBody{string(r.Excess.Queue), amountsOf(r.Excess.Amounts)}
		return body
	case victim.ReasonNodePressure:
		body.Shortfall = amountsOf(r.Excess.Amounts)
		return body
	}
	body.Ask, body.Nodes, body.Cancelled = viewPreemptor(&r.Ask), viewNodeOutcomes(r.NodeOutcomes), nanos(r.CancelledAt)
	body.Nomination = &nominationBody{State: r.Nomination.State.String(), Until: nanos(r.Nomination.EndedAt), LostTo: string(r.Nomination.LostTo)}
	for _, v := range r.TriedReasons {
		body.TriedReasons = append(body.TriedReasons, reasonNames[v])
	}
	if r.Nomination.State == preemption.NominationGivenUp {
		body.Nomination.Reason = r.Nomination.Verdict
	}
	if at := r.Placement.At; !at.IsZero() {
		body.Placed = &placedBody{nanos(at), string(r.Placement.Node), int64(at.Sub(r.At).Seconds())}
	}
	return body
}

func viewPreemptor(a *preemption.Preemptor) *preemptorBody {
	return &preemptorBody{
		AllocationKey: string(a.Key), ApplicationID: string(a.App), User: a.User, QueueName: string(a.Queue),
		Priority: a.Priority, Resource: amountsOf(a.Amounts), RequestTime: nanos(a.Created), RequiredNodeID: string(a.RequiredNode),
	}
}

func viewNodeOutcomes(s victim.OutcomeCounts) *nodeOutcomesBody {
	return &nodeOutcomesBody{Compared: s[victim.OutcomeCompared], NoPlan: s[victim.OutcomeNoPlan], Rejected: s[victim.OutcomeRejected]}
}

func viewVictims(list []preemption.Victim) []victimBody {
	out := make([]victimBody, len(list))
	for i := range list {
		v := &list[i]
		out[i] = victimBody{
			AllocationKey: string(v.Key), ApplicationID: string(v.App), QueueName: string(v.Queue), NodeID: string(v.Node),
			Priority: v.Priority, Resource: amountsOf(v.Amounts), AllocationTime: nanos(v.BoundAt),
			RuntimeSeconds: int64(v.RunTime.Seconds()), GraceSeconds: int64(v.Grace.Seconds()), LostWork: amountsOf(v.LostWork()), State: v.End.State.String(), Ended: nanos(v.End.At),
		}
		if v.End.State == preemption.VictimReleased {
			out[i].Termination = v.End.Termination
		}
	}
	return out
}

func viewCandidates(list []preemption.Candidate) []candidateBody {
	out := make([]candidateBody, len(list))
	for i, c := range list {
		out[i] = candidateBody{string(c.Key), string(c.App), string(c.Queue), c.Priority, c.Victim, candidateOutcome(c.Victim, c.Ineligible)}
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
