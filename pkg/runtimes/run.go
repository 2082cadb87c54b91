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
	// its release is ordered, other than by preemption: it has run for too long, a reserved ask fits without it, or it is
	// a placeholder that is not needed
	Ending bool `json:"ending,omitempty"`
	// it uses what its node holds for reservations, and is released when a reserved ask fits without it (RES-16)
	Backfilled bool `json:"backfilled,omitempty"`
}

// RunOf returns how long x may run, without ReleasedAt.
func RunOf(p *objects.Partition, x *objects.Allocation) (r Run) {
	bound := Bound(x)
	r.MaxRunTime = bound.Nanoseconds()
	if !x.Pending() {
		r.Ending, r.Backfilled = objects.Ending(p, x), objects.Backfilled(p, x)
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
	text := ""
	if bound := time.Duration(r.MaxRunTime); bound > 0 {
		text = fmt.Sprintf("; it may run for %v, until %s", bound, r.RunsUntil.Time().Format(time.RFC3339))
	}
	switch {
	case r.Ending && text == "":
		return "; it was asked to end"
	case text == "":
		return ""
	case r.Ending:
		text += ", and was asked to end"
	case r.ReleasedAt.IsZero():
		text += ", which its queue does not enforce"
	default:
		text += ", and is released at " + r.ReleasedAt.Time().Format(time.RFC3339)
	}
	if r.Backfilled && !r.Ending {
		text += ", or when an ask that has reserved the node fits without it"
	}
	return text
}
