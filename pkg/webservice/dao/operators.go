package dao

import "github.com/canopy-scheduler/canopy/pkg/scheduler"

// Operated is the answer to an action of an operator (OPS-6).
type Operated struct {
	Action  string `json:"action"`          // as the path has it
	Name    string `json:"name"`            // of the application, the queue or the node
	Queue   string `json:"queue,omitempty"` // of move: where to
	Changed bool   `json:"changed"`         // false: it was already the case
}

// OperatorState has what operators have switched in a partition.
type OperatorState struct {
	OnHold        []string `json:"onHold"`        // applications, also those that are awaited
	Stopped       []string `json:"stopped"`       // queues, also those that do not exist now
	Cordoned      []string `json:"cordoned"`      // nodes, likewise
	Draining      []string `json:"draining"`      // queues, likewise
	DrainingNodes []string `json:"drainingNodes"` // those of cordoned that are drained
	Moved         []Moved  `json:"moved"`         // applications, also those that are awaited
}

// Moved is an application that an operator has moved to another queue.
type Moved struct {
	ApplicationID string `json:"applicationID"`
	QueueName     string `json:"queueName"` // where it is now
	From          string `json:"from"`
	Time          int64  `json:"time"`
	By            string `json:"by,omitempty"`
}

// NewOperatorState shows s.
func NewOperatorState(s scheduler.OperatorState) OperatorState {
	moved := make([]Moved, len(s.Moved))
	for i, m := range s.Moved {
		moved[i] = Moved{string(m.App), string(m.Queue), string(m.From), Nanos(m.At), m.By}
	}
	return OperatorState{texts(s.Held), texts(s.Stopped), texts(s.Cordoned), texts(s.Drained), texts(s.Draining), moved}
}

// texts are names as texts; never nil.
func texts[S ~string](names []S) []string {
	out := make([]string, len(names))
	for i, name := range names {
		out[i] = string(name)
	}
	return out
}
