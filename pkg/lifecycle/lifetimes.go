package lifecycle

import "time"

// Lifetimes are the times after which states end. A time of zero ends at once, except for New.
type Lifetimes struct {
	Completing time.Duration // time in state Completing (APP-9)
	Completed  time.Duration // retention time of completed applications (APP-38)
	Rejected   time.Duration // retention time of rejected applications (APP-39)
	New        time.Duration // time in state New without an ask (APP-3); zero: for ever
	MaxEnded   int           // maximum number of completed, and of rejected, applications in the history (APP-40)
}

// DefaultLifetimes returns the lifetimes of YuniKorn, with a bound on the number of remembered applications.
func DefaultLifetimes() Lifetimes {
	return Lifetimes{Completing: 30 * time.Second, Completed: 72 * time.Hour, Rejected: 72 * time.Hour, MaxEnded: 50_000}
}
