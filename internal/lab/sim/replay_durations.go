package sim

import (
	"container/heap"
	"context"
	"fmt"

	"github.com/canopy-scheduler/canopy/pkg/objects"
)

// Durations submits tasks at the times of the trace, and each runs for as long as in the trace, from its placement: a
// task that waits ends later, and none is withdrawn while others run. What is pending when everything else has ended
// can never run, and is withdrawn. A victim ends unless it is resubmitted, and then runs for its whole duration. The
// client must be registered.
func (r *Replay) Durations(ctx context.Context) error {
	tasks := r.prepare()
	r.setTime(0)
	if err := r.addNodes(ctx, false); err != nil {
		return err
	}
	if err := r.addApplications(ctx, tasks); err != nil {
		return err
	}
	p := durationsReplay{Replay: r}
	for _, m := range traceSeconds(tasks) {
		if len(m.arriving) > 0 {
			p.arrivals = append(p.arrivals, m)
		}
	}
	total := len(tasks)
	for i := 0; len(p.arrivals) > 0 || len(p.ends) > 0; i++ {
		second := p.next()
		if err := p.play(ctx, second); err != nil {
			return fmt.Errorf("second %d: %w", second, err)
		}
		if i%auditInterval == 0 {
			if err := r.audit(ctx); err != nil {
				return fmt.Errorf("second %d: %w", second, err)
			}
		}
		r.reportProgress("tasks ended", p.ended, total)
	}
	if err := r.releaseKeys(ctx, r.Client.Waiting()); err != nil {
		return err
	}
	if err := r.audit(ctx); err != nil {
		return err
	}
	return r.checkEmpty()
}

// durationsReplay is the state of Durations.
type durationsReplay struct {
	*Replay
	arrivals []traceSecond // to come
	ends     taskEnds      // of what runs
	seen     int           // events of the log that were read
	waited   int           // asks so far that were not placed at once
	ended    int
}

// next returns the second in which something happens next.
func (p *durationsReplay) next() int64 {
	switch {
	case len(p.ends) == 0:
		return p.arrivals[0].second
	case len(p.arrivals) == 0:
		return p.ends[0].second
	}
	return min(p.arrivals[0].second, p.ends[0].second)
}

// play ends what ends in a second, and then submits what arrives.
func (p *durationsReplay) play(ctx context.Context, second int64) error {
	p.setTime(second)
	var keys []objects.AllocationKey
	for len(p.ends) > 0 && p.ends[0].second <= second {
		e := heap.Pop(&p.ends).(taskEnd)
		if x := p.attempts[e.key]; p.asks[x.task.Name] == e.key { // else it was preempted
			delete(p.asks, x.task.Name)
			keys = append(keys, e.key)
		}
	}
	p.ended += len(keys)
	if err := p.releaseKeys(ctx, keys); err != nil {
		return err
	}
	if len(p.arrivals) == 0 || p.arrivals[0].second > second {
		return p.notePlaced(ctx, second, nil)
	}
	arriving := p.arrivals[0].arriving
	p.arrivals = p.arrivals[1:]
	asks := p.firstAsks(arriving)
	if err := p.Client.Submit(ctx, asks...); err != nil {
		return err
	}
	if err := p.waitIdle(ctx, false); err != nil {
		return err
	}
	return p.notePlaced(ctx, second, asks)
}

// notePlaced plans the ends of what was placed, and calls AskWaits for new asks that were not.
func (p *durationsReplay) notePlaced(ctx context.Context, second int64, asks []Ask) error {
	placed := map[objects.AllocationKey]bool{}
	for _, e := range p.Client.LogFrom(p.seen) {
		p.seen++
		if t := p.attempts[e.Key].task; e.Kind == Placed {
			placed[e.Key] = true
			heap.Push(&p.ends, taskEnd{second + max(0, t.Deleted-t.Created), e.Key})
		}
	}
	for _, a := range asks {
		if placed[a.Key] || p.Client.rejected(a.Key) || p.AskWaits == nil {
			continue
		}
		p.waited++
		err := p.Client.ExcludeFromTiming(func() error { return p.AskWaits(ctx, a.Key, p.waited) })
		if err != nil {
			return fmt.Errorf("ask %s: %w", a.Key, err)
		}
	}
	return nil
}

// taskEnd is the end of an allocation.
type taskEnd struct {
	second int64
	key    objects.AllocationKey
}

// taskEnds is a heap of them, by time and key.
type taskEnds []taskEnd

func (h taskEnds) Len() int { return len(h) }
func (h taskEnds) Less(i, j int) bool {
	return h[i].second < h[j].second || h[i].second == h[j].second && h[i].key < h[j].key
}
func (h taskEnds) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *taskEnds) Push(x any)   { *h = append(*h, x.(taskEnd)) }
func (h *taskEnds) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}
