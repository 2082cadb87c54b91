package backfill

import (
	"cmp"
	"slices"
	"time"
)

// easy is EASY backfill (Lifka, The ANL/IBM SP scheduling system, 1995; Mu'alem and Feitelson, Utilization,
// predictability, workloads, and user runtime estimates in scheduling the IBM SP2 with backfilling, 2001): only the
// first job in the queue has a reservation, and others start before it if they do not delay it.
type easy struct {
	jobs    []Job
	free    int
	queue   []int
	running []bounded // by the times at which their bounds end
}

// bounded is a job that runs until then at the longest.
type bounded struct {
	until time.Duration
	i     int
}

func newEASY(gpus int, jobs []Job) *easy { return &easy{jobs: jobs, free: gpus} }

func (p *easy) arrive(_ time.Duration, i int) { p.queue = append(p.queue, i) }

func (p *easy) end(_ time.Duration, i int) {
	p.free += p.jobs[i].GPUs()
	p.running = slices.DeleteFunc(p.running, func(b bounded) bool { return b.i == i })
}

func (p *easy) start(now time.Duration) (started []int) {
	run := func(i int) {
		p.free -= p.jobs[i].GPUs()
		b := bounded{now + p.jobs[i].Bound, i}
		at, _ := slices.BinarySearchFunc(p.running, b, func(a, b bounded) int { return cmp.Compare(a.until, b.until) })
		p.running = slices.Insert(p.running, at, b)
		started = append(started, i)
	}
	for len(p.queue) > 0 && p.jobs[p.queue[0]].GPUs() <= p.free {
		run(p.queue[0])
		p.queue = p.queue[1:]
	}
	if len(p.queue) == 0 {
		return started
	}
	shadow, extra := p.reservation(p.queue[0])
	waiting := []int{p.queue[0]}
	for _, i := range p.queue[1:] {
		inTime, gpus := now+p.jobs[i].Bound <= shadow, p.jobs[i].GPUs()
		if gpus > p.free || !inTime && gpus > extra {
			waiting = append(waiting, i)
			continue
		}
		if !inTime {
			extra -= gpus
		}
		run(i)
	}
	p.queue = waiting
	return started
}

// reservation returns when job i can start if everything runs to its bound, and the GPUs that are free beside it then.
// Requires: it cannot start now.
func (p *easy) reservation(i int) (shadow time.Duration, extra int) {
	free := p.free
	for _, b := range p.running {
		if free >= p.jobs[i].GPUs() && b.until > shadow {
			break
		}
		shadow = b.until
		free += p.jobs[b.i].GPUs()
	}
	return shadow, free - p.jobs[i].GPUs()
}
