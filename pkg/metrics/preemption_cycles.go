package metrics

import (
	"maps"
	"sync"
)

// maxCycles is how many circles of leaves are told apart; others are counted under
// overflowLabel. Whoever has a hundred of them does not look at one after the other.
const maxCycles = 100

// cycleCounts counts how often each circle of leaves was named. The zero value is ready for use.
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
