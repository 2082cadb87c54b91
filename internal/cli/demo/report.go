package demo

import (
	"time"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// Report is the result of Run. Its JSON form follows from the workload alone, and is stable: other programs read it.
type Report struct {
	Seed uint64 `json:"seed"`
	Totals
	Steps []Step        `json:"steps"`
	Full  FullCluster   `json:"full"`
	Took  time.Duration `json:"-"` // real time that the scheduler has used
}

// Totals are the figures of a run that follow from the decisions alone. Quantities are in the smallest unit.
type Totals struct {
	Nodes              int        `json:"nodes"`
	Applications       int        `json:"applications"`
	Asks               int        `json:"asks"`
	Allocated          int        `json:"allocated"` // all allocations, also those that have ended
	Preempted          int        `json:"preempted"` // all victims
	Released           int        `json:"released"`
	Pending            int        `json:"pending"` // at the end
	Rejected           int        `json:"rejected"`
	AllocatedResources Quantities `json:"allocatedResources"` // at the end
}

// Quantities are amounts by resource name; never nil.
type Quantities map[string]resources.Quantity

// Step is one minute of a demo: allocations end, asks are submitted, and feasible asks are placed.
type Step struct {
	Second    int64 `json:"second"`    // in virtual time, since the first wave
	Wave      int   `json:"wave"`      // from 1; 0: after the last wave
	Ended     int   `json:"ended"`     // allocations that ended at the start of the step
	Submitted int   `json:"submitted"` // asks of the wave
	Placed    int   `json:"placed"`    // asks of this wave or of earlier ones
	Running   int   `json:"running"`   // at the end of the step
	Waiting   int   `json:"waiting"`   // pending at the end of the step
}

// FullCluster is the cluster at the end of the last wave, with pending asks.
type FullCluster struct {
	Step
	AllocatedResources Quantities  `json:"allocatedResources"`
	Queues             []QueueLine `json:"queues"` // parents before their children

	// TopPending explains the pending ask of the highest priority; nil: none is pending. The caller
	// adds its JSON form, that of REST.
	TopPending *scheduler.Explanation `json:"-"`
}

// QueueLine is a queue at the end of a run.
type QueueLine struct {
	Path            objects.QueuePath `json:"path"`
	CurrentPriority int32             `json:"currentPriority"`
	Allocated       Quantities        `json:"allocated"`
	Pending         Quantities        `json:"pending"`
	Guaranteed      Quantities        `json:"guaranteed"`
	Max             Quantities        `json:"max"` // of root: the capacity of the cluster
}

// QueueLines returns the queues of a snapshot.
func QueueLines(s *scheduler.Snapshot) []QueueLine { return queueLinesBelow(s.Root) }

func queueLinesBelow(q *scheduler.QueueView) []QueueLine {
	lines := []QueueLine{{
		Path: q.Path, CurrentPriority: q.Priority.Number(), Allocated: q.Allocated.Map(), Pending: q.Pending.Map(),
		Guaranteed: q.Guaranteed.Map(), Max: q.Max.Map(),
	}}
	for child := range q.Children.All() {
		lines = append(lines, queueLinesBelow(child)...)
	}
	return lines
}
