package dao

import (
	"fmt"

	"github.com/canopy-scheduler/canopy/pkg/preemption"
	"github.com/canopy-scheduler/canopy/pkg/preemption/victim"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// DryRunResult is the result of a dry run (PRE-113 to PRE-117).
type DryRunResult struct {
	Time         int64          `json:"time"`
	Outcome      string         `json:"outcome"` // fits, waits, preempts, does not fit or may not start
	Verdict      string         `json:"verdict"` // why the ask is not placed at once
	Ask          *Preemptor     `json:"ask"`
	Pending      bool           `json:"pending"` // it is an existing ask, and the predicates were asked
	NodeID       string         `json:"nodeID,omitempty"`
	Victims      []Victim       `json:"victims,omitempty"`
	MoreVictims  int            `json:"moreVictims,omitempty"`
	Entitlements []Entitlement  `json:"entitlements"`
	Searches     []VictimSearch `json:"searches,omitempty"`

	CandidatesNode string      `json:"candidatesNodeID,omitempty"`
	Candidates     []Candidate `json:"candidates,omitempty"`
	MoreCandidates int         `json:"moreCandidates,omitempty"`
}

// Entitlement says by which reason the ask may preempt, or why it may not.
type Entitlement struct {
	PreemptionReason string `json:"preemptionReason"`
	Entitled         bool   `json:"entitled"`
	Reason           string `json:"reason,omitempty"`
	QueueName        string `json:"queueName,omitempty"`  // the queue of the reason, or the one whose guarantee is not met
	EntitledAt       int64  `json:"entitledAt,omitempty"` // when the ask will be entitled

	// by which resources the queue would exceed its guarantee
	Over []preemption.OverGuarantee `json:"overGuarantee,omitempty"`
}

// OverText is the figures of Over in words, behind the name of the queue.
func (e *Entitlement) OverText() (text string) {
	for _, o := range e.Over {
		amount := func(n resources.Quantity) string { return resources.FormatQuantity(o.Resource, n) }
		text += fmt.Sprintf("; %s: %s guaranteed, %s used, %s requested", o.Resource, amount(o.Guaranteed), amount(o.Used),
			amount(o.Requested))
	}
	return text
}

// VictimSearch is the result of a victim search for one reason.
type VictimSearch struct {
	PreemptionReason string        `json:"preemptionReason"`
	Found            bool          `json:"found"`
	TotalNodes       int           `json:"totalNodes"`
	Nodes            *NodeOutcomes `json:"nodes"`
	// nodes on which the ask would not fit if all candidates were preempted
	Infeasible int `json:"infeasible"`
	// nodes without candidates, or that cannot have a better plan
	NotEvaluated   int             `json:"notEvaluated"`
	NoPlanReasons  map[string]int  `json:"noPlanReasons,omitempty"`  // of the nodes without a plan
	BlockingQuotas []BlockingQuota `json:"blockingQuotas,omitempty"` // quotas that block the ask
	// no single node has enough victims for a quota: victims on other nodes are needed
	CrossNode bool   `json:"crossNode"`
	Plans     []Plan `json:"plans,omitempty"` // the best plans, the chosen one first
}

// BlockingQuota is a quota that no set of victims frees.
type BlockingQuota struct {
	Quota     string     `json:"quota"`
	Shortfall Quantities `json:"shortfall"` // the amounts that would have to be released
	Nodes     int        `json:"nodes"`
}

// Plan is a set of victims on a node.
type Plan struct {
	NodeID           string   `json:"nodeID"`
	Victims          []Victim `json:"victims"`
	MoreVictims      int      `json:"moreVictims,omitempty"`
	BudgetViolations int      `json:"budgetViolations,omitempty"`
	OptedOut         bool     `json:"optedOut,omitempty"`   // a victim has opted out of preemption
	Originator       bool     `json:"originator,omitempty"` // a victim is the originator of its application
}

// NewDryRunResult shows s.
func NewDryRunResult(s *scheduler.DryRunResult) *DryRunResult {
	body := &DryRunResult{
		Time: Nanos(s.At), Outcome: s.Outcome.String(), Verdict: s.Verdict.String(), Ask: viewPreemptor(&s.Ask),
		Pending: s.Pending,
		NodeID:  string(s.Node), Victims: viewVictims(s.Victims), MoreVictims: s.MoreVictims,
		CandidatesNode: string(s.CandidatesNode), Candidates: NewCandidates(s.Candidates), MoreCandidates: s.MoreCandidates,
	}
	body.Entitlements = viewEntitlements(s.Entitlements)
	for i := range s.Searches {
		body.Searches = append(body.Searches, viewVictimSearch(&s.Searches[i]))
	}
	return body
}

func viewVictimSearch(q *preemption.DryRunSearch) VictimSearch {
	body := VictimSearch{PreemptionReason: ReasonNames[q.Reason], Found: q.Found, TotalNodes: q.TotalNodes,
		Nodes: viewNodeOutcomes(q.NodeOutcomes), Infeasible: q.Infeasible, CrossNode: q.CrossNode}
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
		body.BlockingQuotas = append(body.BlockingQuotas, BlockingQuota{w.Verdict, amountsOf(w.Shortfall), w.Nodes})
	}
	for _, p := range q.BestPlans {
		body.Plans = append(body.Plans,
			Plan{string(p.Node), viewVictims(p.Victims), p.MoreVictims, p.BudgetViolations, p.OptedOut, p.Originator})
	}
	return body
}
