package lifecycle

import (
	"slices"
	"time"
)

// Reason says why an application entered a state.
type Reason uint8

// The reasons to enter a state.
const (
	ReasonFirstAsk           Reason = iota // the first ask was added
	ReasonAllocated                        // the first allocation was made
	ReasonAskWhileCompleting               // an ask was added in state Completing
	ReasonIdle                             // nothing is pending and nothing allocated
	ReasonIdleTimeout                      // Lifetimes.Completing has passed
	ReasonRemoved                          // the RM removed the application
	ReasonRejected                         // the application was rejected
	ReasonRetentionOver                    // the retention time is over
	ReasonHistoryFull                      // the history had more than Lifetimes.MaxEnded entries
	ReasonGangAllocated                    // all placeholders of its gang were allocated
	ReasonReservationTimeout               // its gang was not complete within the placeholder timeout
	ReasonPlaceholdersEnded                // the releases of its placeholders were confirmed
	ReasonCancelled                        // an operator cancelled it (OPS-7)
	ReasonNoAsk                            // no ask arrived within Lifetimes.New
)

func (r Reason) String() string {
	return [...]string{
		"the first ask arrived", "the first ask was placed", "a new ask arrived", "nothing is pending and nothing runs",
		"the completing timeout has passed", "the resource manager removed it", "it was rejected",
		"the retention time has passed", "the history is full",
		"all placeholders of its gang were placed", "ResourceReservationTimeout", "its placeholders have ended",
		"an operator cancelled it", "no ask arrived in time",
	}[r]
}

// Change records that an application entered a state. It is small because each application
// in the partition and in the history has several.
type Change struct {
	at     int64 // nanoseconds since 1970
	State  State // the state that was entered
	Reason Reason
}

// NewChange returns the change to a state at a time.
func NewChange(to State, reason Reason, at time.Time) Change {
	return Change{State: to, Reason: reason, at: at.UnixNano()}
}

// At returns the time at which the state was entered.
func (c Change) At() time.Time { return time.Unix(0, c.at).UTC() }

// A state log is bounded (APP-42): an application with one ask at a time enters two states with
// each. The first and the last entries are kept.
const (
	maxLogEntries    = 32
	keptFirstEntries = 4
)

// Log lists the states that an application entered after New, oldest first.
type Log []Change

// With returns the log with one more entry. A full log loses the oldest entry after the first
// keptFirstEntries.
func (l Log) With(c Change) Log {
	if len(l) == maxLogEntries {
		l = slices.Delete(l, keptFirstEntries, keptFirstEntries+1)
	}
	return append(l, c)
}
