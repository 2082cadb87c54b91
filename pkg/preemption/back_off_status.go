package preemption

import (
	"fmt"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/objects"
)

// The parts of the back-off that explanations and metrics show. Nothing here changes it.

// BackOffReason says why a group of asks is not evaluated for preemption now.
type BackOffReason string

// The reasons.
const (
	NoBackOff               BackOffReason = ""                   // it is evaluated in the next run, or never
	BackOffNoVictims        BackOffReason = "noVictims"          // its last evaluation found no victims
	BackOffDelay            BackOffReason = "preemptionDelay"    // likewise; the next one is at the end of a delay
	BackOffRefused          BackOffReason = "victimsRefusedByRM" // the RM refused the nodes where victims were found
	BackOffNominationGiveUp BackOffReason = "nominationGivenUp"  // the ask could not be placed on its nominated node
)

// BackOff says when a group of asks is evaluated for preemption again, and why not before.
type BackOff struct {
	Reason     BackOffReason
	Until      time.Time // zero without a reason
	NeedChange bool      // at Until or later, once something has changed that could help; false: at Until in any case
}

// BackOffOf returns the back-off of a group.
func (eng *Engine) BackOffOf(group *objects.AskGroup) BackOff {
	e := eng.backOff.byGroup[group]
	if e == nil || !e.waiting {
		return BackOff{}
	}
	b := BackOff{BackOffNoVictims, e.evaluatedAt.Add(evaluationRetry), !e.retriesUnchanged() &&
		e.changes == eng.changeCount()}
	if b.NeedChange && !eng.youngEnd.IsZero() { // which counts as a change
		b.NeedChange, b.Until = false, eng.youngRetry(e)
	}
	switch {
	case e.nominationGivenUp:
		b.Reason = BackOffNominationGiveUp
	case e.oracleRefused:
		b.Reason = BackOffRefused
	}
	if end := eng.delayEnd(group, e.evaluatedAt); !end.IsZero() && (b.NeedChange || end.Before(b.Until)) {
		return BackOff{Reason: BackOffDelay, Until: end}
	}
	return b
}

// BackedOff returns how many groups back off, and when the first of them is evaluated again; zero: none is without a
// change.
func (eng *Engine) BackedOff() (groups int, next time.Time) {
	for _, at := range [...]func() (time.Time, bool){eng.nextRetry, eng.nextDelayEnd, eng.nextYoungRetry} {
		if t, some := at(); some && (next.IsZero() || t.Before(next)) {
			next = t
		}
	}
	return eng.backOff.waiting, next
}

// check verifies the counts of b.
func (b *backOff) check() error {
	waiting, unchanged := 0, 0
	for _, e := range b.byGroup {
		if e.waiting {
			waiting++
			unchanged += boolToInt(e.retriesUnchanged())
		}
	}
	if waiting != b.waiting || unchanged != b.retryUnchanged {
		return fmt.Errorf("%d ask groups back off, %d are counted; %d are retried without a change, %d are counted", waiting,
			b.waiting, unchanged, b.retryUnchanged)
	}
	return nil
}
