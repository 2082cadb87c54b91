package metrics

import (
	"sync"

	"github.com/canopy-scheduler/canopy/pkg/objects"
)

// How an application ends in a queue. One that was refused was in none.
const (
	hasCompleted = iota
	hasFailed
	endingsOfQueues
)

var endingWords = [endingsOfQueues]string{hasCompleted: "completed", hasFailed: "failed"}

// mostQueues is for how many queues endings are told apart. Dynamic queues may come and go
// for ever, each with another name; what ends in yet another one is counted under moreQueues.
const (
	mostQueues = 10_000
	moreQueues = "(more)" // no queue has such a name
)

// endings counts the applications that ended, by queue. A queue that is gone keeps its count:
// it often goes with its last application, and nobody would have seen that one. The zero value
// is ready for use.
type endings struct {
	mu sync.Mutex
	of map[objects.QueuePath]*[endingsOfQueues]uint64
}

func (e *endings) add(queue objects.QueuePath, how int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	counts := e.of[queue]
	if counts == nil && len(e.of) >= mostQueues {
		queue = moreQueues
		counts = e.of[queue]
	}
	if counts == nil {
		if e.of == nil {
			e.of = map[objects.QueuePath]*[endingsOfQueues]uint64{}
		}
		counts = new([endingsOfQueues]uint64)
		e.of[queue] = counts
	}
	counts[how]++
}

// all copies what was counted.
func (e *endings) all() map[objects.QueuePath][endingsOfQueues]uint64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	out := make(map[objects.QueuePath][endingsOfQueues]uint64, len(e.of))
	for queue, counts := range e.of {
		out[queue] = *counts
	}
	return out
}
