package scheduler

import (
	"time"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/preemption"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// DryRunRequest is an ask about which the Core is asked what would become of it.
type DryRunRequest struct {
	Ask *objects.Ask // nil: Key names one that is pending
	Key objects.AllocationKey

	Class             string                    // the priority class of Ask; empty: none
	NamedClass        string                    // the one that it names itself; empty: none
	AllowedUsers      *security.ACL             // who may name the class; nil: everybody
	Applicant         objects.HypotheticalOwner // whose it is, if its application is not there
	AssumeDelayPassed bool                      // as if it had waited as long as preemption.delay
	Node              objects.NodeID            // the node whose candidates are told; empty: that of the plan
}

// DryRunResult is what would become of an ask now. It is a value, like a Preemption.
type DryRunResult struct {
	At      time.Time
	Outcome DryRunOutcome
	Ask     Preemptor
	Pending bool           // there is such an ask; else it was made up, and the RM was not asked
	Node    objects.NodeID // where it would run, if the outcome has one
	Verdict Verdict        // what keeps it from being placed at once; WaitsForTurn: nothing

	Entitlements []DryRunEntitlement
	Searches     []DryRunSearch // by each right that it has, until there is a plan

	Victims          []Victim // if it would preempt: the one that should stay longest first
	MoreVictims      int
	CandidatesNode   objects.NodeID // the node that the next two are about; empty: none
	Candidates       []Candidate
	MoreCandidates   int
	CandidatesReason preemption.Reason // by which the laws were asked
}

// DryRunOutcome is what would become of an ask.
type DryRunOutcome uint8

// The outcomes.
const (
	WouldFit      DryRunOutcome = iota // a node has room for it: nobody has to leave
	WouldWait                          // there will be room when those have left who were told to
	WouldPreempt                       // others would be told to leave
	WouldNotFit                        // there is no room, and nobody can be taken
	WouldNotStart                      // its application may not start, which preemption does not change
)

func (o DryRunOutcome) String() string {
	return [...]string{"fits", "waits", "preempts", "does not fit", "may not start"}[o]
}

// DryRunEntitlement is a preemption.Entitlement as a value.
type DryRunEntitlement struct {
	Reason      preemption.Reason
	NotEntitled preemption.NotEntitledReason
	Queue       objects.QueuePath // empty: none
	Due         time.Time         // when it will have the right; zero: never, or it has it
}

// DryRunSearch is a preemption.SearchReport as values.
type DryRunSearch struct {
	Reason         preemption.Reason
	Found          bool
	TotalNodes     int
	NodeOutcomes   preemption.OutcomeCounts
	Infeasible     int
	NoPlanReasons  preemption.NoPlanCounts
	BlockingQuotas []DryRunShortfall
	CrossNode      bool
	BestPlans      []DryRunPlan
}

// DryRunShortfall is a quota that is in the way.
type DryRunShortfall struct {
	Verdict   Verdict           // NoQueueHeadroom or NoLimitHeadroom
	Shortfall resources.Amounts // how much would have to go
	Nodes     int               // on which it was the obstacle
}

// DryRunPlan is a way to make room.
type DryRunPlan struct {
	Node                 objects.NodeID
	Victims              []Victim
	MoreVictims          int
	BudgetViolations     int  // units that would leave although a disruption budget does not allow it
	OptedOut, Originator bool // somebody did not agree to leave; leads an application
}
