package metrics

import (
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/lifecycle"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// stateLabels are the labels of the states of active applications.
var stateLabels = [...]string{
	lifecycle.New: "new", lifecycle.Accepted: "accepted", lifecycle.Running: "running", lifecycle.Resuming: "resuming",
	lifecycle.Failing: "failing", lifecycle.Completing: "completing",
}

const stateCount = len(stateLabels)

// addQueue adds what is in q itself.
func (s *queueTotals) addQueue(q *scheduler.QueueView) {
	for a := range q.Applications.All() {
		if int(a.State) < stateCount {
			s.states[a.State]++
		}
		for w := range a.Allocations.All() {
			s.addAllocation(w)
		}
	}
	if q.AboveMax != nil {
		s.violatingQueues++
	}
}

func (w *queueWriter) value(f *family, n float64, path string, labelValues ...string) {
	var buffer [4]string
	w.text = f.appendValue(w.text, n, append(append(buffer[:0], w.partition, path), labelValues...)...)
}

func (w *queueWriter) applications(path string, s *queueTotals) {
	for state, word := range stateLabels {
		if word != "" {
			w.value(queueApplications, float64(s.states[state]), path, word)
		}
	}
	for how, n := range w.ended[objects.QueuePath(path)] {
		w.value(queueApplications, float64(n), path, endedLabels[how])
	}
}

// resources writes the bounds and the usage of q.
func (w *queueWriter) resources(q *scheduler.QueueView, s *queueTotals) {
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
	w.usage(path, "preempting", s.preemptingResources)
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
