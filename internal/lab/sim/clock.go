package sim

import (
	"sync"
	"time"
)

// Clock is a clock that only Set advances: the virtual time of a replay.
type Clock struct {
	mu  sync.Mutex
	now time.Time
}

// NewClock returns a clock at second 0 of a trace.
func NewClock() *Clock { return &Clock{now: epoch} }

// Now returns the time of the clock.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Set advances the clock to t; an earlier t has no effect.
func (c *Clock) Set(t time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if t.After(c.now) {
		c.now = t
	}
}
