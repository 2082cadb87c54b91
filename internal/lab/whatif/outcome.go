package whatif

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/objects"
)

// Outcome summarizes a run.
type Outcome struct {
	All    Group   `json:"all"`
	Queues []Group `json:"queues"` // leaf queues with asks or allocations, by path
	Users  []Group `json:"users"`  // by name
	// what reservations held and nothing used; nil: nothing
	Held []Usage `json:"held,omitempty"`
}

// Group are the asks of a queue or of a user, without placeholders, without what ran before the recording, and without
// asks for applications that were not accepted.
type Group struct {
	Name      string `json:"name"`
	Asks      int    `json:"asks"`      // that were not rejected
	Started   int    `json:"started"`   // of them
	Waiting   int    `json:"waiting"`   // of them, at the end of the recording: they never ran
	Cancelled int    `json:"cancelled"` // of them: they ended without having run
	Rejected  int    `json:"rejected"`
	Wait      Wait   `json:"wait"`
	Preempted int    `json:"preempted"` // allocations that were chosen as victims

	// Waits holds the waiting time of each ask that was not rejected, in order: until it started or was cancelled, and
	// Forever when it never ran. Those of several groups can be joined for a quantile of all.
	Waits []time.Duration `json:"-"`

	// The following is about queues.

	Usage []Usage `json:"usage,omitempty"`
	// the part of the time in which the queue had pending asks and less than its guarantee
	Starved float64 `json:"starved"`
}

// Forever is the wait of an ask that had not started at the end of the recording.
const Forever = time.Duration(math.MaxInt64)

// Wait holds the waiting times of asks that have started, in seconds; zeros: none has.
type Wait struct {
	Median float64 `json:"median"`
	P95    float64 `json:"p95"`
	Max    float64 `json:"max"`
}

// Usage is a resource of a queue, in the smallest unit.
type Usage struct {
	Resource   string `json:"resource"`
	Mean       int64  `json:"mean"`                 // of what was allocated, over the time of the recording
	Guaranteed *int64 `json:"guaranteed,omitempty"` // nil: nothing
	Max        *int64 `json:"max,omitempty"`        // nil: no bound
}

// counter counts the requests of a group.
type counter struct {
	Group
	started []time.Duration // waits of those that have started
}

func (c *counter) add(r *request) {
	if r.rejected {
		c.Rejected++
		return
	}
	c.Asks++
	switch {
	case !r.started.IsZero():
		c.Started++
		c.started = append(c.started, r.started.Sub(r.submitted))
		c.Waits = append(c.Waits, r.started.Sub(r.submitted))
	case r.ended.IsZero():
		c.Waiting++
		c.Waits = append(c.Waits, Forever)
	default:
		c.Cancelled++
		c.Waits = append(c.Waits, r.ended.Sub(r.submitted))
	}
	if r.preempted() {
		c.Preempted++
	}
}

func (c *counter) group() Group {
	slices.Sort(c.started)
	slices.Sort(c.Waits)
	c.Wait = Wait{Quantile(c.started, 0.5).Seconds(), Quantile(c.started, 0.95).Seconds(),
		Quantile(c.started, 1).Seconds()}
	return c.Group
}

// Quantile returns the smallest duration that a part of them, from 0 to 1, does not exceed; 0: there is none. Requires:
// they are in order.
func Quantile(sorted []time.Duration, part float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[max(int(math.Ceil(part*float64(len(sorted))))-1, 0)]
}

// outcomeOf returns the outcome of a run.
func outcomeOf(t *tracker, s *samples) Outcome {
	all := &counter{Group: Group{Name: "all"}}
	queues, users := map[string]*counter{}, map[string]*counter{}
	in := func(groups map[string]*counter, name string) *counter {
		c := groups[name]
		if c == nil {
			c = &counter{Group: Group{Name: name}}
			groups[name] = c
		}
		return c
	}
	for _, r := range t.all {
		a := t.application(r.app)
		if r.placeholder || r.reported || a.queue == "" {
			continue
		}
		for _, c := range []*counter{all, in(queues, string(a.queue)), in(users, a.user)} {
			c.add(r)
		}
	}
	for path, x := range s.queues {
		if usage := x.usage(s.taken); x.leaf && (queues[string(path)] != nil || usage != nil) {
			c := in(queues, string(path))
			c.Usage = usage
			c.Starved = float64(x.starved) / float64(max(s.taken, 1))
		}
	}
	return Outcome{all.group(), groupsOf(queues), groupsOf(users), s.held.usage(s.taken)}
}

func groupsOf(counters map[string]*counter) []Group {
	out := make([]Group, 0, len(counters))
	for _, name := range slices.Sorted(maps.Keys(counters)) {
		out = append(out, counters[name].group())
	}
	return out
}

// usage returns the resources that the queue had, was guaranteed or was bounded in; nil: it has had none.
func (x *queueSamples) usage(taken int) (out []Usage) {
	sums := map[string]float64{}
	for _, used := range x.used {
		for name, n := range used {
			sums[name] += float64(n)
		}
	}
	if len(sums) == 0 {
		return nil
	}
	for name := range x.guaranteed {
		sums[name] += 0
	}
	for _, name := range slices.Sorted(maps.Keys(sums)) {
		out = append(out,
			Usage{name, int64(math.Round(sums[name] / float64(max(taken, 1)))), pointer(x.guaranteed, name),
				pointer(x.limit, name)})
	}
	return out
}

func pointer(m map[string]int64, name string) *int64 {
	if n, ok := m[name]; ok {
		return &n
	}
	return nil
}

// Series holds what a queue had over time, as parts of the capacity of the cluster then.
type Series struct {
	Queue    string    `json:"queue"`
	Resource string    `json:"resource"`
	Recorded []float64 `json:"recorded"`
	Changed  []float64 `json:"changed"`
}

// most series in a comparison.
const maxSeries = 12

// seriesOf returns the leaf queues that had most, with the resource of which the cluster was fullest.
func seriesOf(recorded, changed *samples) []Series {
	resource := fullest(recorded, changed)
	means := map[objects.QueuePath]float64{}
	for _, s := range []*samples{recorded, changed} {
		for path, x := range s.queues {
			if x.leaf {
				means[path] += mean(s.shares(x, resource))
			}
		}
	}
	paths := slices.SortedFunc(maps.Keys(means), func(a, b objects.QueuePath) int {
		return cmp.Or(cmp.Compare(means[b], means[a]), cmp.Compare(a, b))
	})
	var out []Series
	for _, path := range paths[:min(len(paths), maxSeries)] {
		if means[path] > 0 {
			out = append(out, Series{string(path), resource, recorded.shares(recorded.queues[path], resource),
				changed.shares(changed.queues[path], resource)})
		}
	}
	return out
}

// heldSeries returns what reservations held and nothing used, by resource. The queue is empty.
func heldSeries(recorded, changed *samples) (out []Series) {
	names := map[string]bool{}
	for _, s := range []*samples{recorded, changed} {
		for _, x := range s.held.usage(s.taken) {
			names[x.Resource] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		out = append(out, Series{"", name, recorded.shares(&recorded.held, name), changed.shares(&changed.held, name)})
	}
	return out
}

// fullest returns the resource of which the largest part was allocated; pods and the like count too.
func fullest(all ...*samples) (resource string) {
	parts := map[string]float64{}
	for _, s := range all {
		for _, total := range s.total {
			for name := range total {
				parts[name] += 0
			}
		}
		for name := range parts {
			parts[name] += mean(s.shares(s.queues["root"], name))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(parts)) {
		if resource == "" || parts[name] > parts[resource] {
			resource = name
		}
	}
	return resource
}

// shares returns what a queue had of a resource in each sample, as parts of the capacity; nil: the queue had nothing.
func (s *samples) shares(x *queueSamples, resource string) []float64 {
	out := make([]float64, s.taken)
	for i := range out {
		if x != nil && i < len(x.used) && s.total[i][resource] > 0 {
			out[i] = float64(x.used[i][resource]) / float64(s.total[i][resource])
		}
	}
	return out
}

func mean(list []float64) (m float64) {
	for _, x := range list {
		m += x / float64(len(list))
	}
	return m
}
