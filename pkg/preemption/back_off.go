package preemption

import (
	"container/heap"
	"slices"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/objects"
)

// evaluation is the last evaluation of a group of asks. In it the first ask found no victims, or was not entitled to
// any. For a group that was never evaluated evaluatedAt is zero.
type evaluation struct {
	group             *objects.AskGroup
	evaluatedAt       time.Time
	first             *objects.Allocation // the ask that was evaluated first
	changes           uint64              // Engine.changeCount at evaluatedAt
	reasons           int                 // the largest number of preemption reasons of an ask; -1: no ask was evaluated
	nominationGivenUp bool                // a nomination was given up: retried without a change
	oracleRefused     bool                // the RM refused an ask: retried without a change

	waiting     bool      // in backOff.queue, and not in Engine.toEvaluate
	delayEndsAt time.Time // when a delay of the first ask ends, or earlier; zero: none does
	heapIndex   int       // position in backOff.delays, from 1; 0: not in it
}

// retriesUnchanged reports whether the group is evaluated again although nothing has changed.
func (e *evaluation) retriesUnchanged() bool { return e.nominationGivenUp || e.oracleRefused }

// backOff holds the groups that were evaluated without a result (for asks that the RM refused see unschedulable_asks.go
// of package objects). Each is evaluated again after evaluationRetry (PRE-95, ASK-36), or when a delay of its first ask
// ends, if that is earlier (PRE-16). So a group is evaluated at most once more for each delay of an ask (PRE-97).
type backOff struct {
	byGroup        map[*objects.AskGroup]*evaluation
	queue          []*evaluation // by evaluatedAt; may have evaluations that no longer wait
	delays         delayHeap
	waiting        int // how many wait
	retryUnchanged int // how many of these are retried without a change
}

func newBackOff() backOff { return backOff{byGroup: map[*objects.AskGroup]*evaluation{}} }

// add puts the group of e into the back-off. due is when a delay of its first ask ends; zero: none does.
func (b *backOff) add(e *evaluation, due time.Time) {
	b.drop(e.group)
	b.byGroup[e.group] = e
	b.queue = append(b.queue, e)
	e.waiting = true
	b.waiting++
	b.retryUnchanged += boolToInt(e.retriesUnchanged())
	b.setDelayEnd(e, due)
}

// drop removes a group from the back-off.
func (b *backOff) drop(group *objects.AskGroup) {
	e := b.byGroup[group]
	if e == nil {
		return
	}
	b.stopWaiting(e)
	b.setDelayEnd(e, time.Time{})
	delete(b.byGroup, group)
}

// stopWaiting ends the back-off of e, which is to be evaluated.
func (b *backOff) stopWaiting(e *evaluation) {
	if e.waiting {
		e.waiting = false
		b.waiting--
		b.retryUnchanged -= boolToInt(e.retriesUnchanged())
	}
}

// popExpired returns the groups whose back-off has ended, and ends it.
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

// popMatching returns the waiting groups for which the condition holds, by evaluatedAt, and ends their back-off.
func (b *backOff) popMatching(which func(*objects.AskGroup) bool) (found []*evaluation) {
	for _, e := range b.queue {
		if e.waiting && which(e.group) {
			b.stopWaiting(e)
			found = append(found, e)
		}
	}
	return found
}

// nextRetry returns the first time at which a group is to be evaluated for which something has changed, or which needs
// no change.
func (b *backOff) nextRetry(changes uint64) (time.Time, bool) {
	for _, e := range b.queue {
		switch {
		case !e.waiting:
		case e.retriesUnchanged() || e.changes != changes:
			return e.evaluatedAt.Add(evaluationRetry), true
		case b.retryUnchanged == 0: // changes only grows, so a later evaluation has seen no fewer of them
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

// delayHeap is a heap of evaluations by delayEndsAt.
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

// delayEnd returns the next end of a preemption delay of the first ask of a group, later than after; zero: none, or no
// ask of the group may preempt.
func (eng *Engine) delayEnd(group *objects.AskGroup, after time.Time) time.Time {
	if !group.MayPreempt() {
		return time.Time{}
	}
	if x := eng.firstWithoutNomination(group); x != nil {
		return NextDelayEnd(eng.part, x, after)
	}
	return time.Time{}
}

// nextRetry returns the first time at which a group that backs off is evaluated again.
func (eng *Engine) nextRetry() (time.Time, bool) { return eng.backOff.nextRetry(eng.changeCount()) }

// refreshDelay computes again when a delay of e ends.
func (eng *Engine) refreshDelay(e *evaluation) {
	eng.backOff.setDelayEnd(e, eng.delayEnd(e.group, e.evaluatedAt))
}

// refreshFirstAskChanges updates the groups whose first ask may have changed.
func (eng *Engine) refreshFirstAskChanges() {
	for _, group := range eng.changes.takeFirstAskChanged() {
		if e := eng.backOff.byGroup[group]; e != nil {
			eng.refreshDelay(e)
		}
	}
}

// addDueGroups lists the groups for which a delay has ended since their last evaluation (PRE-16).
func (eng *Engine) addDueGroups(now time.Time) {
	eng.refreshFirstAskChanges()
	for b := &eng.backOff; len(b.delays) > 0 && !b.delays[0].delayEndsAt.After(now); {
		e := b.delays[0]
		eng.refreshDelay(e)
		if e.delayEndsAt.IsZero() || e.delayEndsAt.After(now) {
			continue // the group has another first ask by now
		}
		b.setDelayEnd(e, time.Time{})
		if e.waiting {
			b.stopWaiting(e)
			eng.toEvaluate = append(eng.toEvaluate, e)
		}
	}
}

// nextDelayEnd returns the next time at which addDueGroups has work (PRE-16). Work that is due already is left to the
// next Schedule.
func (eng *Engine) nextDelayEnd() (time.Time, bool) {
	for b := &eng.backOff; len(b.delays) > 0; {
		e := b.delays[0]
		if e.delayEndsAt.After(eng.servedUntil) {
			return e.delayEndsAt, true
		}
		if !e.waiting { // it is listed for evaluation already, and must not hide the delays behind it
			b.setDelayEnd(e, time.Time{})
			continue
		}
		eng.refreshDelay(e)
		if !e.delayEndsAt.IsZero() && !e.delayEndsAt.After(eng.servedUntil) {
			return time.Time{}, false
		}
	}
	return time.Time{}, false
}

// refreshDelays updates all delays for a new configuration.
func (eng *Engine) refreshDelays() {
	for _, e := range slices.Clone(eng.backOff.queue) {
		if e.waiting {
			eng.refreshDelay(e)
		}
	}
	for _, e := range eng.toEvaluate {
		if eng.backOff.byGroup[e.group] == e {
			eng.refreshDelay(e)
		}
	}
}

func boolToInt(b bool) int {
	if b {
		return 1
	}
	return 0
}
