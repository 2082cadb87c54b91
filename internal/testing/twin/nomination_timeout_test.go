package twin

import (
	"slices"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/policies"
)

// Timeouts of preemption.

// expireNominations marks victims as overdue whose confirmation took too long, and ends the nominations
// that have lasted too long.
func (t *Twin) expireNominations() {
	if t.nominationTimeout == 0 {
		return
	}
	for _, w := range t.allocations {
		w.overdue = w.overdue || w.preempting && !t.now.Before(t.waitStart(w.preemptingSince).Add(t.nominationTimeout))
	}
	for _, w := range slices.Clone(t.nominees) {
		if !t.now.Before(t.waitStart(w.nominatedAt).Add(t.nominationTimeout)) {
			t.abandonNomination(w)
		}
	}
}

// delayEnds returns the times, after one and not after another, at which a delay ends that prevented w from
// preempting. Then w is evaluated whatever its back-off.
func (t *Twin) delayEnds(w *allocation, after, until time.Time) (ends []time.Time) {
	conf := t.queue(t.app(w.ask.App).leaf).conf
	delays := []time.Duration{conf.PreemptionDelay}
	if conf.PriorityPreemption != policies.PriorityPreemptionDisabled {
		delays = append(delays, conf.PriorityPreemptionDelay)
	}
	for _, d := range delays {
		if at := w.created.Add(d); w.ask.Policy.AllowPreemptOther() && w.ask.RequiredNode() == "" && t.preemption &&
			!t.ignorePriority && at.After(after) && !at.After(until) {
			ends = append(ends, at)
		}
	}
	return ends
}

// evaluationsDue returns the times at which backed-off asks are evaluated because a delay ends; none, if one has ended
// already and the next Schedule evaluates them.
func (t *Twin) evaluationsDue() (times []time.Time) {
	for _, w := range t.firstOfEachGroup(t.total()) {
		at, ok := t.backedOff[t.askGroupKey(w.ask)]
		if !ok || !t.mayPreempt(w) {
			continue // the next Schedule evaluates it, or none does
		}
		if len(t.delayEnds(w, at, t.now)) > 0 {
			return nil
		}
		if !t.now.Before(at.Add(backOff)) {
			continue
		}
		times = append(times, t.delayEnds(w, t.now, t.now.Add(1e6*time.Hour))...)
	}
	return times
}

// abandonNomination ends the nomination of w, which is backed off: it might choose the same node.
func (t *Twin) abandonNomination(w *allocation) {
	kind := t.askGroupKey(w.ask)
	if !slices.ContainsFunc(t.allocations,
		func(x *allocation) bool { return x.node == "" && x.nominated == "" && t.askGroupKey(x.ask) == kind }) {
		t.backedOff[kind] = t.now
	}
	t.unnominate(w)
	t.recordReturn(w)
}

// timeoutEnds returns the times that expireNominations waits for; none, if there is none.
func (t *Twin) timeoutEnds() (times []time.Time) {
	for _, w := range t.allocations {
		if w.preempting && !w.overdue {
			times = append(times, t.waitStart(w.preemptingSince).Add(t.nominationTimeout))
		}
	}
	for _, w := range t.nominees {
		times = append(times, t.waitStart(w.nominatedAt).Add(t.nominationTimeout))
	}
	if t.nominationTimeout == 0 || slices.ContainsFunc(times, func(at time.Time) bool { return !at.After(t.now) }) {
		return nil
	}
	return times
}

// waitStart returns the start of the nomination timeout of what began at a time.
func (t *Twin) waitStart(at time.Time) time.Time {
	if t.listeningSince.After(at) {
		return t.listeningSince
	}
	return at
}

func (t *Twin) unnominate(w *allocation) {
	if w.nominated != "" {
		t.gangsRefused = nil
	}
	w.nominated = ""
	t.nominees = slices.DeleteFunc(t.nominees, func(x *allocation) bool { return x == w })
}

// dropNominations removes nominations of asks that are not pending, or whose node is not available.
func (t *Twin) dropNominations() {
	t.nominees = slices.DeleteFunc(t.nominees, func(w *allocation) bool {
		n := t.node(w.nominated)
		lost := !slices.Contains(t.allocations, w) || w.node != "" || n == nil || !n.admits(w.ask)
		if lost {
			t.gangsRefused = nil
			w.nominated = ""
		}
		return lost
	})
}
