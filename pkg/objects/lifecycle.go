package objects

import (
	"fmt"
	"time"
)

// State is where an application is in its life (behaviour.md 4.1). The names are the
// interface's.
type State uint8

// The states of an application.
const (
	New        State = iota // no ask yet
	Accepted                // has asked, nothing placed yet
	Running                 // something was placed
	Rejected                // was never let in; history alone knows it
	Completing              // has nothing to do; completes unless it asks again
	Completed               // has ended; history alone knows it
	Failing                 // is being taken down; not entered before there are gangs
	Failed                  // was taken down; not entered before there are gangs
	Expired                 // is forgotten
	Resuming                // starts over without its gang; not entered before there are gangs
	states
)

func (s State) String() string {
	return [...]string{"New", "Accepted", "Running", "Rejected", "Completing", "Completed", "Failing", "Failed", "Expired", "Resuming"}[s]
}

// Event is what moves an application from one state to another.
type Event uint8

// The events of an application's life.
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
	return [...]string{"runApplication", "rejectApplication", "completeApplication", "failApplication", "expireApplication", "resumeApplication"}[e]
}

// transitions is the whole life of an application. What is not in it does not happen.
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
	{Accepted, CompleteApplication, Completing},
	{Running, CompleteApplication, Completing},
	{Completing, CompleteApplication, Completed},
	{New, FailApplication, Failing},
	{Accepted, FailApplication, Failing},
	{Running, FailApplication, Failing},
	{Failing, FailApplication, Failed},
	{New, ResumeApplication, Resuming},
	{Accepted, ResumeApplication, Resuming},
	{Completed, ExpireApplication, Expired},
	{Failed, ExpireApplication, Expired},
	{Rejected, ExpireApplication, Expired},
}

// nextState is moves by state and event; nowhere: there is no such move.
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

// After is the state that e leads to from s. ok is false when e cannot happen in s.
func (s State) After(e Event) (to State, ok bool) {
	to = nextState[s][e]
	return to, to != noTransition
}

// ApplicationStateChange says that an application has entered a state.
type ApplicationStateChange struct {
	App   AppID
	Queue QueuePath // the leaf that it is in, or was
	StateChange
}

// TakeStateChanges returns which states applications have entered since it was last called,
// in that order. The list is good until the partition changes.
func (p *Partition) TakeStateChanges() []ApplicationStateChange {
	out := p.stateChanges
	p.stateChanges = p.stateChanges[:0]
	return out
}

// handleEvent lets e happen to a. An event that leaves it where it is leaves no trace.
func (p *Partition) handleEvent(a *Application, e Event, reason StateReason, now time.Time) {
	to, ok := a.state.After(e)
	switch {
	case !ok:
		panic(fmt.Sprintf("objects: %s happens to application %s, which is %s", e, a.id, a.state))
	case to == a.state:
		return
	}
	if a.completingEntry != nil {
		p.completing.Remove(a.completingEntry)
		a.completingEntry = nil
	}
	change := StateChange{State: to, Reason: reason, at: now.UnixNano()}
	if a.state = to; to == Completing {
		a.completingEntry = p.completing.PushBack(completingSince{a, change.at})
	}
	a.log = a.log.with(change)
	p.recordAppChange(a)
	p.stateChanges = append(p.stateChanges, ApplicationStateChange{a.id, a.queue.path, change})
	p.updateRunning(a)
}

// asks notes that an application has asked for something.
func (p *Partition) onAskAdded(a *Application, now time.Time) {
	switch a.state {
	case New:
		p.handleEvent(a, RunApplication, ReasonFirstAsk, now)
	case Completing:
		a.restarting = true
		p.handleEvent(a, RunApplication, ReasonAskWhileCompleting, now)
	}
}
