package twin

import (
	"slices"
	"time"
)

// How long preemption waits.

// endOverdue stops counting on those who were told to leave too long ago, and ends the
// nominations that have lasted too long.
func (t *Twin) endOverdue() {
	if t.patience == 0 {
		return
	}
	for _, w := range t.work {
		w.overdue = w.overdue || w.leaving && !t.now.Before(w.told.Add(t.patience))
	}
	for _, w := range slices.Clone(t.nominees) {
		if !t.now.Before(w.waits.Add(t.patience)) {
			t.giveUp(w)
		}
	}
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
			times = append(times, w.told.Add(t.patience))
		}
	}
	for _, w := range t.nominees {
		times = append(times, w.waits.Add(t.patience))
	}
	if t.patience == 0 || slices.ContainsFunc(times, func(at time.Time) bool { return !at.After(t.now) }) {
		return nil
	}
	return times
}
