package scheduler

import (
	"time"

	"github.com/canopy-scheduler/canopy/pkg/fairness"
)

// UsageOverTime returns the usage over time as of now, by queue and name: what ResetPartition keeps, and RestoreUsage
// takes (FAI-7).
func (c *Core) UsageOverTime(now time.Time) []fairness.Kept { return c.fairness.Kept(now) }
