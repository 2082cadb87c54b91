package webservice

import (
	"github.com/canopy-scheduler/canopy/pkg/preemption"
	"github.com/canopy-scheduler/canopy/pkg/preemption/victim"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// The answers of GET .../preemptions, GET .../preemptions/{number} and POST
// .../preemptions/dry-run, for clients written in Go.
type (
	PreemptionList      = preemptionsBody
	Preemption          = preemptionBody
	PreemptionVictim    = victimBody
	PreemptionCandidate = candidateBody
	DryRunResult        = dryRunBody
)

// dryRunBody is the result of a dry run (PRE-113 to PRE-117).
type dryRunBody struct {
	Time         int64              `json:"time"`
	Outcome      string             `json:"outcome"` // fits, waits, preempts, does not fit or may not start
	Verdict      string             `json:"verdict"` // why the ask is not placed at once
	Ask          *preemptorBody     `json:"ask"`
	Pending      bool               `json:"pending"` // it is an existing ask, and the predicates were asked
	NodeID       string             `json:"nodeID,omitempty"`
	Victims      []victimBody       `json:"victims,omitempty"`
	MoreVictims  int                `json:"moreVictims,omitempty"`
	Entitlements []entitlementBody  `json:"entitlements"`
	Searches     []victimSearchBody `json:"searches,omitempty"`

	CandidatesNode string          `json:"candidatesNodeID,omitempty"`
	Candidates     []candidateBody `json:"candidates,omitempty"`
	MoreCandidates int             `json:"moreCandidates,omitempty"`
}

// entitlementBody says by which reason the ask may preempt, or why it may not.
type entitlementBody struct {
	PreemptionReason string `json:"preemptionReason"`
	Entitled         bool   `json:"entitled"`
	Reason           string `json:"reason,omitempty"`
	QueueName        string `json:"queueName,omitempty"`  // the queue of the reason, or the one whose guarantee is not met
	EntitledAt       int64  `json:"entitledAt,omitempty"` // when the ask will be entitled
}

// victimSearchBody is the result of a victim search for one reason.
type victimSearchBody struct {
	PreemptionReason string              `json:"preemptionReason"`
	Found            bool                `json:"found"`
	TotalNodes       int                 `json:"totalNodes"`
	Nodes            *nodeOutcomesBody   `json:"nodes"`
	Infeasible       int                 `json:"infeasible"`               // nodes on which the ask would not fit if all candidates were preempted
	NotEvaluated     int                 `json:"notEvaluated"`             // nodes without candidates, or that cannot have a better plan
	NoPlanReasons    map[string]int      `json:"noPlanReasons,omitempty"`  // of the nodes without a plan
	BlockingQuotas   []blockingQuotaBody `json:"blockingQuotas,omitempty"` // quotas that block the ask
	CrossNode        bool                `json:"crossNode"`                // no single node has enough victims for a quota: victims on other nodes are needed
	Plans            []planBody          `json:"plans,omitempty"`          // the best plans, the chosen one first
}

type blockingQuotaBody struct {
	Quota     string     `json:"quota"`
	Shortfall quantities `json:"shortfall"` // the amounts that would have to be released
	Nodes     int        `json:"nodes"`
}

type planBody struct {
	NodeID           string       `json:"nodeID"`
	Victims          []victimBody `json:"victims"`
	MoreVictims      int          `json:"moreVictims,omitempty"`
	BudgetViolations int          `json:"budgetViolations,omitempty"`
	OptedOut         bool         `json:"optedOut,omitempty"`   // a victim has opted out of preemption
	Originator       bool         `json:"originator,omitempty"` // a victim is the originator of its application
}

func viewDryRun(s *scheduler.DryRunResult) *dryRunBody {
	body := &dryRunBody{
		Time: nanos(s.At), Outcome: s.Outcome.String(), Verdict: s.Verdict.String(), Ask: viewPreemptor(&s.Ask), Pending: s.Pending,
		NodeID: string(s.Node), Victims: viewVictims(s.Victims), MoreVictims: s.MoreVictims,
		CandidatesNode: string(s.CandidatesNode), Candidates: viewCandidates(s.Candidates), MoreCandidates: s.MoreCandidates,
	}
	for _, c := range s.Entitlements {
		entitlement := entitlementBody{PreemptionReason: reasonNames[c.Reason], Entitled: c.NotEntitled == preemption.Entitled, QueueName: string(c.Queue), EntitledAt: nanos(c.Due)}
		if !entitlement.Entitled {
			entitlement.Reason = c.NotEntitled.String()
		}
		body.Entitlements = append(body.Entitlements, entitlement)
	}
	for i := range s.Searches {
		body.Searches = append(body.Searches, viewVictimSearch(&s.Searches[i]))
	}
	return body
}

func viewVictimSearch(q *preemption.DryRunSearch) victimSearchBody {
	body := victimSearchBody{PreemptionReason: reasonNames[q.Reason], Found: q.Found, TotalNodes: q.TotalNodes, Nodes: viewNodeOutcomes(q.NodeOutcomes), Infeasible: q.Infeasible, CrossNode: q.CrossNode}
	body.NotEvaluated = q.TotalNodes - q.Infeasible - body.Nodes.Compared - body.Nodes.NoPlan - body.Nodes.Rejected
	for o, n := range q.NoPlanReasons {
		if n > 0 {
			if body.NoPlanReasons == nil {
				body.NoPlanReasons = map[string]int{}
			}
			body.NoPlanReasons[victim.NoPlanReason(o).String()] = n
		}
	}
	for _, w := range q.BlockingQuotas {
		body.BlockingQuotas = append(body.BlockingQuotas, blockingQuotaBody{w.Verdict, amountsOf(w.Shortfall), w.Nodes})
	}
	for _, p := range q.BestPlans {
		body.Plans = append(body.Plans, planBody{string(p.Node), viewVictims(p.Victims), p.MoreVictims, p.BudgetViolations, p.OptedOut, p.Originator})
	}
	return body
}

// amountsOf are amounts in the smallest units.
func amountsOf(a resources.Amounts) quantities { return quantitiesOf(a.All()) }
