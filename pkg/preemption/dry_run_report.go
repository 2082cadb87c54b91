package preemption

import (
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/preemption/victim"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// DryRunReport holds the findings of a DryRun. It is a value, like a Preemption, and never changes. REST shows it as it
// is, like the other types of this file.
type DryRunReport struct {
	Victims      []Victim       `json:"victims,omitempty"` // of the plan; the one to reprieve first comes first
	MoreVictims  int            `json:"moreVictims,omitempty"`
	Entitlements []Entitlement  `json:"entitlements"`
	Searches     []VictimSearch `json:"searches,omitempty"` // by the reasons that were tried, up to the first plan

	CandidatesNode   objects.NodeID `json:"candidatesNodeID,omitempty"`
	Candidates       []Candidate    `json:"candidates,omitempty"`
	MoreCandidates   int            `json:"moreCandidates,omitempty"`
	CandidatesReason victim.Reason  `json:"-"` // the preemption reason by which Candidates were judged eligible
}

// Entitlement says by which reason an ask may preempt, or why it may not: an AskEntitlement as a value.
type Entitlement struct {
	Reason      victim.Reason     `json:"preemptionReason"`
	Entitled    bool              `json:"entitled"`
	NotEntitled NotEntitledReason `json:"reason,omitempty"`
	// the queue of the reason, or the one whose guarantee is not met
	Queue objects.QueuePath `json:"queueName,omitempty"`
	Due   objects.Timestamp `json:"entitledAt,omitzero"` // when the ask will be entitled
	// by which resources the queue would exceed its guarantee; an entitled ask has no victims for these
	Over []OverGuarantee `json:"overGuarantee,omitempty"`
	// by which the queue would not exceed it: preemption.guarantee: lacking would entitle the ask
	Lacking []string `json:"lacking,omitempty"`
	// the child, application or user of the queue that the ask counts for, by reason of the fair share (PRE-126)
	Side   string      `json:"side,omitempty"`
	Shares []FairShare `json:"fairShares,omitempty"` // of Side; none: no resource is contested
}

// FairShare is the fair share of a side in a contested resource (PRE-129).
type FairShare struct {
	Resource string             `json:"resource"`
	Share    resources.Quantity `json:"share"` // rounded down
	Held     resources.Quantity `json:"held"`
}

// OverGuarantee is a resource in which a queue would exceed its guarantee with the ask.
type OverGuarantee struct {
	Resource   string             `json:"resource"`
	Guaranteed resources.Quantity `json:"guaranteed"`
	Used       resources.Quantity `json:"used"`
	Requested  resources.Quantity `json:"requested"`
}

// VictimSearch is a victim.SearchReport as values.
type VictimSearch struct {
	Reason       victim.Reason        `json:"preemptionReason"`
	Found        bool                 `json:"found"`
	TotalNodes   int                  `json:"totalNodes"`
	NodeOutcomes *victim.NodeOutcomes `json:"nodes"`
	// nodes on which the ask would not fit if all candidates were preempted
	Infeasible int `json:"infeasible"`
	// nodes without candidates, or that cannot have a better plan
	NotEvaluated  int                         `json:"notEvaluated"`
	NoPlanReasons map[victim.NoPlanReason]int `json:"noPlanReasons,omitempty"` // of the nodes without a plan
	// when the first minimum run time ends that is such a reason
	YoungUntil     objects.Timestamp `json:"youngUntil,omitzero"`
	BlockingQuotas []BlockingQuota   `json:"blockingQuotas,omitempty"` // quotas that block the ask
	// no single node has enough victims for a quota: victims on other nodes are needed
	CrossNode bool   `json:"crossNode"`
	BestPlans []Plan `json:"plans,omitempty"` // the best plans, the chosen one first
}

// BlockingQuota is a quota that blocks the ask.
type BlockingQuota struct {
	Verdict   string            `json:"quota"`
	Shortfall resources.Amounts `json:"shortfall"` // the amounts that would have to be released
	Nodes     int               `json:"nodes"`
}

// Plan is one of the best plans: a set of victims on a node.
type Plan struct {
	Node             objects.NodeID `json:"nodeID"`
	Victims          []Victim       `json:"victims"`
	MoreVictims      int            `json:"moreVictims,omitempty"`
	BudgetViolations int            `json:"budgetViolations,omitempty"`
	Young            int            `json:"young,omitempty"`      // victims before the end of their minimum run time
	OptedOut         bool           `json:"optedOut,omitempty"`   // a victim has opted out of preemption
	Originator       bool           `json:"originator,omitempty"` // a victim is the originator of its application
}
