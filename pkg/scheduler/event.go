package scheduler

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/preemption"
	"github.com/canopy-scheduler/canopy/pkg/preemption/victim"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// EventKind is the kind of an Event.
type EventKind uint8

// The kinds.
const (
	EventPreempted           EventKind = iota // an allocation was preempted
	EventOverdue                              // a victim has not ended within the nomination timeout
	EventNominated                            // an ask was nominated for a node
	EventNominationEnded                      // the nomination of an ask ended
	EventPreemptionCycle                      // leaves preempted each other's allocations in a cycle
	EventCoolDownEnded                        // two leaves may preempt each other's allocations again
	EventIgnored                              // a request of the RM changed nothing, and the interface has no answer to it
	EventPlaceholderTooSmall                  // a placeholder is released because it is smaller than the ask
	EventReserved                             // an ask has reserved a node
	EventReservationEnded                     // its reservation ended
	EventReservationsMoved                    // members of a gang have reserved other nodes (RES-11)
	// a reported allocation, which its application does not take, is held on its node
	EventOrphaned
	// a node has refused an allocation, and does not get the ask again until Until
	EventNodeRefused
	EventNodeRefusalEnded // it may get the ask again
)

func (n EventKind) String() string {
	return [...]string{
		"preempted", "overdue", "nominated", "nomination ended", "preemption cycle", "cool-down ended", "ignored",
		"placeholder too small", "reserved", "reservation ended", "reservations moved", "orphaned", "refused",
		"refusal ended",
	}[n]
}

// MovedReservation is the node that a member of a gang has reserved instead of another one.
type MovedReservation struct {
	Key  objects.AllocationKey
	Node objects.NodeID
}

// AllocationRef names an ask or an allocation in events.
type AllocationRef struct {
	Key   objects.AllocationKey
	App   objects.AppID
	Queue objects.QueuePath
}

func (p AllocationRef) String() string { return fmt.Sprintf("%s (%s in %s)", p.Key, p.App, p.Queue) }

// Event reports what only the core knows, mostly about preemption and reservations. It is for history, logs and
// metrics, and is not sent to the RM.
type Event struct {
	Kind    EventKind
	Subject AllocationRef // the victim, or the nominated or reserving ask; EventReservationsMoved: without a key

	Priority int32 // of Subject; unset where Subject has no queue
	Amounts  resources.Amounts
	Node     objects.NodeID
	// when the ended nomination, reservation or cool-down began; EventOverdue: of the preemption
	Since          time.Time
	Preemptor      AllocationRef              // the ask that preempted, or that has the node now; zero: none
	Reason         victim.Reason              // EventPreempted, EventNominated
	Grace          time.Duration              // EventPreempted: the grace period of the victim
	Victims        int                        // EventNominated: the number of victims
	NominationEnd  preemption.NominationState // EventNominationEnded
	ReservationEnd objects.ReservationEnd     // EventReservationEnded: why it ended
	Moved          []MovedReservation         // EventReservationsMoved
	Message        string                     // details; may be empty

	Cycle   preemption.Cycle // EventPreemptionCycle. EventCoolDownEnded: the two leaves of the cool-down, or the one
	Ignored Ignored          // EventIgnored; Subject then has no queue, as in EventOrphaned

	Until time.Time // EventPreemptionCycle: when the cool-down of neighbours in the cycle ends; zero: there is none

	// EventNodeRefused and EventNodeRefusalEnded
	OfShape bool // all asks with the requests and constraints of Subject are kept from the node, which has refused several
	Count   int  // of back-offs, each of which began soon after the one before
}

func (Event) effect() {}

func (e Event) String() string {
	s := fmt.Sprintf("event: %s %s on %s", e.Subject, e.Kind, e.Node)
	switch e.Kind {
	case EventPreemptionCycle, EventCoolDownEnded:
		s = fmt.Sprintf("event: %s %s", e.Kind, e.Cycle)
		if !e.Until.IsZero() {
			s += ", cooling down"
		}
	case EventOrphaned:
		return fmt.Sprintf("event: %s (%s) orphaned on %s: %s", e.Subject.Key, e.Subject.App, e.Node, e.Message)
	case EventNodeRefused, EventNodeRefusalEnded:
		return e.refusalText()
	case EventIgnored:
		return fmt.Sprintf("event: %s of %s (%s): %s", strings.ToLower(e.Ignored.Title()), e.Subject.Key, e.Subject.App,
			e.Message)
	case EventReservationsMoved:
		s = fmt.Sprintf("event: %s in %s %s:", e.Subject.App, e.Subject.Queue, e.Kind)
		for _, m := range e.Moved {
			s += fmt.Sprintf(" %s to %s", m.Key, m.Node)
		}
	case EventPreempted:
		s += ", by " + e.Reason.String()
	case EventNominated:
		s += fmt.Sprintf(", by %s, victims: %d", e.Reason, e.Victims)
	case EventNominationEnded:
		s += ", " + e.NominationEnd.String()
	case EventReservationEnded:
		s += ", " + e.ReservationEnd.String()
	}
	if e.Preemptor != (AllocationRef{}) {
		s += ", by " + e.Preemptor.String()
	}
	if e.Message != "" {
		s += ": " + e.Message
	}
	return s
}

func (e *Event) refusalText() string {
	what := e.Subject.String()
	if e.OfShape {
		what = "all asks like " + what
	}
	if e.Kind == EventNodeRefusalEnded {
		return fmt.Sprintf("event: node %s may get %s again: %s", e.Node, what, e.Message)
	}
	return fmt.Sprintf("event: node %s refused %s, until %s: %s", e.Node, what, e.Until.UTC().Format(time.RFC3339),
		e.Message)
}

// WithoutEvents is effects without the internal ones, Refused excepted.
func WithoutEvents(effects []Effect) []Effect {
	isEvent := func(e Effect) bool {
		_, refused := e.(Refused)
		return !refused && Internal(e)
	}
	if !slices.ContainsFunc(effects, isEvent) {
		return effects
	}
	return slices.DeleteFunc(slices.Clone(effects), isEvent)
}

func refOf(x *objects.Allocation) AllocationRef {
	a := x.Application()
	return AllocationRef{x.Key(), a.ID(), a.Queue().Path()}
}
