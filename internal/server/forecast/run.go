package forecast

import (
	"container/heap"
	"context"
	"time"

	"github.com/canopy-scheduler/canopy/internal/server/cpushare"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// Bounds of a run.
const (
	// Horizon is the length of a run in virtual time.
	Horizon = 30 * 24 * time.Hour

	maxSteps  = 200_000         // ends of allocations, confirmations and deadlines
	batch     = 256             // decisions at a time
	leastWait = 2 * time.Second // between two deadlines that are served
)

// run is one run of a replica on virtual time: allocations end when drawn durations have passed, the scheduler places
// what it can, and the starts of the targets are noted.
type run struct {
	number  int
	draws   *draws
	core    *scheduler.Core
	slot    *cpushare.Slot
	at, now time.Time // when it began, and the virtual time
	woken   time.Time // when deadlines were last served
	ends    endings
	confirm []scheduler.Command // what the resource manager answers to orders of the scheduler

	targets map[objects.AllocationKey]bool          // that have not started
	starts  map[objects.AllocationKey]time.Duration // of those that have
	steps   int
	endless bool // an allocation has no end, because nothing is known of its durations
	over    bool // nothing would happen any more
}

// newRun returns a run of a replica of the original.
func newRun(number int, d *draws, targets []objects.AllocationKey, slot *cpushare.Slot) (*run, error) {
	core, err := d.original.replica(slot)
	if err != nil {
		return nil, err
	}
	r := &run{
		number: number, draws: d, core: core, slot: slot, at: d.original.at, now: d.original.at, woken: d.original.at,
		targets: map[objects.AllocationKey]bool{}, starts: map[objects.AllocationKey]time.Duration{},
	}
	for _, key := range targets {
		r.targets[key] = true
	}
	for _, x := range d.original.bound {
		e := ending{app: x.Ask.App, key: x.Ask.Key, at: r.at}
		if !x.Preempting && !x.Run.Ending { // these end at once
			remaining, known := d.remaining(x, number)
			if !known {
				r.endless = true
				continue
			}
			e.at = r.at.Add(remaining)
		}
		r.ends = append(r.ends, e)
	}
	heap.Init(&r.ends)
	return r, nil
}

// play goes through the virtual time until each target has started, or nothing happens any more, or a bound is reached,
// or ctx ends.
func (r *run) play(ctx context.Context) {
	end := r.at.Add(Horizon)
	for r.endDue(); len(r.targets) > 0 && r.steps < maxSteps && ctx.Err() == nil; r.endDue() {
		r.place()
		next, deadline, some := r.next()
		switch {
		case !some:
			r.over = true
			return
		case next.After(end) || len(r.targets) == 0:
			return
		}
		r.now = next
		if deadline {
			r.woken = r.now
			r.step(scheduler.Wake{})
		}
	}
}

// next returns the time of the next event: an allocation ends, or the scheduler has a deadline. Deadlines that follow
// closely are served together, the more of them the longer the run is under way: to the second at first, and then to a
// fiftieth of the virtual time.
func (r *run) next() (at time.Time, deadline, some bool) {
	if len(r.ends) > 0 {
		at, some = r.ends[0].at, true
	}
	due, set := r.core.NextDeadline()
	if !set || len(r.ends) == 0 && r.now.Sub(r.at) > Horizon/2 {
		return at, false, some
	}
	if earliest := r.woken.Add(max(leastWait, r.woken.Sub(r.at)/50)); due.Before(earliest) {
		due = earliest
	}
	if some && !due.Before(at) {
		return at, false, true
	}
	return due, true, true
}

// endDue ends the allocations that have run until now.
func (r *run) endDue() {
	for len(r.ends) > 0 && !r.ends[0].at.After(r.now) {
		e := heap.Pop(&r.ends).(ending)
		r.step(scheduler.Release{App: e.app, Key: e.key, Type: scheduler.StoppedByRM, Scope: scheduler.OnlyAllocations})
	}
}

// place lets the scheduler decide and confirms its orders, until it has nothing more to do now.
func (r *run) place() {
	for r.steps < maxSteps && len(r.targets) > 0 {
		r.slot.Yield()
		r.steps++
		effects, more := r.core.Schedule(r.now, batch)
		r.note(effects)
		if len(r.confirm) == 0 && !more {
			return
		}
		for len(r.confirm) > 0 {
			cmd := r.confirm[0]
			r.confirm = r.confirm[1:]
			r.step(cmd)
		}
	}
}

func (r *run) step(cmd scheduler.Command) {
	r.slot.Yield()
	r.steps++
	r.note(r.core.Step(r.now, cmd))
}

// note reads effects.
func (r *run) note(effects []scheduler.Effect) {
	for _, e := range effects {
		switch e := e.(type) {
		case scheduler.Allocated:
			if r.targets[e.Ask.Key] {
				delete(r.targets, e.Ask.Key)
				r.starts[e.Ask.Key] = r.now.Sub(r.at)
			}
			duration, known := r.draws.fresh(e.Ask.Key, r.number)
			if !known {
				r.endless = true
				continue
			}
			heap.Push(&r.ends, ending{r.now.Add(duration), e.Ask.App, e.Ask.Key})
		case scheduler.Released:
			if e.Type == scheduler.PreemptedByScheduler || e.Type == scheduler.TimedOut ||
				e.Type == scheduler.PlaceholderReplaced {
				r.confirm = append(r.confirm,
					scheduler.Release{App: e.App, Key: e.Key, Type: e.Type, Scope: scheduler.OnlyAllocations})
			}
		}
	}
}

// ending is the end of an allocation. The end of one that has ended before changes nothing.
type ending struct {
	at  time.Time
	app objects.AppID
	key objects.AllocationKey
}

// endings is a heap of them, by time and key.
type endings []ending

func (h endings) Len() int { return len(h) }
func (h endings) Less(i, j int) bool {
	return h[i].at.Before(h[j].at) || h[i].at.Equal(h[j].at) && h[i].key < h[j].key
}
func (h endings) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *endings) Push(x any)   { *h = append(*h, x.(ending)) }
func (h *endings) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}
