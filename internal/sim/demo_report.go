package sim

import (
	"cmp"
	"context"
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// DemoReport is what came of a demo. All of it follows from the workload: there is nothing in
// it that was measured. Its JSON form is for other programs, so names stay.
type DemoReport struct {
	Seed uint64 `json:"seed"`
	Totals
	Steps []DemoStep `json:"steps"`
	Full  DemoMoment `json:"full"`
}

// DemoStep is one minute of a demo: work ends, asks come, and what can be placed is.
type DemoStep struct {
	Second    int64 `json:"second"`    // in the cluster, since the first wave
	Wave      int   `json:"wave"`      // from 1; 0: no asks come any more
	Ended     int   `json:"ended"`     // allocations that ended first
	Submitted int   `json:"submitted"` // asks that came
	Placed    int   `json:"placed"`    // of these and of those that waited
	Running   int   `json:"running"`   // then
	Waiting   int   `json:"waiting"`   // then
}

// DemoMoment is the cluster at the end of the last wave, when more is wanted than there is.
type DemoMoment struct {
	DemoStep
	AllocatedResources Quantities  `json:"allocatedResources"`
	Queues             []QueueLine `json:"queues"` // a queue comes before those below it

	// Waits is the most important ask that waits, and why. nil: none does. Its JSON form is up to
	// the caller: that of REST.
	Waits *scheduler.Explanation `json:"-"`
}

// lookAround notes what there is at the end of the last wave.
func (d *Demo) lookAround(ctx context.Context) error {
	snap, err := d.Server.Snapshot(ctx)
	if err != nil {
		return err
	}
	m := &d.report.Full
	m.DemoStep = d.report.Steps[len(d.report.Steps)-1]
	m.Queues, m.AllocatedResources = Lines(snap), d.Client.Totals().AllocatedResources
	if key := d.Client.mostImportantWaiting(); key != "" {
		m.Waits, err = d.Server.Explain(ctx, key)
	}
	return err
}

// mostImportantWaiting is the pending ask with the highest priority of its own, the first by
// key where several have it; empty: none is pending.
func (c *Client) mostImportantWaiting() objects.AllocationKey {
	c.mu.Lock()
	defer c.mu.Unlock()
	work := slices.DeleteFunc(c.sortedWork(), func(t *task) bool { return t.node != "" })
	if len(work) == 0 {
		return ""
	}
	return slices.MinFunc(work, func(a, b *task) int { return cmp.Compare(b.Priority, a.Priority) }).Key
}
