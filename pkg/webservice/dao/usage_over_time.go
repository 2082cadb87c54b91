package dao

import (
	"time"

	"github.com/canopy-scheduler/canopy/pkg/fairness"
)

// UsageOverTime is ours: what a queue, or an application or its user, has used over time, by which the one above orders
// (FAI-4).
type UsageOverTime struct {
	Share    float64 `json:"share"`    // of the cluster on average; what was used a half-life ago counts for half
	Held     float64 `json:"held"`     // of the cluster, now
	Weight   float64 `json:"weight"`   // both are divided by it
	Key      float64 `json:"key"`      // what is compared; the smaller one goes first
	HalfLife string  `json:"halfLife"` // a duration
}

// NewUsageOverTime shows u as of a time; nil if it is nil.
func NewUsageOverTime(u *fairness.Usage, at time.Time) *UsageOverTime {
	if u == nil {
		return nil
	}
	return &UsageOverTime{u.Share(at), u.Held(), u.Weight(), u.Key(at), u.HalfLife.String()}
}
