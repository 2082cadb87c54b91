package dao

import (
	"math"
	"time"

	"github.com/canopy-scheduler/canopy/internal/server/usage"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// UsageWindow is the usage of queues, users or groups over a window of time.
type UsageWindow struct {
	Partition      string  `json:"partition"`
	By             string  `json:"by"` // queue, user or group
	Since          string  `json:"since"`
	Until          string  `json:"until"`
	Step           string  `json:"step,omitempty"` // length of the intervals of points
	WindowSeconds  float64 `json:"windowSeconds"`
	CoveredSeconds float64 `json:"coveredSeconds"` // of the window: for the rest nothing is known
	// further queues, users or groups that had less than those of series
	Omitted int           `json:"omitted,omitempty"`
	Series  []UsageSeries `json:"series"`
}

// UsageSeries is the usage of one queue, user or group. Sums are quantities times seconds, over the covered time.
type UsageSeries struct {
	Name              string     `json:"name"`
	AllocatedSeconds  Quantities `json:"allocatedSeconds"`
	OwedSeconds       Quantities `json:"owedSeconds,omitempty"` // of queues, like the next two
	GuaranteedSeconds Quantities `json:"guaranteedSeconds,omitempty"`
	// the least of allocated/owed over all resources, 1 at most; absent: nothing was owed
	Fairness          *float64     `json:"fairness,omitempty"`
	PendingSeconds    Quantities   `json:"pendingSeconds,omitempty"`
	PendingAskSeconds int64        `json:"pendingAskSeconds"`
	RunningSeconds    int64        `json:"runningSeconds"` // applications
	Points            []UsagePoint `json:"points,omitempty"`
}

// UsagePoint has the means of one interval over its covered time.
type UsagePoint struct {
	At             string     `json:"at"`
	CoveredSeconds float64    `json:"coveredSeconds"` // 0: nothing is known, and the means are absent
	Allocated      Quantities `json:"allocated,omitempty"`
	Owed           Quantities `json:"owed,omitempty"`
	Guaranteed     Quantities `json:"guaranteed,omitempty"`
	Pending        Quantities `json:"pending,omitempty"`
	PendingAsks    float64    `json:"pendingAsks"`
	Running        float64    `json:"running"`
}

// NewUsageSeries shows the total of x; its points begin at since, and are step apart.
func NewUsageSeries(x *usage.Series, since time.Time, step time.Duration) UsageSeries {
	t := &x.Total
	v := UsageSeries{
		Name: x.Name, AllocatedSeconds: rounded(t.Allocated, 1), OwedSeconds: rounded(t.Owed, 1),
		GuaranteedSeconds: rounded(t.Guaranteed, 1), PendingSeconds: rounded(t.Pending, 1),
		PendingAskSeconds: usage.Rounded(t.PendingAsks), RunningSeconds: usage.Rounded(t.Running),
		Fairness: fairnessOf(&t.Values),
	}
	for i := range x.Points {
		p := &x.Points[i]
		one := UsagePoint{At: TimeText(since.Add(time.Duration(i) * step)), CoveredSeconds: p.Covered}
		if p.Covered > 0 {
			f := 1 / p.Covered
			one.Allocated, one.Owed, one.Guaranteed = rounded(p.Allocated, f), rounded(p.Owed, f), rounded(p.Guaranteed, f)
			one.Pending, one.PendingAsks, one.Running = rounded(p.Pending, f), hundredths(p.PendingAsks*f),
				hundredths(p.Values.Running*f)
		}
		v.Points = append(v.Points, one)
	}
	return v
}

// fairnessOf is allocated/owed; nil: nothing is owed.
func fairnessOf(v *usage.Values) *float64 {
	f, ok := v.Fairness()
	if !ok {
		return nil
	}
	f = math.Round(f*1e4) / 1e4
	return &f
}

func hundredths(n float64) float64 { return math.Round(n*100) / 100 }

// rounded are amounts, f times, as whole numbers.
func rounded(a usage.Amounts, f float64) Quantities {
	m := make(Quantities, len(a))
	for name, n := range a {
		m[name] = usage.Rounded(n * f)
	}
	return m
}

// FairnessNow is allocated/owed; nil: nothing is owed.
func FairnessNow(allocated, owed resources.Amounts) *float64 {
	v := usage.Values{Allocated: usage.AmountsOf(allocated), Owed: usage.AmountsOf(owed)}
	return fairnessOf(&v)
}

// QueueFairness has what a queue has and is owed now.
type QueueFairness struct {
	QueueName   string     `json:"queuename"`
	IsLeaf      bool       `json:"isLeaf"`
	Status      string     `json:"status"` // Active or Draining
	Allocated   Quantities `json:"allocated"`
	Owed        Quantities `json:"owed"`
	Fairness    *float64   `json:"fairness,omitempty"` // as in UsageSeries
	Guaranteed  Quantities `json:"guaranteed,omitempty"`
	Max         Quantities `json:"max,omitempty"`
	Pending     Quantities `json:"pending,omitempty"`
	PendingAsks int        `json:"pendingAsks"`
	RunningApps int        `json:"runningApps"`
	// when it was made, in nanoseconds since 1970; absent: none is pending
	OldestAsk   int64   `json:"oldestPendingAsk,omitempty"`
	WaitSeconds float64 `json:"longestWaitSeconds"` // of that ask until now
	Starved     bool    `json:"starved"`            // see USG-5
	// absent: the parent does not order by it
	UsageOverTime *UsageOverTime `json:"usageOverTime,omitempty"`
}
