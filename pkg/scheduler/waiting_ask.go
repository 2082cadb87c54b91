package scheduler

import "github.com/canopy-scheduler/canopy/pkg/objects"

// WaitingAsk is a pending ask, and why it waits.
type WaitingAsk struct {
	Ask   *objects.Ask // read-only
	State objects.WaitingState

	Blocked PendingReason // of WaitSkipped: why its quotas do not allow it
	Subject string        // of WaitSkipped: the obstacle, as in a Verdict
}

// EachWithReason yields the asks with their reasons. Asks of one application mostly have the same, which becomes text
// once.
func (e AsksWait) EachWithReason(yield func(w WaitingAsk, reason string) bool) {
	var reason string
	for i, w := range e.Asks {
		if i == 0 || w.State != e.Asks[i-1].State || w.Blocked != e.Asks[i-1].Blocked || w.Subject != e.Asks[i-1].Subject {
			reason = w.Reason()
		}
		if !yield(w, reason) {
			return
		}
	}
}

// Reason returns why it waits, as text. The resource manager may tell it to users.
func (w WaitingAsk) Reason() string {
	if w.State == objects.WaitSkipped {
		return Verdict{Reason: w.Blocked, Subject: w.Subject}.String()
	}
	return "its quotas allow it, and no node can take it now"
}
