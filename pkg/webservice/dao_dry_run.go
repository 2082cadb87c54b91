package webservice

import (
	"github.com/canopy-scheduler/canopy/pkg/preemption"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// What GET .../preemptions, GET .../preemptions/{number} and POST .../preemptions/dry-run
// answer, for clients written in Go.
type (
	PreemptionList      = preemptionsBody
	Preemption          = preemptionBody
	PreemptionVictim    = victimBody
	PreemptionCandidate = candidateBody
	DryRunResult        = dryRunBody
)

// dryRunBody is what would become of an ask.
type dryRunBody struct {
	Time         int64              `json:"time"`
	Outcome      string             `json:"outcome"` // fits, waits, preempts, does not fit or may not start
	Verdict      string             `json:"verdict"` // what keeps it from being placed at once
	Ask          *preemptorBody     `json:"ask"`
	Pending      bool               `json:"pending"` // there is such an ask, and the resource manager was asked
	NodeID       string             `json:"nodeID,omitempty"`
	Victims      []victimBody       `json:"victims,omitempty"`
	MoreVictims  int                `json:"moreVictims,omitempty"`
	Entitlements []entitlementBody  `json:"entitlements"`
	Searches     []victimSearchBody `json:"searches,omitempty"`

	CandidatesNode string          `json:"candidatesNodeID,omitempty"`
	Candidates     []candidateBody `json:"candidates,omitempty"`
	MoreCandidates int             `json:"moreCandidates,omitempty"`
}

// entitlementBody is a right that the ask has, or why it does not.
type entitlementBody struct {
	PreemptionReason string `json:"preemptionReason"`
	Entitled         bool   `json:"entitled"`
	Reason           string `json:"reason,omitempty"`
	QueueName        string `json:"queueName,omitempty"`  // that the reason is about, or that owes the room
	EntitledAt       int64  `json:"entitledAt,omitempty"` // when it will have the right
}

// victimSearchBody is how looking for victims by a right went.
type victimSearchBody struct {
	PreemptionReason string              `json:"preemptionReason"`
	Found            bool                `json:"found"`
	TotalNodes       int                 `json:"totalNodes"`
	Nodes            *nodeOutcomesBody   `json:"nodes"`
	Infeasible       int                 `json:"infeasible"`               // where there would be no room if everybody left
	NotEvaluated     int                 `json:"notEvaluated"`             // there is nobody in reach, or they cannot be better
	NoPlanReasons    map[string]int      `json:"noPlanReasons,omitempty"`  // of the nodes without a plan
	BlockingQuotas   []blockingQuotaBody `json:"blockingQuotas,omitempty"` // that are in the way
	CrossNode        bool                `json:"crossNode"`                // no node alone was enough for a quota: others leave elsewhere
	Plans            []planBody          `json:"plans,omitempty"`          // the best, the one that is taken first
}

type blockingQuotaBody struct {
	Quota     string     `json:"quota"`
	Shortfall quantities `json:"shortfall"` // that would have to go
	Nodes     int        `json:"nodes"`
}

type planBody struct {
	NodeID           string       `json:"nodeID"`
	Victims          []victimBody `json:"victims"`
	MoreVictims      int          `json:"moreVictims,omitempty"`
	BudgetViolations int          `json:"budgetViolations,omitempty"`
	OptedOut         bool         `json:"optedOut,omitempty"`   // one of them did not agree to leave
	Originator       bool         `json:"originator,omitempty"` // one of them leads its application
}

func viewDryRun(s *scheduler.DryRunResult) *dryRunBody {
	body := &dryRunBody{
		Time: nanos(s.At), Outcome: s.Outcome.String(), Verdict: s.Verdict.String(), Ask: viewPreemptor(&s.Ask), Pending: s.Pending,
		NodeID: string(s.Node), Victims: viewVictims(s.Victims), MoreVictims: s.MoreVictims,
		CandidatesNode: string(s.CandidatesNode), Candidates: viewCandidates(s.Candidates), MoreCandidates: s.MoreCandidates,
	}
	for _, c := range s.Entitlements {
		claim := entitlementBody{PreemptionReason: reasonNames[c.Reason], Entitled: c.NotEntitled == preemption.Entitled, QueueName: string(c.Queue), EntitledAt: nanos(c.Due)}
		if !claim.Entitled {
			claim.Reason = c.NotEntitled.String()
		}
		body.Entitlements = append(body.Entitlements, claim)
	}
	for i := range s.Searches {
		body.Searches = append(body.Searches, viewVictimSearch(&s.Searches[i]))
	}
	return body
}

func viewVictimSearch(q *scheduler.DryRunSearch) victimSearchBody {
	body := victimSearchBody{PreemptionReason: reasonNames[q.Reason], Found: q.Found, TotalNodes: q.TotalNodes, Nodes: viewNodeOutcomes(q.NodeOutcomes), Infeasible: q.Infeasible, CrossNode: q.CrossNode}
	body.NotEvaluated = q.TotalNodes - q.Infeasible - body.Nodes.Compared - body.Nodes.NoPlan - body.Nodes.Rejected
	for o, n := range q.NoPlanReasons {
		if n > 0 {
			if body.NoPlanReasons == nil {
				body.NoPlanReasons = map[string]int{}
			}
			body.NoPlanReasons[preemption.NoPlanReason(o).String()] = n
		}
	}
	for _, w := range q.BlockingQuotas {
		body.BlockingQuotas = append(body.BlockingQuotas, blockingQuotaBody{w.Verdict.String(), amountsOf(w.Shortfall), w.Nodes})
	}
	for _, p := range q.BestPlans {
		body.Plans = append(body.Plans, planBody{string(p.Node), viewVictims(p.Victims), p.MoreVictims, p.BudgetViolations, p.OptedOut, p.Originator})
	}
	return body
}

// amountsOf writes quantities in base units.
func amountsOf(a resources.Amounts) quantities { return quantitiesOf(a.All()) }
