package metrics

import (
	"time"

	"github.com/canopy-scheduler/canopy/pkg/lifecycle"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// writePartition writes the gauges of a partition as a whole.
func writePartition(to partitionWriter, s *scheduler.Snapshot) {
	to.count(asksPending, s.Asks)
	to.count(allocations, s.Allocations)
	to.count(orphaned, s.Orphaned)
	writeBackedOff(to, s.Refused, "refused")
	writeBackedOff(to, s.NoVictims, "no-victims")
	to.value(unknownConfirmations, float64(s.UnknownConfirmations))
	to.value(overruns, float64(s.Overruns))
	to.value(backfilled, float64(s.Backfill.Placed))
	to.value(backfillReleases, float64(s.Backfill.Released))
	for _, p := range s.CoolDowns {
		to.count(coolDowns, 1, string(p.A), string(p.B))
	}
	active, above := 0, 0
	for n := range s.Nodes.All() {
		if n.Schedulable {
			active++
		}
		if n.Available.HasNegative() {
			above++
		}
	}
	to.count(nodesOvercommitted, above)
	to.count(nodes, active, "active")
	to.count(nodes, s.Nodes.Len()-active, "draining")
}

func writeBackedOff(to partitionWriter, b scheduler.BackedOff, reason string) {
	to.count(backedOff, b.Count, reason)
	if !b.Until.IsZero() {
		to.value(backedOffUntil, float64(b.Until.UnixMilli())/1000, reason)
	}
}

// queueTotals are sums over the queues of a partition.
type queueTotals struct {
	states          [stateCount]int // applications by state
	nominatedAsks   int             // nominated pending asks
	unconfirmed     int             // preempted allocations that are not confirmed
	overdue         int             // of these
	firstMarkedAt   time.Time       // the earliest preemption of these; zero: there is none
	violatingQueues int             // queues above an enforced max
	reducedQueues   int             // queues whose guarantee is scaled down
	raised          int             // applications that waiting has raised
}

func (s *queueTotals) addAllocation(w *scheduler.AllocationView) {
	if w.Nominated != "" {
		s.nominatedAsks++
	}
	if !w.Preempting {
		return
	}
	s.unconfirmed++
	if at := w.PreemptedAt; !at.IsZero() && (s.firstMarkedAt.IsZero() || at.Before(s.firstMarkedAt)) {
		s.firstMarkedAt = at
	}
	if w.Overdue {
		s.overdue++
	}
}

// writeTotals writes the sums over all queues. at is the time of the scrape; the snapshot may be older
// if nothing has changed since.
func writeTotals(to partitionWriter, s *queueTotals, at time.Time) {
	for _, state := range []lifecycle.State{lifecycle.Running, lifecycle.Resuming, lifecycle.Failing,
		lifecycle.Completing} {
		to.count(applications, s.states[state], stateLabels[state])
	}
	to.count(nominations, s.nominatedAsks)
	to.count(unconfirmed, s.unconfirmed)
	to.count(overdue, s.overdue)
	to.count(queuesViolatingQuota, s.violatingQueues)
	to.count(queuesReduced, s.reducedQueues)
	to.count(raisedApplications, s.raised)
	age := time.Duration(0)
	if !s.firstMarkedAt.IsZero() {
		age = max(0, at.Sub(s.firstMarkedAt))
	}
	to.value(oldestUnconfirmed, age.Seconds())
}
