package scheduler

import "github.com/canopy-scheduler/canopy/pkg/preemption"

// PreemptionSearchStats counts the work of victim searches. It is zero before the first search.
func (c *Core) PreemptionSearchStats() preemption.SearchStats {
	if c.victimSearch == nil {
		return preemption.SearchStats{}
	}
	return c.victimSearch.Stats()
}
