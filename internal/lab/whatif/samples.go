package whatif

import (
	"time"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// sampleCount is the number of samples of a run, at equal distances.
const sampleCount = 240

// samples holds what the queues of a run had.
type samples struct {
	first  time.Time
	every  time.Duration
	taken  int
	queues map[objects.QueuePath]*queueSamples
	held   queueSamples       // what reservations hold and nothing uses
	total  []map[string]int64 // the capacity of the cluster
}

// queueSamples holds the samples of a queue, with a zero for each sample before it existed.
type queueSamples struct {
	leaf       bool
	used       []map[string]int64
	starved    int // samples with pending asks and less than guaranteed
	guaranteed map[string]int64
	limit      map[string]int64
}

func newSamples(from, to time.Time) *samples {
	return &samples{first: from, every: max(to.Sub(from)/sampleCount, 1), queues: map[objects.QueuePath]*queueSamples{}}
}

// upTo takes the samples before a time, of the state before it.
func (s *samples) upTo(at time.Time, core *scheduler.Core) {
	for s.taken < sampleCount && s.first.Add(time.Duration(s.taken)*s.every).Before(at) {
		if core == nil {
			s.total = append(s.total, nil)
			s.held.used = append(s.held.used, nil)
		} else {
			s.total = append(s.total, amountsOf(core.Partition().Amounts(core.Partition().Capacity())))
			s.held.used = append(s.held.used, heldIdle(core.Partition()))
			s.take(core.Partition(), core.Partition().Root())
		}
		s.taken++
	}
}

func (s *samples) take(p *objects.Partition, q *objects.Queue) {
	x := s.queues[q.Path()]
	if x == nil {
		x = &queueSamples{used: make([]map[string]int64, s.taken)}
		s.queues[q.Path()] = x
	}
	for len(x.used) < s.taken {
		x.used = append(x.used, nil) // it did not exist meanwhile
	}
	x.leaf = q.Leaf()
	used := amountsOf(p.Amounts(q.Allocated()))
	x.used = append(x.used, used)
	x.guaranteed, x.limit = map[string]int64{}, map[string]int64{}
	below := false
	for name, n := range q.Guaranteed().All() {
		x.guaranteed[name] = int64(n)
		below = below || used[name] < int64(n)
	}
	for name, n := range q.Max().All() {
		x.limit[name] = int64(n)
	}
	if below && q.HasPending() {
		x.starved++
	}
	for _, child := range q.Children() {
		s.take(p, child)
	}
}

// heldIdle returns what reservations hold on their nodes and nothing uses (RES-5).
func heldIdle(p *objects.Partition) map[string]int64 {
	idle, seen := map[string]int64{}, map[*objects.Node]bool{}
	for _, x := range p.Reservations().Asks() {
		n := p.Reservations().Of(x)
		if seen[n] {
			continue
		}
		seen[n] = true
		var held resources.Vector
		for _, y := range n.ReservedFor() {
			held.Add(y.Shape().Vector())
		}
		available := amountsOf(p.Amounts(n.Available()))
		for name, amount := range amountsOf(p.Amounts(held)) {
			idle[name] += max(min(amount, available[name]), 0)
		}
	}
	return idle
}

func amountsOf(a resources.Amounts) map[string]int64 {
	out := make(map[string]int64, a.Len())
	for name, n := range a.All() {
		out[name] = int64(n)
	}
	return out
}
