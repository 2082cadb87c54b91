package scheduler

import (
	"fmt"
	"slices"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/preemption"
	"github.com/canopy-scheduler/canopy/pkg/preemption/victim"
	"github.com/canopy-scheduler/canopy/pkg/priorities"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// EventKind is the kind of an Event.
type EventKind uint8

// The kinds.
const (
	EventPreempted       EventKind = iota // an allocation was preempted
	EventOverdue                          // a victim has not ended within the nomination timeout
	EventNominated                        // an ask was nominated for a node
	EventNominationEnded                  // the nomination of an ask ended
	EventPreemptionCycle                  // leaves preempted each other's allocations in a cycle
	EventCoolDownEnded                    // two leaves may preempt each other's allocations again
	EventIgnored                          // a request of the RM changed nothing, and the interface has no answer to it
)

func (n EventKind) String() string {
	return [...]string{"preempted", "overdue", "nominated", "nomination ended", "preemption cycle", "cool-down ended", "ignored"}[n]
}

// AllocationRef names an ask or an allocation in events.
type AllocationRef struct {
	Key   objects.AllocationKey
	App   objects.AppID
	Queue objects.QueuePath
}

func (p AllocationRef) String() string { return fmt.Sprintf("%s (%s in %s)", p.Key, p.App, p.Queue) }

// Event reports what only the core knows, mostly about preemption. It is for history, logs and metrics, and
// is not sent to the RM.
type Event struct {
	Kind    EventKind
	Subject AllocationRef // the victim, or the nominated ask

	Priority      int32 // of Subject; unset where Subject has no queue
	Amounts       resources.Amounts
	Node          objects.NodeID
	Since         time.Time       // when the ended nomination or cool-down began; EventOverdue: of the preemption
	Preemptor     AllocationRef   // the ask that preempted, or that has the node now; zero: none
	Reason        victim.Reason   // EventPreempted, EventNominated
	Grace         time.Duration   // EventPreempted: the grace period of the victim
	Victims       int             // EventNominated: the number of victims
	NominationEnd NominationState // EventNominationEnded
	Message       string          // details; may be empty

	Cycle   preemption.Cycle // EventPreemptionCycle. EventCoolDownEnded: the two leaves of the cool-down, or the one
	Ignored Ignored          // EventIgnored; Subject then has no queue

	Until time.Time // EventPreemptionCycle: when the cool-down of neighbours in the cycle ends; zero: there is none
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
	case EventIgnored:
		return fmt.Sprintf("event: ignored %s of %s (%s): %s", e.Ignored, e.Subject.Key, e.Subject.App, e.Message)
	case EventPreempted:
		s += ", by " + e.Reason.String()
	case EventNominated:
		s += fmt.Sprintf(", by %s, victims: %d", e.Reason, e.Victims)
	case EventNominationEnded:
		s += ", " + e.NominationEnd.String()
	}
	if e.Preemptor != (AllocationRef{}) {
		s += ", by " + e.Preemptor.String()
	}
	if e.Message != "" {
		s += ": " + e.Message
	}
	return s
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

// emitPreempted emits EventPreempted for each victim. preemptor is nil for an enforced max and node
// pressure.
func (c *Core) emitPreempted(victims []*objects.Allocation, preemptor *objects.Allocation, reason victim.Reason, message string) {
	n := Event{Kind: EventPreempted, Reason: reason, Message: message}
	if preemptor != nil {
		n.Preemptor = refOf(preemptor)
	}
	for _, y := range victims {
		n.Subject, n.Priority, n.Amounts, n.Node, n.Grace = refOf(y), y.Ask().Priority, y.Ask().Amounts, y.Node().ID(), priorities.GracePeriodOf(y.Ask().Tags)
		c.emit(n)
	}
}

func (c *Core) emitNominated(x *objects.Allocation, node objects.NodeID, reason victim.Reason, victims int) {
	c.emit(Event{Kind: EventNominated, Subject: refOf(x), Priority: x.Ask().Priority, Amounts: x.Ask().Amounts, Node: node, Reason: reason, Victims: victims})
}

// emitOverdue emits EventOverdue for each victim (PRE-88).
func (c *Core) emitOverdue(late []*objects.Allocation) {
	for _, y := range late {
		at, _ := c.part.PreemptingSince(y)
		c.emit(Event{Kind: EventOverdue, Subject: refOf(y), Priority: y.Ask().Priority, Amounts: y.Ask().Amounts, Node: y.Node().ID(), Since: at})
	}
}

// emitEndedNominations emits the nominations that have ended since it was last called. With end
// NominationWaiting the reason is derived from the state; else end, preemptor (the ask that has the node
// now) and message are the reason.
func (c *Core) emitEndedNominations(end NominationState, preemptor AllocationRef, message string, now time.Time) {
	for _, l := range c.part.TakeEndedNominations() {
		n := Event{
			Kind: EventNominationEnded, Subject: refOf(l.Ask), Priority: l.Ask.Ask().Priority, Amounts: l.Ask.Ask().Amounts, Node: l.Node.ID(), Since: l.Since,
			NominationEnd: end, Preemptor: preemptor, Message: message,
		}
		if end == NominationWaiting {
			n.NominationEnd = c.nominationEnd(l)
			if n.NominationEnd == NominationPlaced {
				n.Message = "placed on node " + string(l.Ask.Node().ID())
			}
		}
		c.emit(n)
		c.recordNominationEnd(l.Ask, n.NominationEnd, now)
	}
}

// nominationEnd derives from the state why a nomination has ended (PRE-79).
func (c *Core) nominationEnd(l objects.EndedNomination) NominationState {
	x, known := c.part.Allocation(l.Ask.Key())
	n, nodeKnown := c.part.Node(l.Node.ID())
	switch {
	case !known || x != l.Ask:
		return NominationCancelled
	case !x.Pending():
		return NominationPlaced
	case !nodeKnown || n != l.Node || !n.Accepts(x.Shape()):
		return NominationNodeLost
	}
	return NominationResized
}
