package metrics

import "sync"

// How an application ends in a queue. A rejected application was in no queue.
const (
	endedCompleted = iota
	endedFailed
	endedStates
)

var endedLabels = [endedStates]string{endedCompleted: "completed", endedFailed: "failed"}

// endedCounts are numbers of ended applications by queue.
type endedCounts = map[string][endedStates]uint64

// Bounds of the names that are counted separately (OBS-66). Dynamic queues may be created without end under new names,
// and preemption cycles with them; further names are counted under overflowLabel.
const (
	maxEndedQueues = 10_000
	maxCycles      = 100
	overflowLabel  = "(more)" // no queue or cycle has such a name
)

// boundedCounts counts by name and kind. A name is kept forever: a queue is often removed with its last application,
// which no scrape would show otherwise. The zero value is ready for use.
type boundedCounts[C [1]uint64 | [endedStates]uint64] struct {
	mu     sync.Mutex
	counts map[string]*C
}

// add counts under name, or under overflowLabel if there are maxNames others already.
func (b *boundedCounts[C]) add(maxNames int, name string, kind int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.counts == nil {
		b.counts = map[string]*C{}
	}
	if b.counts[name] == nil && len(b.counts) >= maxNames {
		name = overflowLabel
	}
	if b.counts[name] == nil {
		b.counts[name] = new(C)
	}
	(*b.counts[name])[kind]++
}

// snapshot copies the counts.
func (b *boundedCounts[C]) snapshot() map[string]C {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := make(map[string]C, len(b.counts))
	for name, counts := range b.counts {
		out[name] = *counts
	}
	return out
}
