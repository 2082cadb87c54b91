package webservice

import (
	"github.com/canopy-scheduler/canopy/pkg/preemption"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// The ledger of preemptions is ours: upstream keeps none.

type preemptionsBody struct {
	Total                uint64           `json:"total"`                // since the partition was there
	Remembered           int              `json:"remembered"`           // the last ones
	UnknownConfirmations uint64           `json:"unknownConfirmations"` // confirmations about nobody, since then
	CoolDowns            []coolDownBody   `json:"coolDowns"`            // pairs of leaves that do not take each other's place
	Preemptions          []preemptionBody `json:"preemptions"`
}

type coolDownBody struct {
	QueueNames [2]string `json:"queueNames"` // twice the same: a leaf that takes nothing of its own
	Since      int64     `json:"since"`
	Until      int64     `json:"until"`
}

type preemptionBody struct {
	Number           uint64              `json:"number"`
	Time             int64               `json:"time"`
	PreemptionReason string              `json:"preemptionReason"`
	TriedReasons     []string            `json:"triedReasons,omitempty"`   // rights by which nobody could be taken
	Shortfall        quantities          `json:"shortfall,omitempty"`      // by pressure: what the node does not have
	QuotaViolation   *violatingQueueBody `json:"quotaViolation,omitempty"` // by right of quota: instead of an ask
	Ask              *preemptorBody      `json:"ask,omitempty"`
	NodeID           string              `json:"nodeID,omitempty"`
	Nodes            *nodeOutcomesBody   `json:"nodes,omitempty"`
	Victims          []victimBody        `json:"victims"`
	MoreVictims      int                 `json:"moreVictims,omitempty"` // that are not listed
	Candidates       []candidateBody     `json:"candidates,omitempty"`  // of one preemption only, as the next
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

// nodeOutcomesBody counts the nodes that were looked at.
type nodeOutcomesBody struct {
	Compared int `json:"compared"` // where room can be made
	NoPlan   int `json:"noPlan"`   // where it cannot
	Rejected int `json:"rejected"` // by the resource manager
}

type victimBody struct {
	AllocationKey  string     `json:"allocationKey"`
	ApplicationID  string     `json:"applicationID"`
	QueueName      string     `json:"queueName"`
	NodeID         string     `json:"nodeID"`
	Priority       int32      `json:"priority"`
	Resource       quantities `json:"resource"`
	AllocationTime int64      `json:"allocationTime"`
	RuntimeSeconds int64      `json:"runtimeSeconds"`     // until it was told to leave
	GraceSeconds   int64      `json:"gracePeriodSeconds"` // that the resource manager gives it to end in
	LostWork       quantities `json:"lostWork"`           // resource times seconds
	State          string     `json:"state"`
	Ended          int64      `json:"ended,omitempty"`
	Termination    string     `json:"termination,omitempty"` // as the resource manager said
}

type candidateBody struct {
	AllocationKey string `json:"allocationKey"`
	ApplicationID string `json:"applicationID"`
	QueueName     string `json:"queueName"`
	Priority      int32  `json:"priority"`
	Victim        bool   `json:"victim"`
	Reason        string `json:"reason"` // the law that kept it, or that none did
}

type nominationBody struct {
	State  string `json:"state"`
	Until  int64  `json:"until,omitempty"`
	LostTo string `json:"lostTo,omitempty"` // the ask that has the node instead
	Reason string `json:"reason,omitempty"` // what stood in the way
}

type placedBody struct {
	Time         int64  `json:"time"`
	NodeID       string `json:"nodeID"`
	AfterSeconds int64  `json:"afterSeconds"` // since the others were told to leave
}

func viewCoolDowns(list []preemption.CoolDown) []coolDownBody {
	out := make([]coolDownBody, len(list))
	for i, p := range list {
		out[i] = coolDownBody{[2]string{string(p.A), string(p.B)}, nanos(p.Since), nanos(p.Until)}
	}
	return out
}

func viewPreemption(r *scheduler.Preemption) preemptionBody {
	body := preemptionBody{
		Number: r.Number, Time: nanos(r.At), PreemptionReason: reasonNames[r.Reason], Victims: viewVictims(r.Victims), MoreVictims: r.MoreVictims,
	}
	body.NodeID = string(r.Node)
	switch r.Reason {
	case preemption.ReasonQuota:
		body.QuotaViolation = &violatingQueueBody{string(r.Excess.Queue), amountsOf(r.Excess.Amounts)}
		return body
	case preemption.ReasonNodePressure:
		body.Shortfall = amountsOf(r.Excess.Amounts)
		return body
	}
	body.Ask, body.Nodes, body.Cancelled = viewPreemptor(&r.Ask), viewNodeOutcomes(r.NodeOutcomes), nanos(r.CancelledAt)
	body.Nomination = &nominationBody{State: r.Nomination.State.String(), Until: nanos(r.Nomination.EndedAt), LostTo: string(r.Nomination.LostTo)}
	for _, v := range r.TriedReasons {
		body.TriedReasons = append(body.TriedReasons, reasonNames[v])
	}
	if r.Nomination.State == scheduler.NominationGivenUp {
		body.Nomination.Reason = r.Nomination.Verdict.String()
	}
	if at := r.Placement.At; !at.IsZero() {
		body.Placed = &placedBody{nanos(at), string(r.Placement.Node), int64(at.Sub(r.At).Seconds())}
	}
	return body
}

func viewPreemptor(a *scheduler.Preemptor) *preemptorBody {
	return &preemptorBody{
		AllocationKey: string(a.Key), ApplicationID: string(a.App), User: a.User, QueueName: string(a.Queue),
		Priority: a.Priority, Resource: amountsOf(a.Amounts), RequestTime: nanos(a.Created), RequiredNodeID: string(a.RequiredNode),
	}
}

func viewNodeOutcomes(s preemption.OutcomeCounts) *nodeOutcomesBody {
	return &nodeOutcomesBody{Compared: s[preemption.OutcomeCompared], NoPlan: s[preemption.OutcomeNoPlan], Rejected: s[preemption.OutcomeRejected]}
}

func viewVictims(list []scheduler.Victim) []victimBody {
	out := make([]victimBody, len(list))
	for i := range list {
		v := &list[i]
		out[i] = victimBody{
			AllocationKey: string(v.Key), ApplicationID: string(v.App), QueueName: string(v.Queue), NodeID: string(v.Node),
			Priority: v.Priority, Resource: amountsOf(v.Amounts), AllocationTime: nanos(v.BoundAt),
			RuntimeSeconds: int64(v.RunTime.Seconds()), GraceSeconds: int64(v.Grace.Seconds()), LostWork: amountsOf(v.LostWork()), State: v.End.State.String(), Ended: nanos(v.End.At),
		}
		if v.End.State == scheduler.VictimReleased {
			out[i].Termination = v.End.Termination.String()
		}
	}
	return out
}

func viewCandidates(list []scheduler.Candidate) []candidateBody {
	out := make([]candidateBody, len(list))
	for i, y := range list {
		out[i] = candidateBody{string(y.Key), string(y.App), string(y.Queue), y.Priority, y.Victim, candidateOutcome(y.Victim, y.Ineligible)}
	}
	return out
}

// candidateOutcome says what becomes of a candidate, and why.
func candidateOutcome(victim bool, law preemption.IneligibleReason) string {
	switch {
	case victim:
		return "victim"
	case law == preemption.Eligible:
		return "eligible, but not needed"
	}
	return law.String()
}
