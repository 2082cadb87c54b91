package whatif

import (
	"container/heap"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// timer is an action of the resource manager of the changed run at a time.
type timer struct {
	at    time.Time
	order int      // of those of one time
	about *request // that is released; nil: an application is removed
	cmd   scheduler.Command
}

// timers are ordered by time, and at one time as they were added.
type timers struct {
	list  []timer
	added int
}

func (t *timers) Len() int { return len(t.list) }
func (t *timers) Less(i, k int) bool {
	a, b := &t.list[i], &t.list[k]
	return a.at.Before(b.at) || a.at.Equal(b.at) && a.order < b.order
}
func (t *timers) Swap(i, k int) { t.list[i], t.list[k] = t.list[k], t.list[i] }
func (t *timers) Push(x any)    { t.list = append(t.list, x.(timer)) }
func (t *timers) Pop() any {
	last := t.list[len(t.list)-1]
	t.list = t.list[:len(t.list)-1]
	return last
}

// add makes the resource manager release what a request has.
func (t *timers) add(at time.Time, r *request, how scheduler.Termination) {
	t.added++
	heap.Push(t, timer{at, t.added, r, scheduler.Release{App: r.app, Key: r.key, Type: how}})
}

// remove makes the resource manager remove an application.
func (t *timers) remove(at time.Time, app objects.AppID) {
	t.added++
	heap.Push(t, timer{at, t.added, nil, scheduler.RemoveApplication{App: app}})
}

// next returns the time of the first; ok is false if there is none.
func (t *timers) next() (at time.Time, ok bool) {
	if len(t.list) == 0 {
		return at, false
	}
	return t.list[0].at, true
}

func (t *timers) take() timer { return heap.Pop(t).(timer) }
