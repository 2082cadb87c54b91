package sim

import (
	"cmp"
	"context"
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// DemoReport is the result of a demo. It follows from the workload alone, and has no measured figures.
// Its JSON form is stable: other programs read it.
type DemoReport struct {
	Seed uint64 `json:"seed"`
	Totals
	Steps []DemoStep   `json:"steps"`
	Full  DemoSnapshot `json:"full"`
}

// DemoStep is one minute of a demo: allocations end, asks are submitted, and feasible asks are placed.
type DemoStep struct {
	Second    int64 `json:"second"`    // in virtual time, since the first wave
	Wave      int   `json:"wave"`      // from 1; 0: after the last wave
	Ended     int   `json:"ended"`     // allocations that ended at the start of the step
	Submitted int   `json:"submitted"` // asks of the wave
	Placed    int   `json:"placed"`    // asks of this wave or of earlier ones
	Running   int   `json:"running"`   // at the end of the step
	Waiting   int   `json:"waiting"`   // pending at the end of the step
}

// DemoSnapshot is the cluster at the end of the last wave, with pending asks.
type DemoSnapshot struct {
	DemoStep
	AllocatedResources Quantities  `json:"allocatedResources"`
	Queues             []QueueLine `json:"queues"` // parents before their children

	// TopPending explains the pending ask of the highest priority; nil: none is pending. The caller
	// adds its JSON form, that of REST.
	TopPending *scheduler.Explanation `json:"-"`
}

// recordFull records the state at the end of the last wave.
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

// highestPriorityPending is the pending ask with the highest priority, without offsets, then with the
// lowest key; empty: none is pending.
func (c *Client) highestPriorityPending() objects.AllocationKey {
	c.mu.Lock()
	defer c.mu.Unlock()
	work := slices.DeleteFunc(c.sortedAskStates(), func(t *askState) bool { return t.node != "" })
	if len(work) == 0 {
		return ""
	}
	return slices.MinFunc(work, func(a, b *askState) int { return cmp.Compare(b.Priority, a.Priority) }).Key
}
