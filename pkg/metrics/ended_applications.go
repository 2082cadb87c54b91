package metrics

import (
	"sync"

	"github.com/canopy-scheduler/canopy/pkg/objects"
)

// How an application ends in a queue. One that was refused was in none.
const (
	endedCompleted = iota
	endedFailed
	endedStates
)

var endedLabels = [endedStates]string{endedCompleted: "completed", endedFailed: "failed"}

// maxEndedQueues is for how many queues endings are told apart. Dynamic queues may come and go
// for ever, each with another name; what ends in yet another one is counted under overflowLabel.
const (
	maxEndedQueues = 10_000
	overflowLabel  = "(more)" // no queue has such a name
)

// endedApplications counts the applications that ended, by queue. A queue that is gone keeps its count:
// it often goes with its last application, and nobody would have seen that one. The zero value
// is ready for use.
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

// snapshot copies what was counted.
func (e *endedApplications) snapshot() map[objects.QueuePath][endedStates]uint64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	out := make(map[objects.QueuePath][endedStates]uint64, len(e.counts))
	for queue, counts := range e.counts {
		out[queue] = *counts
	}
	return out
}
