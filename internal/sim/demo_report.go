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
	Steps []DemoStep   `json:"steps"`
	Full  DemoSnapshot `json:"full"`
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

// DemoSnapshot is the cluster at the end of the last wave, when more is wanted than there is.
type DemoSnapshot struct {
	DemoStep
	AllocatedResources Quantities  `json:"allocatedResources"`
	Queues             []QueueLine `json:"queues"` // a queue comes before those below it

	// TopPending is the most important ask that waits, and why. nil: none does. Its JSON form is up to
	// the caller: that of REST.
	TopPending *scheduler.Explanation `json:"-"`
}

// recordFull notes what there is at the end of the last wave.
func (d *Demo) recordFull(ctx context.Context) error {
	snap, err := d.Server.Snapshot(ctx)
	if err != nil {
		return err
	}
	m := &d.report.Full
	m.DemoStep = d.report.Steps[len(d.report.Steps)-1]
	m.Queues, m.AllocatedResources = QueueLines(snap), d.Client.Totals().AllocatedResources
	if key := d.Client.highestPriorityPending(); key != "" {
		m.TopPending, err = d.Server.Explain(ctx, key)
	}
	return err
}

// highestPriorityPending is the pending ask with the highest priority of its own, the first by
// key where several have it; empty: none is pending.
func (c *Client) highestPriorityPending() objects.AllocationKey {
	c.mu.Lock()
	defer c.mu.Unlock()
	work := slices.DeleteFunc(c.sortedAskStates(), func(t *askState) bool { return t.node != "" })
	if len(work) == 0 {
		return ""
	}
	return slices.MinFunc(work, func(a, b *askState) int { return cmp.Compare(b.Priority, a.Priority) }).Key
}
