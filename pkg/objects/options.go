package objects

import (
	"time"

	"github.com/canopy-scheduler/canopy/pkg/feasibility"
)

// Options are bounds on sizes and times. Table sizes do not change decisions.
type Options struct {
	// Shapes is how many shapes have slots of their own. Asks of further shapes are placed in the
	// same order, but share slots and are checked one by one (ORD-10).
	Shapes    int
	Lifetimes Lifetimes
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
	// PreemptionHistory is how many preemptions are remembered; 0: 1,000 (PRE-109).
	PreemptionHistory int
}

// DefaultOptions are the options of NewPartition.
func DefaultOptions() Options {
	return Options{Shapes: feasibility.DefaultShapes, Lifetimes: DefaultLifetimes()}
}

// Lifetimes are the times after which states end. A time of zero ends at once.
type Lifetimes struct {
	Completing time.Duration // time in state Completing (APP-9)
	Completed  time.Duration // retention time of completed applications (APP-38)
	Rejected   time.Duration // retention time of rejected applications (APP-39)
	MaxEnded   int           // maximum number of completed, and of rejected, applications in the history (APP-40)
}

// DefaultLifetimes are those of YuniKorn, with a bound on the number of remembered applications.
func DefaultLifetimes() Lifetimes {
	return Lifetimes{Completing: 30 * time.Second, Completed: 72 * time.Hour, Rejected: 72 * time.Hour, MaxEnded: 50_000}
}
