package objects

import (
	"github.com/canopy-scheduler/canopy/pkg/feasibility"
	"github.com/canopy-scheduler/canopy/pkg/lifecycle"
)

// Options are bounds on sizes and times. Table sizes do not change decisions.
type Options struct {
	// Shapes is the number of shapes that have slots of their own. Asks of further shapes are placed in the
	// same order, but share slots and are checked one by one (ORD-10).
	Shapes    int
	Lifetimes lifecycle.Lifetimes
	// Names is the maximum number of resource names, and AskNames that of names that only asks
	// have; 0: resources.MaxNames and resources.MaxAskNames.
	Names, AskNames int
	// Candidates bounds the feasible nodes that preemption compares for an ask; 0: 100, the
	// minimum of kube-scheduler (PRE-57).
	Candidates int
	// Evaluations bounds the asks that are evaluated for preemption before commands are served; 0: 4
	// (PRE-94). In a very large cluster an evaluation takes long (ADR 24).
	Evaluations int
	// Refusals bounds the asks of one group, refused by the resource manager, that an evaluation of
	// preemption goes through; 0: 8 (PRE-96, ADR 43).
	Refusals int
	// RefusedNodes bounds the nodes, refused to an ask by other allocations, that a search tries one by one before it
	// passes over refused domains; behind four times as many groups and nodes it keeps those that are not refused; 0: 64
	// (ADR 67, ADR 70).
	RefusedNodes int
	// PreemptionHistory bounds the preemptions that are remembered; 0: 1,000 (PRE-109).
	PreemptionHistory int
}

// DefaultOptions are the options of NewPartition.
func DefaultOptions() Options {
	return Options{Shapes: feasibility.DefaultShapes, Lifetimes: lifecycle.DefaultLifetimes()}
}
