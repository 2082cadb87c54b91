package metrics

import (
	"sync/atomic"

	"github.com/canopy-scheduler/canopy/pkg/lifecycle"
	"github.com/canopy-scheduler/canopy/pkg/preemption"
	"github.com/canopy-scheduler/canopy/pkg/preemption/victim"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// reasonLabels are the labels of the reasons of preemptions. A reason of the core without a label is
// counted under the last one.
var reasonLabels = [...]string{
	victim.ReasonRequiredNode: "node", victim.ReasonGuarantee: "guarantee",
	victim.ReasonFairShare: "fairshare", victim.ReasonPriority: "priority",
	victim.ReasonQuota: "quota", victim.ReasonNodePressure: "pressure", victim.ReasonOperator: "operator", "other",
}

// nominationEndLabels are the labels of the ends of nominations, like reasonLabels. The first is not an end.
var nominationEndLabels = [...]string{
	preemption.NominationWaiting: "", preemption.NominationPlaced: "placed", preemption.NominationLost: "lost",
	preemption.NominationNodeLost: "lost_node", preemption.NominationGivenUp: "given_up",
	preemption.NominationResized:   "resized",
	preemption.NominationCancelled: "cancelled", preemption.NominationUnknown: "unknown",
	preemption.NominationTimedOut: "timed_out", preemption.NominationMoved: "moved", "other",
}

// partitionCounters counts the effects of one partition. One goroutine at a time counts; any may read.
type partitionCounters struct {
	allocated, released, asksRejected   atomic.Uint64
	appsNew, appsAccepted, appsRejected atomic.Uint64
	appsCompleted, appsFailed           atomic.Uint64
	nodesRejected, nodesRemoved         atomic.Uint64
	commandsRejected, overdue           atomic.Uint64
	asksRefused, shapesRefused          atomic.Uint64
	preemptions, victims                [len(reasonLabels)]atomic.Uint64
	nominationsEnded                    [len(nominationEndLabels)]atomic.Uint64
	scrapesMissed                       atomic.Uint64
	ended                               boundedCounts[[endedStates]uint64] // applications by queue
	cycles                              boundedCounts[[1]uint64]
}

// count counts one effect. It is called for every placement, and does not allocate memory (OBS-62).
func (t *partitionCounters) count(e scheduler.Effect) {
	switch e := e.(type) {
	case scheduler.Allocated:
		t.allocated.Add(1)
	case scheduler.Released:
		t.released.Add(1)
	case scheduler.AskRejected:
		t.asksRejected.Add(1)
	case scheduler.ApplicationAccepted:
		t.appsNew.Add(1)
	case scheduler.ApplicationRejected:
		t.appsRejected.Add(1)
	case scheduler.ApplicationUpdated:
		t.countState(e)
	case scheduler.NodeRejected:
		if e.Unknown {
			t.commandsRejected.Add(1)
		} else {
			t.nodesRejected.Add(1)
		}
	case scheduler.NodeChanged:
		if e.Change == scheduler.NodeRemoved {
			t.nodesRemoved.Add(1)
		}
	case scheduler.Refused:
		t.commandsRejected.Add(1)
	case scheduler.Event:
		t.countEvent(&e)
	}
}

func (t *partitionCounters) countState(e scheduler.ApplicationUpdated) {
	switch e.State {
	case lifecycle.Accepted:
		t.appsAccepted.Add(1)
	case lifecycle.Completed:
		t.appsCompleted.Add(1)
		t.ended.add(maxEndedQueues, string(e.Queue), endedCompleted)
	case lifecycle.Failed:
		t.appsFailed.Add(1)
		t.ended.add(maxEndedQueues, string(e.Queue), endedFailed)
	}
}

// countEvent counts the events of preemption and refusals; other events are not counted.
func (t *partitionCounters) countEvent(e *scheduler.Event) {
	switch e.Kind {
	case scheduler.EventPreempted:
		increment(t.victims[:], int(e.Reason))
	case scheduler.EventOverdue:
		t.overdue.Add(1)
	case scheduler.EventNominated:
		if e.Victims == 0 {
			return // the nomination needs no victims of its own
		}
		increment(t.preemptions[:], int(e.Reason))
	case scheduler.EventNominationEnded:
		increment(t.nominationsEnded[:], int(e.NominationEnd))
	case scheduler.EventNodeRefused:
		if e.OfShape {
			t.shapesRefused.Add(1)
		} else {
			t.asksRefused.Add(1)
		}
	case scheduler.EventPreemptionCycle:
		t.cycles.add(maxCycles, e.Cycle.String(), 0)
	}
}

// increment counts under i, or under the last label if there is no label i.
func increment(counts []atomic.Uint64, i int) { counts[min(i, len(counts)-1)].Add(1) }
