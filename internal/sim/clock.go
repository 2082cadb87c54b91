package sim

import (
	"sync"
	"time"
)

// Clock is a clock that stands still until it is moved: the time of a replay.
type Clock struct {
	mu  sync.Mutex
	now time.Time
}

// NewClock returns a clock that shows second 0 of every trace.
func NewClock() *Clock { return &Clock{now: epoch} }

// Now is what the clock shows.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Set moves the clock to t, unless that is in its past.
func (c *Clock) Set(t time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if t.After(c.now) {
		c.now = t
	}
}
