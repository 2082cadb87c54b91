package scheduler

import (
	"github.com/canopy-scheduler/canopy/pkg/preemption/victim"
)

// PreemptionSearchStats counts the work of victim searches. It is zero before the first search.
func (c *Core) PreemptionSearchStats() victim.SearchStats {
	if c.victimSearch == nil {
		return victim.SearchStats{}
	}
	return c.victimSearch.Stats()
}
