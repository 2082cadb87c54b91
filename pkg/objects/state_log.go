package objects

import (
	"slices"
	"time"
)

// StateReason is why an application entered a state.
type StateReason uint8

// The reasons to enter a state.
const (
	ReasonFirstAsk           StateReason = iota // the first ask came in
	ReasonAllocated                             // something was placed
	ReasonAskWhileCompleting                    // an ask came in while it was completing
	ReasonIdle                                  // nothing was left to do
	ReasonIdleTimeout                           // and nothing came for as long as that takes
	ReasonRemoved                               // the RM removed it
	ReasonRejected                              // it was not let in
	ReasonRetentionOver                         // it ended as long ago as history goes back
	ReasonHistoryFull                           // so many have ended since that history has no room for it
)

func (r StateReason) String() string {
	return [...]string{
		"its first ask came in", "something was placed", "it asked again", "nothing is pending and nothing runs",
		"it had nothing to do for long enough", "the resource manager removed it", "it was rejected",
		"it ended long enough ago", "more have ended since than are kept",
	}[r]
}

// StateChange is one line of an application's state log. It is small because there is
// one for every state of every application that is still remembered.
type StateChange struct {
	at     int64 // nanoseconds since 1970
	State  State // the one entered
	Reason StateReason
}

// At is when the state was entered.
func (c StateChange) At() time.Time { return time.Unix(0, c.at).UTC() }

// A log has a bound: an application that asks for one thing after the other enters two
// states with each. The first entries say when it began, the last what it does.
const (
	maxLogEntries    = 32
	keptFirstEntries = 4
)

type stateLog []StateChange

// with is the log with one more entry. One that is full loses the oldest after the first
// few.
func (l stateLog) with(c StateChange) stateLog {
	if len(l) == maxLogEntries {
		l = slices.Delete(l, keptFirstEntries, keptFirstEntries+1)
	}
	return append(l, c)
}
