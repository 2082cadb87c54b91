package objects

import (
	"github.com/canopy-scheduler/canopy/pkg/feasibility"
	"github.com/canopy-scheduler/canopy/pkg/lifecycle"
)

// Options are bounds on sizes and times. Table sizes do not change decisions.
type Options struct {
	// Shapes is how many shapes have slots of their own. Asks of further shapes are placed in the
	// same order, but share slots and are checked one by one (ORD-10).
	Shapes    int
	Lifetimes lifecycle.Lifetimes
	// Names is the maximum number of resource names, and AskNames that of names that only asks
	// have; 0: resources.MaxNames and resources.MaxAskNames.
	Names, AskNames int
	// Candidates is how many feasible nodes preemption compares for an ask at most; 0: 100, the
	// minimum of kube-scheduler (PRE-57).
	Candidates int
	// Evaluations is how many asks are evaluated for preemption before commands are served; 0: 4
	// (PRE-94). In a very large cluster an evaluation takes long (ADR 24).
	Evaluations int
	// Refusals is how many asks of one group that the resource manager refuses an evaluation of
	// preemption goes through; 0: 8 (PRE-96, ADR 43).
	Refusals int
	// RefusedNodes bounds the nodes, refused to an ask by other allocations, that a search tries one by one before it
	// passes over refused domains; behind four times as many groups and nodes it keeps those that are not refused; 0: 64
	// (ADR 67, ADR 70).
	RefusedNodes int
	// PreemptionHistory is how many preemptions are remembered; 0: 1,000 (PRE-109).
	PreemptionHistory int
}

// DefaultOptions are the options of NewPartition.
func DefaultOptions() Options {
	return Options{Shapes: feasibility.DefaultShapes, Lifetimes: lifecycle.DefaultLifetimes()}
}
