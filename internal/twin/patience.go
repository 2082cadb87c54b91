package twin

import (
	"slices"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/policies"
)

// How long preemption waits.

// endOverdue stops counting on those who were told to leave too long ago, and ends the
// nominations that have lasted too long.
func (t *Twin) endOverdue() {
	if t.patience == 0 {
		return
	}
	for _, w := range t.work {
		w.overdue = w.overdue || w.leaving && !t.now.Before(t.from(w.told).Add(t.patience))
	}
	for _, w := range slices.Clone(t.nominees) {
		if !t.now.Before(t.from(w.waits).Add(t.patience)) {
			t.giveUp(w)
		}
	}
}

// delaysEnd are the times, after one and not after another, at which a delay ends that kept w
// from preempting. Then w looks, whenever it looked last.
func (t *Twin) delaysEnd(w *work, after, until time.Time) (ends []time.Time) {
	conf := t.queue(t.app(w.ask.App).leaf).conf
	delays := []time.Duration{conf.PreemptionDelay}
	if conf.PrioritySwap != policies.PrioritySwapNone {
		delays = append(delays, conf.PriorityDelay)
	}
	for _, d := range delays {
		if at := w.created.Add(d); w.ask.Policy.Other() && w.ask.RequiredNode == "" && t.preemption && !t.even && at.After(after) && !at.After(until) {
			ends = append(ends, at)
		}
	}
	return ends
}

// looksDue is when some who looked in vain look again because a delay ends; none, if one has
// ended already and only the next Schedule is awaited.
func (t *Twin) looksDue() (times []time.Time) {
	for _, w := range t.firstOfEachKind(t.count()) {
		at, ok := t.tried[kindOfAsk(w.ask)]
		if !ok || !t.mayClaim(w) {
			continue // the next Schedule lets it look, or it never does
		}
		if len(t.delaysEnd(w, at, t.now)) > 0 {
			return nil
		}
		if !t.now.Before(at.Add(retry)) {
			continue
		}
		times = append(times, t.delaysEnd(w, t.now, t.now.Add(1e6*time.Hour))...)
	}
	return times
}

// giveUp ends the nomination of w, which may look again later: it might be led astray again.
func (t *Twin) giveUp(w *work) {
	kind := kindOfAsk(w.ask)
	if !slices.ContainsFunc(t.work, func(x *work) bool { return x.node == "" && x.nominated == "" && kindOfAsk(x.ask) == kind }) {
		t.tried[kind] = t.now
	}
	t.unnominate(w)
	t.gaveBack(w)
}

// patienceEnds are the times that endOverdue waits for; none, if it need not wait.
func (t *Twin) patienceEnds() (times []time.Time) {
	for _, w := range t.work {
		if w.leaving && !w.overdue {
			times = append(times, t.from(w.told).Add(t.patience))
		}
	}
	for _, w := range t.nominees {
		times = append(times, t.from(w.waits).Add(t.patience))
	}
	if t.patience == 0 || slices.ContainsFunc(times, func(at time.Time) bool { return !at.After(t.now) }) {
		return nil
	}
	return times
}

// from is when preemption began to wait for what began at a time.
func (t *Twin) from(at time.Time) time.Time {
	if t.restarted.After(at) {
		return t.restarted
	}
	return at
}
