package metrics

import (
	"slices"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/lifecycle"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// stateLabels are the labels of the states of active applications.
var stateLabels = [...]string{
	lifecycle.New: "new", lifecycle.Accepted: "accepted", lifecycle.Running: "running", lifecycle.Resuming: "resuming",
	lifecycle.Failing: "failing", lifecycle.Completing: "completing",
}

const stateCount = len(stateLabels)

// queueWriter writes the values of the queues of a partition, and sums them up.
type queueWriter struct {
	partitionWriter
	ended          endedCounts
	totals         queueTotals
	at             time.Time // of the scrape
	bounded, names []string  // scratch, for one queue at a time
}

// queue writes the values of q after those of the queues below it, and returns what is being preempted in all of them.
func (w *queueWriter) queue(q *scheduler.QueueView) (preempting resources.Amounts) {
	for child := range q.Children.All() {
		preempting = preempting.Add(w.queue(child))
	}
	var states [stateCount]int
	for a := range q.Applications.All() {
		if int(a.State) < stateCount {
			states[a.State]++
			w.totals.states[a.State]++
		}
		if a.Raised > 0 {
			w.totals.raised++
		}
		for v := range a.Allocations.All() {
			w.totals.addAllocation(v)
			if v.Preempting {
				preempting = preempting.Add(v.Ask.Amounts)
			}
		}
	}
	if q.AboveMax != nil {
		w.totals.violatingQueues++
	}
	if q.Reduced {
		w.totals.reducedQueues++
	}
	if u := q.UsageOverTime; u != nil {
		w.value(usageOverTime, u.Share(w.at), string(q.Path))
	}
	if q.Leaf {
		w.applications(string(q.Path), &states)
	}
	w.resources(q, preempting)
	return preempting
}

// applications writes the numbers of applications of a leaf, which are in states.
func (w *queueWriter) applications(path string, states *[stateCount]int) {
	for state, word := range stateLabels {
		if word != "" {
			w.count(queueApplications, states[state], path, word)
		}
	}
	for how, n := range w.ended[path] {
		w.value(queueApplications, float64(n), path, endedLabels[how])
	}
}

// resources writes the bounds and the usage of q.
func (w *queueWriter) resources(q *scheduler.QueueView, preempting resources.Amounts) {
	path := string(q.Path)
	w.bounded = w.bounded[:0]
	for name, n := range q.Max.All() {
		w.bounded = append(w.bounded, name)
		w.value(queueResources, float64(n), path, "max", name)
	}
	for name, n := range q.Guaranteed.All() {
		w.bounded = append(w.bounded, name)
		w.value(queueResources, float64(n), path, "guaranteed", name)
	}
	w.usage(path, "allocated", q.Allocated)
	w.usage(path, "pending", q.Pending)
	w.usage(path, "preempting", preempting)
	if q.MaxApplications > 0 {
		w.value(queueResources, float64(q.MaxApplications), path, "maxRunningApps", "apps")
	}
}

// usage writes a usage. A usage of zero is written only for a resource with a bound.
func (w *queueWriter) usage(path, word string, used resources.Amounts) {
	w.names = append(w.names[:0], w.bounded...)
	for name := range used.All() {
		w.names = append(w.names, name)
	}
	slices.Sort(w.names)
	for _, name := range slices.Compact(w.names) {
		w.value(queueResources, float64(used.Get(name)), path, word, name)
	}
}
