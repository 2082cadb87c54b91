package objects

import "time"

// Options say how large and how long-lived things are. Nobody can see the size of a table
// in what is decided.
type Options struct {
	// Shapes is how many shapes can be told apart. Asks of shapes that find no place in the
	// table are placed just the same, but looked at one by one.
	Shapes    int
	Lifetimes Lifetimes
	// Names is how many different resource names there may be, and MaxAskNames how many of them
	// that no node and no configuration knows; 0: resources.MaxNames and resources.MaxAskNames.
	Names, AskNames int
	// Candidates is how many nodes where room could be made for an ask are compared at most;
	// 0: 100, which is what kube-scheduler compares at least (priority.md 2.2).
	Candidates int
	// Evaluations is how many asks may look for somebody whose place they could take before
	// commands are looked at again; 0: 4. In a very large cluster a look takes long (ADR 24).
	Evaluations int
	// Refusals is how many asks of one group an evaluation of preemption goes through that the
	// resource manager refuses; 0: 8 (ADR 43).
	Refusals int
	// PreemptionHistory is how many preemptions are remembered, with what became of them; 0: 1,000.
	PreemptionHistory int
}

// DefaultOptions are those of NewPartition.
func DefaultOptions() Options { return Options{Shapes: DefaultShapes, Lifetimes: DefaultLifetimes()} }

// Lifetimes say how long things last that end by time alone. A time of zero is over at
// once.
type Lifetimes struct {
	Completing time.Duration // from having nothing to do to being Completed
	Completed  time.Duration // how long an application that has ended is remembered
	Rejected   time.Duration // how long one is remembered that was rejected
	MaxEnded   int           // how many of each kind are remembered at most
}

// DefaultLifetimes are those of upstream, which remembers any number, and a bound.
func DefaultLifetimes() Lifetimes {
	return Lifetimes{Completing: 30 * time.Second, Completed: 72 * time.Hour, Rejected: 72 * time.Hour, MaxEnded: 50_000}
}
