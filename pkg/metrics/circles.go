package metrics

import (
	"maps"
	"sync"
)

// mostCircles is how many circles of leaves are told apart; others are counted under
// moreQueues. Whoever has a hundred of them does not look at one after the other.
const mostCircles = 100

// circles counts how often each circle of leaves was named. The zero value is ready for use.
type circles struct {
	mu sync.Mutex
	of map[string]uint64
}

func (c *circles) add(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, known := c.of[name]; !known && len(c.of) >= mostCircles {
		name = moreQueues
	}
	if c.of == nil {
		c.of = map[string]uint64{}
	}
	c.of[name]++
}

func (c *circles) all() map[string]uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.of)
}
