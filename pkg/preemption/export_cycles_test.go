package preemption

import "time"

// DropOldTransfers drops old transfers now, without waiting until enough have accumulated.
func DropOldTransfers(c *CycleDetector, now time.Time) {
	c.dropOldAt = 0
	c.dropOldTransfers(now)
}

// TrackedTransfers returns how many entries c keeps.
func TrackedTransfers(c *CycleDetector) int { return len(c.transfers) + len(c.lastGain) }
