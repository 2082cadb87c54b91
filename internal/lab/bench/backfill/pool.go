package backfill

import (
	"cmp"
	"container/heap"
	"time"
)

// policy decides which jobs start, first come, first served, with backfill. It has one pool of GPUs and no nodes, which
// is simple, and makes waits shorter than those of a cluster whose GPUs are in nodes.
type policy interface {
	arrive(now time.Duration, i int)
	end(now time.Duration, i int) // perhaps before its bound
	// start returns the jobs that start now. It follows all that has arrived and ended now.
	start(now time.Duration) []int
}

// playPool returns when each job has started.
func playPool(jobs []Job, p policy) []time.Duration {
	starts := make([]time.Duration, len(jobs))
	var ends events[int]
	for next := 0; next < len(jobs) || len(ends) > 0; {
		var now time.Duration
		if len(ends) == 0 || next < len(jobs) && jobs[next].Arrival < ends[0].at {
			now = jobs[next].Arrival
		} else {
			now = ends[0].at
		}
		for len(ends) > 0 && ends[0].at == now {
			p.end(now, heap.Pop(&ends).(event[int]).of)
		}
		for ; next < len(jobs) && jobs[next].Arrival == now; next++ {
			p.arrive(now, next)
		}
		for _, i := range p.start(now) {
			starts[i] = now
			heap.Push(&ends, event[int]{now + jobs[i].Duration, i, i})
		}
	}
	return starts
}

// events is a heap of events, by time and then by number.
type events[T any] []event[T]

type event[T any] struct {
	at     time.Duration
	number int
	of     T
}

func (h events[T]) Len() int { return len(h) }
func (h events[T]) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(h[i].at, h[j].at), cmp.Compare(h[i].number, h[j].number)) < 0
}
func (h events[T]) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *events[T]) Push(e any)   { *h = append(*h, e.(event[T])) }
func (h *events[T]) Pop() any {
	last := len(*h) - 1
	e := (*h)[last]
	*h = (*h)[:last]
	return e
}
