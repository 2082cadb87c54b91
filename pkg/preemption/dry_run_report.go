package preemption

import (
	"time"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/preemption/victim"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// DryRunReport holds the findings of a DryRun. It is a value, like a Preemption, and never changes.
type DryRunReport struct {
	Entitlements []DryRunEntitlement
	Searches     []DryRunSearch // one for each preemption reason that was tried, up to the first plan

	Victims          []Victim // of the plan; the one that would be reprieved first comes first
	MoreVictims      int
	CandidatesNode   objects.NodeID // the node of Candidates; empty: none
	Candidates       []Candidate
	MoreCandidates   int
	CandidatesReason victim.Reason // the preemption reason by which Candidates were judged eligible
}

// DryRunEntitlement is an Entitlement as a value.
type DryRunEntitlement struct {
	Reason      victim.Reason
	NotEntitled NotEntitledReason
	Queue       objects.QueuePath // empty: none
	Due         time.Time         // when a delay ends and the ask is entitled; zero: it is already, or never will be
	// the resources in which Queue would exceed its guarantee, by name; of NotEntitledAboveGuarantee
	Over []OverGuarantee
}

// OverGuarantee is a resource in which a queue would exceed its guarantee with the ask.
type OverGuarantee struct {
	Resource   string             `json:"resource"`
	Guaranteed resources.Quantity `json:"guaranteed"`
	Used       resources.Quantity `json:"used"`
	Requested  resources.Quantity `json:"requested"`
}

// DryRunSearch is a SearchReport as values.
type DryRunSearch struct {
	Reason         victim.Reason
	Found          bool
	TotalNodes     int
	NodeOutcomes   victim.OutcomeCounts
	Infeasible     int
	NoPlanReasons  victim.NoPlanCounts
	BlockingQuotas []DryRunShortfall
	CrossNode      bool
	BestPlans      []DryRunPlan
}

// DryRunShortfall is a quota that blocks the ask.
type DryRunShortfall struct {
	Verdict   string            // the quota in words
	Shortfall resources.Amounts // how much victims would have to free
	Nodes     int               // on which the quota was the obstacle
}

// DryRunPlan is one of the best plans.
type DryRunPlan struct {
	Node                 objects.NodeID
	Victims              []Victim
	MoreVictims          int
	BudgetViolations     int  // units beyond what disruption budgets allow
	OptedOut, Originator bool // a victim has AllowPreemptSelf false; a victim is an originator
}
