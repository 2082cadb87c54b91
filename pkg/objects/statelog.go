package objects

import (
	"slices"
	"time"
)

// Reason is why an application entered a state.
type Reason uint8

// The reasons to enter a state.
const (
	AskedFirst    Reason = iota // the first ask came in
	WasPlaced                   // something was placed
	AskedAgain                  // an ask came in while it was completing
	WentIdle                    // nothing was left to do
	StayedIdle                  // and nothing came for as long as that takes
	WasRemoved                  // the RM removed it
	WasRefused                  // it was not let in
	WasKeptLong                 // it ended as long ago as history goes back
	WasCrowdedOut               // so many have ended since that history has no room for it
)

func (r Reason) String() string {
	return [...]string{
		"its first ask came in", "something was placed", "it asked again", "nothing is pending and nothing runs",
		"it had nothing to do for long enough", "the resource manager removed it", "it was not let in",
		"it ended long enough ago", "more have ended since than are kept",
	}[r]
}

// StateChange is one line of an application's state log. It is small because there is
// one for every state of every application that is still remembered.
type StateChange struct {
	at    int64 // nanoseconds since 1970
	State State // the one entered
	Why   Reason
}

// At is when the state was entered.
func (c StateChange) At() time.Time { return time.Unix(0, c.at).UTC() }

// A log has a bound: an application that asks for one thing after the other enters two
// states with each. The first entries say when it began, the last what it does.
const (
	longestLog = 32
	firstKept  = 4
)

type stateLog []StateChange

// with is the log with one more entry. One that is full loses the oldest after the first
// few.
func (l stateLog) with(c StateChange) stateLog {
	if len(l) == longestLog {
		l = slices.Delete(l, firstKept, firstKept+1)
	}
	return append(l, c)
}
