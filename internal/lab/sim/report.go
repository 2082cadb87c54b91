package sim

import (
	"math"
	"slices"
	"time"

	"github.com/canopy-scheduler/canopy/internal/cli/demo"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// Report is the result of a run. Its JSON form is flat.
type Report struct {
	demo.Totals
	Timing
	Queues []demo.QueueLine `json:"queues"` // parents before their children
}

// Timing are the measured figures of a run.
type Timing struct {
	WallSeconds          float64 `json:"wallSeconds"`
	AllocationsPerSecond float64 `json:"allocationsPerSecond"`
	LatencyMillis        Latency `json:"latencyMillis"`
}

// Latency has percentiles in milliseconds, such as of the time from sending an ask to receiving its allocation.
type Latency struct {
	P50 float64 `json:"p50"`
	P95 float64 `json:"p95"`
	P99 float64 `json:"p99"`
}

// Report has the figures from the registration to the last answer. The caller adds the queues.
func (c *Client) Report() Report { return Report{Totals: c.Totals(), Timing: c.Timing()} }

// Totals counts the messages since the registration.
func (c *Client) Totals() demo.Totals {
	n := c.Counts()
	c.mu.Lock()
	defer c.mu.Unlock()
	r := demo.Totals{
		Nodes: n.Nodes, Applications: n.Applications, Asks: n.Asks,
		Allocated: n.Allocated, Preempted: n.Preempted, Released: n.Released, Rejected: n.Rejected,
	}
	var allocated resources.Amounts
	for _, t := range c.sortedAskStates() {
		if t.node == "" {
			r.Pending++
			continue
		}
		allocated = allocated.Add(t.Amounts)
	}
	r.AllocatedResources = allocated.Map()
	return r
}

// Timing measures from the accepted registration to the last answer, without excluded time.
func (c *Client) Timing() Timing {
	c.mu.Lock()
	defer c.mu.Unlock()
	seconds := (c.lastAnswer.Sub(c.started) - c.excluded).Seconds()
	return Timing{rounded(seconds), rounded(float64(c.counts.Allocated) / seconds), LatencyOf(c.delays)}
}

// LatencyOf returns percentiles of delays; without delays they are zero.
func LatencyOf(delays []time.Duration) Latency {
	sorted := slices.Clone(delays)
	slices.Sort(sorted)
	at := func(share float64) float64 {
		if len(sorted) == 0 {
			return 0
		}
		rank := int(math.Ceil(share * float64(len(sorted)))) // nearest rank, from 1
		return rounded(float64(sorted[max(rank, 1)-1]) / float64(time.Millisecond))
	}
	return Latency{P50: at(0.50), P95: at(0.95), P99: at(0.99)}
}

// rounded rounds to three decimals; NaN and infinity, which JSON cannot express, are 0.
func rounded(x float64) float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return 0
	}
	return math.Round(x*1000) / 1000
}
