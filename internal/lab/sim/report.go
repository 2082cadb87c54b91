package sim

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/canopy-scheduler/canopy/internal/cli/demo"
	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/policies"
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

// sums are totals of the asks and allocations below a queue.
type sums struct {
	allocated, pending resources.Amounts
	priority           policies.CurrentPriority // of the asks, as seen by the queue above
}

func (t *sums) add(u sums) {
	t.allocated, t.pending = t.allocated.Add(u.allocated), t.pending.Add(u.pending)
	if u.priority.Compare(t.priority) > 0 {
		t.priority = u.priority
	}
}

// QueueLines are the configured queues with the asks and allocations that the client knows. It is for a
// scheduler whose snapshots cannot be read.
func (c *Client) QueueLines(conf configs.Partition) []demo.QueueLine {
	leaves := map[objects.QueuePath]*sums{}
	var capacity resources.Amounts
	c.mu.Lock()
	for _, m := range c.machines {
		capacity = capacity.Add(m.Capacity)
	}
	for _, t := range c.askStates {
		path := c.apps[t.App].Queue
		if leaves[path] == nil {
			leaves[path] = &sums{}
		}
		if t.node == "" {
			leaves[path].add(sums{pending: t.Amounts, priority: policies.Pending(t.Priority)})
		} else {
			leaves[path].add(sums{allocated: t.Amounts})
		}
	}
	c.mu.Unlock()
	lines, _ := configuredLines(conf.Root, objects.RootPath, leaves)
	lines[0].Max = capacity.Map()
	return lines
}

func configuredLines(q configs.Queue, path objects.QueuePath, leaves map[objects.QueuePath]*sums) (
	lines []demo.QueueLine, total sums) {
	if own := leaves[path]; own != nil {
		total = *own
	}
	lines = make([]demo.QueueLine, 1)
	for _, child := range sortedQueues(q.Children) {
		below, t := configuredLines(child, path.Child(child.Name), leaves)
		lines = append(lines, below...)
		total.add(t)
	}
	if path != objects.RootPath {
		total.priority = q.PriorityPolicy.ApplyOffset(total.priority, q.PriorityOffset)
	}
	lines[0] = demo.QueueLine{
		Path: path, CurrentPriority: total.priority.Number(), Allocated: total.allocated.Map(),
		Pending: total.pending.Map(), Guaranteed: q.Guaranteed.Map(), Max: q.Max.Map(),
	}
	return lines, total
}

// sortedQueues returns queues in name order, the order of snapshots.
func sortedQueues(queues []configs.Queue) []configs.Queue {
	return slices.SortedFunc(slices.Values(queues), func(a, b configs.Queue) int {
		return cmp.Compare(a.Name, b.Name)
	})
}
