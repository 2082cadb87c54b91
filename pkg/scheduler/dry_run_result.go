package scheduler

import (
	"time"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/preemption"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// DryRunRequest is the ask of a DryRun.
type DryRunRequest struct {
	Ask *objects.Ask // nil: Key names a pending ask
	Key objects.AllocationKey

	Class             string                    // the priority class of Ask; empty: none
	NamedClass        string                    // the class that the ask names itself; empty: none
	AllowedUsers      *security.ACL             // users that may use the class; nil: all
	Applicant         objects.HypotheticalOwner // user and queue of Ask, if its application does not exist
	AssumeDelayPassed bool                      // as if the ask were as old as the preemption delays of its leaf
	Node              objects.NodeID            // the node whose candidates are listed; empty: that of the plan
}

// DryRunResult is the result of a DryRun. It is a value, like a Preemption, and never changes.
type DryRunResult struct {
	At      time.Time
	Outcome DryRunOutcome
	Ask     preemption.Preemptor
	Pending bool           // the ask is pending; else it is hypothetical, and the RM was not asked
	Node    objects.NodeID // where it would run; empty if the outcome has no node
	Verdict Verdict        // why it is not placed at once; WaitsForTurn: nothing prevents it

	preemption.DryRunReport
}

// DryRunOutcome is the kind of result of a dry run.
type DryRunOutcome uint8

// The outcomes.
const (
	WouldFit      DryRunOutcome = iota // a feasible node has free resources: no victims
	WouldWait                          // preempting allocations will free enough: no further victims
	WouldPreempt                       // it would preempt victims
	WouldNotFit                        // no node has enough free resources, and there is no plan
	WouldNotStart                      // its application may not start, and preemption does not change that
)

func (o DryRunOutcome) String() string {
	return [...]string{"fits", "waits", "preempts", "does not fit", "may not start"}[o]
}
