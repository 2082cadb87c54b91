package metrics

import (
	"sync"

	"github.com/canopy-scheduler/canopy/pkg/objects"
)

// How an application ends in a queue. A rejected application was in no queue.
const (
	endedCompleted = iota
	endedFailed
	endedStates
)

var endedLabels = [endedStates]string{endedCompleted: "completed", endedFailed: "failed"}

// maxEndedQueues bounds the queues that are counted separately (OBS-66). Dynamic queues may be created
// without end under new names; applications of further queues are counted under overflowLabel.
const (
	maxEndedQueues = 10_000
	overflowLabel  = "(more)" // no queue has such a name
)

// endedApplications counts ended applications by queue. A removed queue keeps its count: a queue is often
// removed with its last application, which no scrape would show otherwise. The zero value is ready for use.
type endedApplications struct {
	mu     sync.Mutex
	counts map[objects.QueuePath]*[endedStates]uint64
}

func (e *endedApplications) add(queue objects.QueuePath, how int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	counts := e.counts[queue]
	if counts == nil && len(e.counts) >= maxEndedQueues {
		queue = overflowLabel
		counts = e.counts[queue]
	}
	if counts == nil {
		if e.counts == nil {
			e.counts = map[objects.QueuePath]*[endedStates]uint64{}
		}
		counts = new([endedStates]uint64)
		e.counts[queue] = counts
	}
	counts[how]++
}

// endedCounts are numbers of ended applications by queue.
type endedCounts map[objects.QueuePath][endedStates]uint64

// snapshot copies the counts.
func (e *endedApplications) snapshot() endedCounts {
	e.mu.Lock()
	defer e.mu.Unlock()
	out := make(endedCounts, len(e.counts))
	for queue, counts := range e.counts {
		out[queue] = *counts
	}
	return out
}
