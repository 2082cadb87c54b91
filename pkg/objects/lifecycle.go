package objects

import "time"

// State is where an application is in its life. It only moves forward
// (behaviour.md 4.1). The states after Running come with the application's end: an
// application lives here until the RM removes it.
type State uint8

// The states of an application.
const (
	New      State = iota // no ask yet
	Accepted              // has asked, nothing placed yet
	Running               // something was placed
)

func (s State) String() string { return [...]string{"New", "Accepted", "Running"}[s] }

// StateChange is one line of an application's state log.
type StateChange struct {
	State State
	At    time.Time
}

// run moves a one state on, as far as to. Every state on the way is logged.
func (a *Application) run(to State, now time.Time) {
	for a.state < to {
		a.state++
		a.log = append(a.log, StateChange{a.state, now})
	}
}
