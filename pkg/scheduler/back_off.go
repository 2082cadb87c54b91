package scheduler

import (
	"container/heap"
	"slices"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/preemption"
)

// evaluation is the last evaluation of a group of asks, in which its first ask found no victims
// or had no right to any. A group that was never evaluated has one without a time.
type evaluation struct {
	class   *objects.Class
	at      time.Time
	changes uint64
	rights  int
	strayed bool // a nomination was given up: something else than a change is to be awaited
	refused bool // the RM refused an ask: the same

	waits bool      // it is in backOff.queue, and not to be evaluated yet
	due   time.Time // when a delay of the first ask ends; zero: none does. It may be too early, never too late
	place int       // in backOff.dues, from 1; 0: it is not there
}

// insists reports whether the group is to be evaluated again although nothing has changed.
func (e *evaluation) insists() bool { return e.strayed || e.refused }

// backOff is the groups of asks that were evaluated in vain. Each is evaluated again after
// preemptRetry, or when a delay of its first ask ends, if that is sooner: preemption.delay is
// then as long as it says. So a group is evaluated at most once more for each delay of an ask.
type backOff struct {
	of    map[*objects.Class]*evaluation
	queue []*evaluation // in the order of their times; those that do not wait are left over
	dues  dueHeap
	stray int // how many of those that wait do not await a change
}

func newBackOff() backOff { return backOff{of: map[*objects.Class]*evaluation{}} }

// add lets the group of e wait.
func (b *backOff) add(e *evaluation, due time.Time) {
	b.drop(e.class)
	b.of[e.class] = e
	b.queue = append(b.queue, e)
	e.waits = true
	b.stray += yes(e.insists())
	b.setDue(e, due)
}

// drop forgets the group of class.
func (b *backOff) drop(class *objects.Class) {
	e := b.of[class]
	if e == nil {
		return
	}
	b.rouse(e)
	b.setDue(e, time.Time{})
	delete(b.of, class)
}

// rouse ends the waiting of e, which is to be evaluated.
func (b *backOff) rouse(e *evaluation) {
	if e.waits {
		e.waits = false
		b.stray -= yes(e.insists())
	}
}

// takeOld returns the groups that were evaluated long enough ago.
func (b *backOff) takeOld(now time.Time) (old []*evaluation) {
	for len(b.queue) > 0 {
		e := b.queue[0]
		switch {
		case !e.waits:
		case now.Before(e.at.Add(preemptRetry)):
			return old
		default:
			b.rouse(e)
			old = append(old, e)
		}
		b.queue[0] = nil
		b.queue = b.queue[1:]
	}
	return old
}

// takeOf returns the groups that wait and that which reports, in the order of their times.
func (b *backOff) takeOf(which func(*objects.Class) bool) (found []*evaluation) {
	for _, e := range b.queue {
		if e.waits && which(e.class) {
			b.rouse(e)
			found = append(found, e)
		}
	}
	return found
}

// againAt is when the first group should be evaluated of those for which something has changed.
func (b *backOff) againAt(changes uint64) (time.Time, bool) {
	for _, e := range b.queue {
		switch {
		case !e.waits:
		case e.insists() || e.changes != changes:
			return e.at.Add(preemptRetry), true
		case b.stray == 0: // changes only grow: what is new for none before is new for none to come
			return time.Time{}, false
		}
	}
	return time.Time{}, false
}

func (b *backOff) setDue(e *evaluation, due time.Time) {
	e.due = due
	switch {
	case e.place == 0 && !due.IsZero():
		heap.Push(&b.dues, e)
	case e.place == 0:
	case due.IsZero():
		heap.Remove(&b.dues, e.place-1)
	default:
		heap.Fix(&b.dues, e.place-1)
	}
}

// dueHeap has the evaluation that is due first in front.
type dueHeap []*evaluation

func (h dueHeap) Len() int           { return len(h) }
func (h dueHeap) Less(i, j int) bool { return h[i].due.Before(h[j].due) }
func (h dueHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].place, h[j].place = i+1, j+1
}

func (h *dueHeap) Push(x any) {
	e := x.(*evaluation)
	*h = append(*h, e)
	e.place = len(*h)
}

func (h *dueHeap) Pop() any {
	end := len(*h) - 1
	e := (*h)[end]
	(*h)[end] = nil
	*h = (*h)[:end]
	e.place = 0
	return e
}

// delayEnd is when the next delay of the first ask of class ends, after a time; zero: none.
func (c *Core) delayEnd(class *objects.Class, after time.Time) time.Time {
	if x := c.unnominated(class); x != nil {
		return preemption.NextDelayEnd(c.part, x, after)
	}
	return time.Time{}
}

// refreshDue finds out anew when a delay of e ends.
func (c *Core) refreshDue(e *evaluation) { c.backOff.setDue(e, c.delayEnd(e.class, e.at)) }

// noteOvertaken sees to the groups whose first ask may be another one than before.
func (c *Core) noteOvertaken() {
	for _, class := range c.part.TakeOvertaken() {
		if e := c.backOff.of[class]; e != nil {
			c.refreshDue(e)
		}
	}
}

// takeDue has those groups evaluated for which a delay has ended since their last evaluation.
func (c *Core) takeDue(now time.Time) {
	c.noteOvertaken()
	for b := &c.backOff; len(b.dues) > 0 && !b.dues[0].due.After(now); {
		e := b.dues[0]
		if c.refreshDue(e); e.due.IsZero() || e.due.After(now) {
			continue // it is another ask by now
		}
		b.setDue(e, time.Time{})
		if e.waits {
			b.rouse(e)
			c.eager = append(c.eager, e)
		}
	}
}

// delaysEnd is when takeDue may next have something to do, if it has not already: then the next
// Schedule does it.
func (c *Core) delaysEnd() (time.Time, bool) {
	for b := &c.backOff; len(b.dues) > 0; {
		e := b.dues[0]
		if e.due.After(c.served) {
			return e.due, true
		}
		if c.refreshDue(e); !e.due.IsZero() && !e.due.After(c.served) {
			return time.Time{}, false
		}
	}
	return time.Time{}, false
}

// refreshDues is for a configuration with other delays.
func (c *Core) refreshDues() {
	for _, e := range slices.Clone(c.backOff.queue) {
		if e.waits {
			c.refreshDue(e)
		}
	}
	for _, e := range c.eager {
		if c.backOff.of[e.class] == e {
			c.refreshDue(e)
		}
	}
}

func yes(b bool) int {
	if b {
		return 1
	}
	return 0
}
