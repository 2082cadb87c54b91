package backfill

import (
	"cmp"
	"slices"
	"time"
)

// conservative is conservative backfill (Mu'alem and Feitelson, 2001): every job has a reservation from its arrival on.
// When a job ends before its bound, each reservation in turn moves to the earliest time that is free then.
type conservative struct {
	jobs  []Job
	plan  profile
	queue []reserved
	until []time.Duration // by job: when the bound of one that runs ends
	early bool            // a job has ended before its bound since the last start
}

// reserved is a job that starts then at the latest.
type reserved struct {
	at time.Duration
	i  int
}

func newConservative(gpus int, jobs []Job) *conservative {
	return &conservative{jobs: jobs, plan: profile{{0, gpus}}, until: make([]time.Duration, len(jobs))}
}

func (p *conservative) arrive(now time.Duration, i int) {
	p.plan.forget(now)
	p.queue = append(p.queue, reserved{p.reserve(i), i})
}

// reserve returns the earliest start of job i, which it takes out of the plan.
func (p *conservative) reserve(i int) time.Duration {
	j := &p.jobs[i]
	at := p.plan.earliest(j.Bound, j.GPUs())
	p.plan.take(at, at+j.Bound, j.GPUs())
	return at
}

func (p *conservative) end(now time.Duration, i int) {
	if p.until[i] > now {
		p.plan.take(now, p.until[i], -p.jobs[i].GPUs())
		p.early = true
	}
}

func (p *conservative) start(now time.Duration) (started []int) {
	p.plan.forget(now)
	if p.early {
		p.early = false
		for k := range p.queue {
			if r := &p.queue[k]; r.at > now {
				p.plan.take(r.at, r.at+p.jobs[r.i].Bound, -p.jobs[r.i].GPUs())
				r.at = p.reserve(r.i)
			}
		}
	}
	p.queue = slices.DeleteFunc(p.queue, func(r reserved) bool {
		if r.at > now {
			return false
		}
		p.until[r.i] = now + p.jobs[r.i].Bound
		started = append(started, r.i)
		return true
	})
	return started
}

// profile has the GPUs that are free from each time on, until the next one. After the last one all are free.
type profile []level

type level struct {
	from time.Duration
	gpus int
}

// forget drops what was before now.
func (p *profile) forget(now time.Duration) {
	k := p.split(now)
	*p = slices.Delete(*p, 0, k)
}

// earliest returns the first time from which that many GPUs are free for so long.
func (p profile) earliest(length time.Duration, gpus int) time.Duration {
	start := p[0].from
	for k, f := range p {
		switch {
		case f.gpus < gpus:
			start = p[k+1].from
		case k+1 == len(p) || p[k+1].from-start >= length:
			return start
		}
	}
	panic("backfill: a job has more GPUs than the cluster")
}

// take takes GPUs out of an interval; negative: it gives them back.
func (p *profile) take(from, to time.Duration, gpus int) {
	first := p.split(from)
	end := p.split(to)
	for k := first; k < end; k++ {
		(*p)[k].gpus -= gpus
	}
	for _, k := range [...]int{end, first} { // the latter one first, which does not move the former
		if k > 0 && (*p)[k].gpus == (*p)[k-1].gpus {
			*p = slices.Delete(*p, k, k+1)
		}
	}
}

// split returns the index of the entry that begins at a time, which is not before the first one; it makes one if there
// is none.
func (p *profile) split(at time.Duration) int {
	k, found := slices.BinarySearchFunc(*p, at, func(f level, at time.Duration) int { return cmp.Compare(f.from, at) })
	if !found {
		*p = slices.Insert(*p, k, level{at, (*p)[k-1].gpus})
	}
	return k
}
