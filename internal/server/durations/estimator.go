package durations

import (
	"time"

	"github.com/canopy-scheduler/canopy/pkg/objects"
)

// MinEnded is the number of durations that a group needs for an estimate of its own: with fewer, a larger group is
// used.
const MinEnded = 10

// Running is an allocation that runs.
type Running struct {
	Leaf    objects.QueuePath
	Value   string    // of the tag of its application; empty: none
	BoundAt time.Time // when it began to run
}

// Estimate is the distribution of a group.
type Estimate struct {
	Key   Key
	Ended int // durations that it is estimated from, besides what still runs
	*Distribution
}

// Estimator estimates durations at one moment, from what is learnt and what runs then. It belongs to its caller.
type Estimator struct {
	store     *Store
	partition string
	at, reset time.Time
	running   map[Key][]time.Time // when the running allocations of each group were bound
	known     map[Key]*Estimate   // nil: the group has too few durations
}

// Estimator returns the Estimator of a partition at a time at which these allocations run.
func (s *Store) Estimator(partition string, at time.Time, running []Running) *Estimator {
	e := &Estimator{store: s, partition: partition, at: at, reset: s.Reset(partition), running: map[Key][]time.Time{},
		known: map[Key]*Estimate{}}
	for _, x := range running {
		if x.BoundAt.Before(e.reset) {
			continue // its end will not be learnt
		}
		for _, key := range Chain(x.Leaf, x.Value) {
			e.running[key] = append(e.running[key], x.BoundAt)
		}
	}
	return e
}

// Of returns the estimate of the smallest group of an application that has MinEnded durations; nil: not even root has
// (EXP-11).
func (e *Estimator) Of(leaf objects.QueuePath, value string) *Estimate {
	for _, key := range Chain(leaf, value) {
		x, computed := e.known[key]
		if !computed {
			x = e.estimate(key)
			e.known[key] = x
		}
		if x != nil {
			return x
		}
	}
	return nil
}

// Ended returns how many durations are known of a group, at most Kept.
func (e *Estimator) Ended(key Key) int { return len(e.store.Known(e.partition, key).Ended) }

// estimate returns the estimate of a group; nil: it has too few durations. Each allocation counts for the ages that it
// had since every end is known.
func (e *Estimator) estimate(key Key) *Estimate {
	known := e.store.Known(e.partition, key)
	if len(known.Ended) < MinEnded {
		return nil
	}
	lives := make([]Life, 0, len(known.Ended)+len(e.running[key]))
	for _, x := range known.Ended {
		lives = append(lives, Life{max(0, x.Duration-x.At.Sub(known.Since)), x.Duration, true})
	}
	for _, bound := range e.running[key] {
		age := max(0, e.at.Sub(bound))
		lives = append(lives, Life{max(0, age-max(0, e.at.Sub(known.Since))), age, false})
	}
	return &Estimate{key, len(known.Ended), NewDistribution(lives)}
}
