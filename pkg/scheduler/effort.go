package scheduler

import "github.com/canopy-scheduler/canopy/pkg/preemption"

// PreemptionEffort is what looking for victims has taken until now, in counts. Nothing is
// counted before anybody has looked.
func (c *Core) PreemptionEffort() preemption.Effort {
	if c.victims == nil {
		return preemption.Effort{}
	}
	return c.victims.Effort()
}
