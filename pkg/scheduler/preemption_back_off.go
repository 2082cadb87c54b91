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
	group             *objects.AskGroup
	evaluatedAt       time.Time
	changes           uint64
	reasons           int
	nominationGivenUp bool // a nomination was given up: something else than a change is to be awaited
	oracleRefused     bool // the RM refused an ask: the same

	waiting     bool      // it is in backOff.queue, and not to be evaluated yet
	delayEndsAt time.Time // when a delay of the first ask ends; zero: none does. It may be too early, never too late
	heapIndex   int       // in backOff.delays, from 1; 0: it is not there
}

// retriesUnchanged reports whether the group is to be evaluated again although nothing has changed.
func (e *evaluation) retriesUnchanged() bool { return e.nominationGivenUp || e.oracleRefused }

// backOff is the groups of asks that were evaluated in vain. Each is evaluated again after
// evaluationRetry, or when a delay of its first ask ends, if that is sooner: preemption.delay is
// then as long as it says. So a group is evaluated at most once more for each delay of an ask.
type backOff struct {
	byGroup        map[*objects.AskGroup]*evaluation
	queue          []*evaluation // in the order of their times; those that do not wait are left over
	delays         delayHeap
	retryUnchanged int // how many of those that wait do not await a change
}

func newBackOff() backOff { return backOff{byGroup: map[*objects.AskGroup]*evaluation{}} }

// add lets the group of e wait.
func (b *backOff) add(e *evaluation, due time.Time) {
	b.drop(e.group)
	b.byGroup[e.group] = e
	b.queue = append(b.queue, e)
	e.waiting = true
	b.retryUnchanged += boolToInt(e.retriesUnchanged())
	b.setDelayEnd(e, due)
}

// drop forgets the group of class.
func (b *backOff) drop(group *objects.AskGroup) {
	e := b.byGroup[group]
	if e == nil {
		return
	}
	b.stopWaiting(e)
	b.setDelayEnd(e, time.Time{})
	delete(b.byGroup, group)
}

// stopWaiting ends the waiting of e, which is to be evaluated.
func (b *backOff) stopWaiting(e *evaluation) {
	if e.waiting {
		e.waiting = false
		b.retryUnchanged -= boolToInt(e.retriesUnchanged())
	}
}

// popExpired returns the groups that were evaluated long enough ago.
func (b *backOff) popExpired(now time.Time) (old []*evaluation) {
	for len(b.queue) > 0 {
		e := b.queue[0]
		switch {
		case !e.waiting:
		case now.Before(e.evaluatedAt.Add(evaluationRetry)):
			return old
		default:
			b.stopWaiting(e)
			old = append(old, e)
		}
		b.queue[0] = nil
		b.queue = b.queue[1:]
	}
	return old
}

// popMatching returns the groups that wait and that which reports, in the order of their times.
func (b *backOff) popMatching(which func(*objects.AskGroup) bool) (found []*evaluation) {
	for _, e := range b.queue {
		if e.waiting && which(e.group) {
			b.stopWaiting(e)
			found = append(found, e)
		}
	}
	return found
}

// nextRetry is when the first group should be evaluated of those for which something has changed.
func (b *backOff) nextRetry(changes uint64) (time.Time, bool) {
	for _, e := range b.queue {
		switch {
		case !e.waiting:
		case e.retriesUnchanged() || e.changes != changes:
			return e.evaluatedAt.Add(evaluationRetry), true
		case b.retryUnchanged == 0: // changes only grow: what is new for none before is new for none to come
			return time.Time{}, false
		}
	}
	return time.Time{}, false
}

func (b *backOff) setDelayEnd(e *evaluation, due time.Time) {
	e.delayEndsAt = due
	switch {
	case e.heapIndex == 0 && !due.IsZero():
		heap.Push(&b.delays, e)
	case e.heapIndex == 0:
	case due.IsZero():
		heap.Remove(&b.delays, e.heapIndex-1)
	default:
		heap.Fix(&b.delays, e.heapIndex-1)
	}
}

// delayHeap has the evaluation that is due first in front.
type delayHeap []*evaluation

func (h delayHeap) Len() int           { return len(h) }
func (h delayHeap) Less(i, j int) bool { return h[i].delayEndsAt.Before(h[j].delayEndsAt) }
func (h delayHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].heapIndex, h[j].heapIndex = i+1, j+1
}

func (h *delayHeap) Push(x any) {
	e := x.(*evaluation)
	*h = append(*h, e)
	e.heapIndex = len(*h)
}

func (h *delayHeap) Pop() any {
	end := len(*h) - 1
	e := (*h)[end]
	(*h)[end] = nil
	*h = (*h)[:end]
	e.heapIndex = 0
	return e
}

// delayEnd is when the next delay of the first ask of class ends, after a time; zero: none.
func (c *Core) delayEnd(group *objects.AskGroup, after time.Time) time.Time {
	if x := c.firstWithoutNomination(group); x != nil {
		return preemption.NextDelayEnd(c.part, x, after)
	}
	return time.Time{}
}

// refreshDelay finds out anew when a delay of e ends.
func (c *Core) refreshDelay(e *evaluation) {
	c.backOff.setDelayEnd(e, c.delayEnd(e.group, e.evaluatedAt))
}

// refreshFirstAskChanges sees to the groups whose first ask may be another one than before.
func (c *Core) refreshFirstAskChanges() {
	for _, group := range c.part.TakeFirstAskChanged() {
		if e := c.backOff.byGroup[group]; e != nil {
			c.refreshDelay(e)
		}
	}
}

// addDueGroups has those groups evaluated for which a delay has ended since their last evaluation.
func (c *Core) addDueGroups(now time.Time) {
	c.refreshFirstAskChanges()
	for b := &c.backOff; len(b.delays) > 0 && !b.delays[0].delayEndsAt.After(now); {
		e := b.delays[0]
		if c.refreshDelay(e); e.delayEndsAt.IsZero() || e.delayEndsAt.After(now) {
			continue // it is another ask by now
		}
		b.setDelayEnd(e, time.Time{})
		if e.waiting {
			b.stopWaiting(e)
			c.toEvaluate = append(c.toEvaluate, e)
		}
	}
}

// nextDelayEnd is when addDueGroups may next have something to do, if it has not already: then the next
// Schedule does it.
func (c *Core) nextDelayEnd() (time.Time, bool) {
	for b := &c.backOff; len(b.delays) > 0; {
		e := b.delays[0]
		if e.delayEndsAt.After(c.servedUntil) {
			return e.delayEndsAt, true
		}
		if c.refreshDelay(e); !e.delayEndsAt.IsZero() && !e.delayEndsAt.After(c.servedUntil) {
			return time.Time{}, false
		}
	}
	return time.Time{}, false
}

// refreshDelays is for a configuration with other delays.
func (c *Core) refreshDelays() {
	for _, e := range slices.Clone(c.backOff.queue) {
		if e.waiting {
			c.refreshDelay(e)
		}
	}
	for _, e := range c.toEvaluate {
		if c.backOff.byGroup[e.group] == e {
			c.refreshDelay(e)
		}
	}
}

func boolToInt(b bool) int {
	if b {
		return 1
	}
	return 0
}
