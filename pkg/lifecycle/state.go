package lifecycle

// State is the state of an application (APP-1), named as in YuniKorn.
type State uint8

// The states of an application.
const (
	New        State = iota // has no ask yet
	Accepted                // has had an ask; nothing is allocated but placeholders
	Running                 // has had an allocation that is no placeholder, or all placeholders of its gang
	Rejected                // was not admitted; in the history only
	Completing              // nothing pending and nothing allocated; a new ask makes it Running again
	Completed               // has ended; in the history only
	// its gang was not complete in time, or an operator cancelled it; its allocations are being released (APP-2, OPS-7)
	Failing
	Failed   // has ended by failing; in the history only
	Expired  // removed from the history
	Resuming // its gang was not complete in time; its members become ordinary asks (APP-2)
	states
)

func (s State) String() string {
	return [...]string{"New", "Accepted", "Running", "Rejected", "Completing", "Completed", "Failing", "Failed", "Expired",
		"Resuming"}[s]
}

// Event is the event of a state transition.
type Event uint8

// The events of applications.
const (
	RunApplication Event = iota
	RejectApplication
	CompleteApplication
	FailApplication
	ExpireApplication
	ResumeApplication
	events
)

func (e Event) String() string {
	return [...]string{"runApplication", "rejectApplication", "completeApplication", "failApplication",
		"expireApplication", "resumeApplication"}[e]
}

// transitions lists all state transitions (APP-1).
var transitions = [...]struct {
	from  State
	event Event
	to    State
}{
	{New, RejectApplication, Rejected},
	{New, RunApplication, Accepted},
	{Resuming, RunApplication, Accepted},
	{Accepted, RunApplication, Running},
	{Running, RunApplication, Running},
	{Completing, RunApplication, Running},
	{New, CompleteApplication, Completing}, // when no ask arrived in time (APP-3)
	{Accepted, CompleteApplication, Completing},
	{Running, CompleteApplication, Completing},
	{Completing, CompleteApplication, Completed},
	{New, FailApplication, Failing},
	{Accepted, FailApplication, Failing},
	{Running, FailApplication, Failing},
	{Completing, FailApplication, Failing}, // only when an operator cancels it (OPS-7)
	{Resuming, FailApplication, Failing},   // likewise
	{Failing, FailApplication, Failed},
	{New, ResumeApplication, Resuming},
	{Accepted, ResumeApplication, Resuming},
	{Completed, ExpireApplication, Expired},
	{Failed, ExpireApplication, Expired},
	{Rejected, ExpireApplication, Expired},
}

// nextState maps state and event to the next state; noTransition: there is none.
var nextState = func() (n [states][events]State) {
	for s := range n {
		for e := range n[s] {
			n[s][e] = noTransition
		}
	}
	for _, m := range transitions {
		n[m.from][m.event] = m.to
	}
	return n
}()

const noTransition = states

// After returns the state after e in state s. ok is false if there is no transition.
func (s State) After(e Event) (to State, ok bool) {
	to = nextState[s][e]
	return to, to != noTransition
}
