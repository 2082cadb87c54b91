package fakerm

import "fmt"

// Kind says what an Answer is about.
type Kind int

// The kinds of answers.
const (
	NodeAccepted Kind = iota
	NodeRejected
	ApplicationAccepted
	ApplicationRejected
	ApplicationState // an application has another state
	Allocated
	Released
	AskRejected
)

// Answer is one element of a response of the scheduler.
type Answer struct {
	Kind Kind
	ID   string // of the node or application, or the allocation key
	App  string // the application; empty: the answer is about a node
	Node string // where an ask was allocated
	Text string // the reason, the message or the new state
}

// String is the answer as a line of a transcript.
func (a Answer) String() string {
	switch a.Kind {
	case NodeAccepted:
		return "accepted node " + a.ID
	case NodeRejected:
		return fmt.Sprintf("rejected node %s: %s", a.ID, a.Text)
	case ApplicationAccepted:
		return "accepted application " + a.ID
	case ApplicationRejected:
		return fmt.Sprintf("rejected application %s: %s", a.ID, a.Text)
	case ApplicationState:
		return fmt.Sprintf("application %s is %s", a.ID, a.Text)
	case Allocated:
		return fmt.Sprintf("allocated %s (%s) on %s", a.ID, a.App, a.Node)
	case Released:
		return fmt.Sprintf("released %s (%s): %s", a.ID, a.App, a.Text)
	case AskRejected:
		return fmt.Sprintf("rejected ask %s (%s): %s", a.ID, a.App, a.Text)
	}
	panic(fmt.Sprintf("fakerm: no kind %d", a.Kind))
}
