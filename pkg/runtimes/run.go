package runtimes

import (
	"fmt"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/objects"
)

// Run says how long an ask or allocation may run (RUN-2). REST shows it as it is. The zero value: it has no bound.
type Run struct {
	MaxRunTime int64             `json:"maxRunTime,omitempty"` // how long it may run, in nanoseconds
	RunsUntil  objects.Timestamp `json:"runsUntil,omitzero"`   // when that time is over; missing: it is pending
	// when it is released if it still runs; missing: its queue enforces nothing, or the answer is no explanation
	ReleasedAt objects.Timestamp `json:"releasedAt,omitzero"`
	// its release is ordered, other than by preemption: it has run for too long, or is a placeholder that is not needed
	Ending bool `json:"ending,omitempty"`
}

// RunOf returns how long x may run, without ReleasedAt.
func RunOf(p *objects.Partition, x *objects.Allocation) (r Run) {
	bound := Bound(x)
	r.MaxRunTime = bound.Nanoseconds()
	if !x.Pending() {
		r.Ending = objects.Ending(p, x)
		if bound > 0 {
			r.RunsUntil = objects.TimestampOf(StartOf(x).Add(bound))
		}
	}
	return r
}

// Run returns how long x may run, and when it is released.
func (eng *Engine) Run(x *objects.Allocation) Run {
	eng.Refresh()
	r := RunOf(eng.part, x)
	if e := eng.of[x]; e != nil {
		r.ReleasedAt = objects.TimestampOf(e.due)
	}
	return r
}

// Text is the clause about an allocation for its explanation; empty: there is nothing to say.
func (r Run) Text() string {
	bound := time.Duration(r.MaxRunTime)
	switch {
	case r.Ending && bound > 0:
		return fmt.Sprintf("; it has run for longer than its bound of %v, and was asked to end", bound)
	case r.Ending:
		return "; it was asked to end"
	case bound == 0:
		return ""
	}
	text := fmt.Sprintf("; it may run for %v, until %s", bound, r.RunsUntil.Time().Format(time.RFC3339))
	if r.ReleasedAt.IsZero() {
		return text + ", which its queue does not enforce"
	}
	return text + ", and is released at " + r.ReleasedAt.Time().Format(time.RFC3339)
}
