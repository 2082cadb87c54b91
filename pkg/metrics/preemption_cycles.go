package metrics

import (
	"maps"
	"sync"
)

// maxCycles bounds the preemption cycles that are counted separately; others are counted under overflowLabel (OBS-66).
const maxCycles = 100

// cycleCounts counts how often each preemption cycle was detected. The zero value is ready for use.
type cycleCounts struct {
	mu     sync.Mutex
	counts map[string]uint64
}

func (c *cycleCounts) add(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, known := c.counts[name]; !known && len(c.counts) >= maxCycles {
		name = overflowLabel
	}
	if c.counts == nil {
		c.counts = map[string]uint64{}
	}
	c.counts[name]++
}

func (c *cycleCounts) snapshot() map[string]uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.counts)
}
