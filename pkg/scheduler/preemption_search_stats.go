package scheduler

import "github.com/canopy-scheduler/canopy/pkg/preemption"

// PreemptionSearchStats is what looking for victims has taken until now, in counts. Nothing is
// counted before anybody has looked.
func (c *Core) PreemptionSearchStats() preemption.SearchStats {
	if c.victimSearch == nil {
		return preemption.SearchStats{}
	}
	return c.victimSearch.Stats()
}
