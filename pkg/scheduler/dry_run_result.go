package scheduler

import (
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

// DryRunResult is the result of a DryRun. It is a value, like a Preemption, and never changes. REST shows it
// as it is.
type DryRunResult struct {
	At      objects.Timestamp     `json:"time"`
	Outcome DryRunOutcome         `json:"outcome"` // fits, waits, preempts, does not fit or may not start
	Verdict string                `json:"verdict"` // why the ask is not placed at once
	Ask     *preemption.Preemptor `json:"ask"`
	Pending bool                  `json:"pending"` // it is an existing ask, and the predicates were asked
	Node    objects.NodeID        `json:"nodeID,omitempty"`
	preemption.DryRunReport
}

// DryRunOutcome is the kind of result of a dry run.
type DryRunOutcome string

// The outcomes.
const (
	WouldFit      DryRunOutcome = "fits"          // a feasible node has free resources: no victims
	WouldWait     DryRunOutcome = "waits"         // preempting allocations will free enough: no further victims
	WouldPreempt  DryRunOutcome = "preempts"      // it would preempt victims
	WouldNotFit   DryRunOutcome = "does not fit"  // no node has enough free resources, and there is no plan
	WouldNotStart DryRunOutcome = "may not start" // its application may not start, and preemption does not change that
)
