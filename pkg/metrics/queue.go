package metrics

import (
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// stateLabels are the labels of the states of active applications.
var stateLabels = [...]string{
	objects.New: "new", objects.Accepted: "accepted", objects.Running: "running", objects.Resuming: "resuming",
	objects.Failing: "failing", objects.Completing: "completing",
}

const stateCount = len(stateLabels)

// queueWriter writes values of queues.
type queueWriter struct {
	partitionWriter
	ended map[objects.QueuePath][endedStates]uint64
}

// queue writes the values of q and all queues below, and returns the sums over them.
func (v queueWriter) queue(q *scheduler.QueueView) (totals queueTotals) {
	for child := range q.Children.All() {
		below := v.queue(child)
		totals.add(&below)
	}
	for a := range q.Applications.All() {
		if int(a.State) < stateCount {
			totals.states[a.State]++
		}
		for w := range a.Allocations.All() {
			totals.addAllocation(w)
		}
	}
	if q.AboveMax != nil {
		totals.violatingQueues++
	}
	if q.Leaf {
		v.applications(string(q.Path), &totals)
	}
	v.resources(q, totals.preemptingResources)
	return totals
}

func (v queueWriter) applications(path string, s *queueTotals) {
	for state, word := range stateLabels {
		if word != "" {
			v.count(queueApplications, s.states[state], path, word)
		}
	}
	for how, n := range v.ended[objects.QueuePath(path)] {
		v.value(queueApplications, float64(n), path, endedLabels[how])
	}
}

// resources writes the bounds and the usage of q. A usage of zero is written only for a resource with a
// bound.
func (v queueWriter) resources(q *scheduler.QueueView, preempting resources.Amounts) {
	path := string(q.Path)
	var bounded []string
	for name, n := range q.Max.All() {
		bounded = append(bounded, name)
		v.value(queueResources, float64(n), path, "max", name)
	}
	for name, n := range q.Guaranteed.All() {
		bounded = append(bounded, name)
		v.value(queueResources, float64(n), path, "guaranteed", name)
	}
	for _, use := range []struct {
		word string
		of   resources.Amounts
	}{{"allocated", q.Allocated}, {"pending", q.Pending}, {"preempting", preempting}} {
		names := append([]string(nil), bounded...)
		for name := range use.of.All() {
			names = append(names, name)
		}
		slices.Sort(names)
		for _, name := range slices.Compact(names) {
			v.value(queueResources, float64(use.of.Get(name)), path, use.word, name)
		}
	}
	if q.MaxApplications > 0 {
		v.value(queueResources, float64(q.MaxApplications), path, "maxRunningApps", "apps")
	}
}
