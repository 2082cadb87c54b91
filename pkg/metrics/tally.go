package metrics

import (
	"sync/atomic"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/preemption"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// rightWords are the rights as labels. What the core has more than there are words here is
// counted under the last.
var rightWords = [...]string{
	preemption.OfNode: "node", preemption.OfGuarantee: "guarantee", preemption.OfPriority: "priority",
	preemption.OfQuota: "quota", preemption.OfPressure: "pressure", "other",
}

// endWords are the ends of nominations as labels, like rightWords. The first is no end.
var endWords = [...]string{
	scheduler.NominationWaits: "", scheduler.NominationKept: "placed", scheduler.NominationLost: "lost",
	scheduler.NominationLeftNode: "lost_node", scheduler.NominationGivenUp: "given_up", scheduler.NominationResized: "resized",
	scheduler.NominationCancelled: "cancelled", scheduler.NominationUnknown: "unknown", scheduler.NominationTimedOut: "timed_out", "other",
}

// tally counts what one partition has said. One goroutine at a time adds; anybody may read.
type tally struct {
	allocated, released, asksRejected   atomic.Uint64
	appsNew, appsAccepted, appsRejected atomic.Uint64
	appsCompleted, appsFailed           atomic.Uint64
	nodesRejected, refused, overdue     atomic.Uint64
	preemptions, victims                [len(rightWords)]atomic.Uint64
	nominationsEnded                    [len(endWords)]atomic.Uint64
	scrapesMissed                       atomic.Uint64
	ended                               endings
	churned                             circles
}

// hear counts one effect. It is called for every placement: it makes no garbage.
func (t *tally) hear(e scheduler.Effect) {
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
		t.entered(e)
	case scheduler.NodeRejected:
		t.nodesRejected.Add(1)
	case scheduler.Refused:
		t.refused.Add(1)
	case scheduler.Noted:
		t.noted(&e)
	}
}

func (t *tally) entered(e scheduler.ApplicationUpdated) {
	switch e.State {
	case objects.Accepted:
		t.appsAccepted.Add(1)
	case objects.Completed:
		t.appsCompleted.Add(1)
		t.ended.add(e.Queue, hasCompleted)
	case objects.Failed:
		t.appsFailed.Add(1)
		t.ended.add(e.Queue, hasFailed)
	}
}

// noted counts what preemption says. A notice that is not counted here is none of ours.
func (t *tally) noted(e *scheduler.Noted) {
	switch e.What {
	case scheduler.NotePreempted:
		bump(t.victims[:], int(e.Right))
	case scheduler.NoteOverdue:
		t.overdue.Add(1)
	case scheduler.NoteNominated:
		if e.Victims == 0 {
			return // it waits for those who were told for others
		}
		bump(t.preemptions[:], int(e.Right))
	case scheduler.NoteNominationEnded:
		bump(t.nominationsEnded[:], int(e.End))
	case scheduler.NoteChurn:
		t.churned.add(e.Cycle.String())
	}
}

// bump counts under i, or under the last when there is no such.
func bump(counts []atomic.Uint64, i int) { counts[min(i, len(counts)-1)].Add(1) }
