package scheduler

import (
	"fmt"
	"slices"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/preemption"
	"github.com/canopy-scheduler/canopy/pkg/priorities"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// EventKind is what a Noted is about.
type EventKind uint8

// The notices.
const (
	EventPreempted       EventKind = iota // an allocation was told to leave
	EventOverdue                          // it was so long ago, and has not left
	EventNominated                        // an ask waits for a node
	EventNominationEnded                  // it does not any more
	EventPreemptionCycle                  // room has gone round a circle of leaves too often
	EventCoolDownEnded                    // two leaves may take each other's place again
	EventIgnored                          // something that the RM sent changed nothing, and the interface has no answer for it
)

func (n EventKind) String() string {
	return [...]string{"preempted", "overdue", "nominated", "nomination ended", "preemption cycle", "cool-down ended", "ignored"}[n]
}

// AllocationRef is an ask, or an allocation, as far as others have to know who it is.
type AllocationRef struct {
	Key   objects.AllocationKey
	App   objects.AppID
	Queue objects.QueuePath
}

func (p AllocationRef) String() string { return fmt.Sprintf("%s (%s in %s)", p.Key, p.App, p.Queue) }

// Event says what only the core knows about preemption. It is for history and meters: no
// resource manager is told.
type Event struct {
	Kind    EventKind
	Subject AllocationRef // the allocation that was told to leave, or the ask that waits

	Priority      int32 // of Who, where Who has a queue
	Amounts       resources.Amounts
	Node          objects.NodeID
	Since         time.Time         // EventOverdue, EventNominationEnded, EventCoolDownEnded: when it was told, began to wait, was paused
	Preemptor     AllocationRef     // who takes the place; nobody: no ask does, or nobody's is taken
	Reason        preemption.Reason // EventPreempted, EventNominated
	Grace         time.Duration     // EventPreempted: that the RM gives it to end in
	Victims       int               // EventNominated: how many were told to leave for it
	NominationEnd NominationState   // EventNominationEnded
	Message       string            // in words, where there is more to say; may be empty

	Cycle   preemption.Cycle // EventPreemptionCycle; EventCoolDownEnded: the two, or the one, that were paused
	Ignored Ignored          // EventIgnored; Who is what it was about, without a queue

	Until time.Time // EventPreemptionCycle: until when those beside each other in the cycle are paused; zero: they are not
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

// WithoutEvents is effects without those for history, logs and metrics only: what there is to tell
// and to do.
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

// emitPreempted notes that somebody was told to leave. by is nil when no ask wants the room.
func (c *Core) emitPreempted(victims []*objects.Allocation, preemptor *objects.Allocation, reason preemption.Reason, message string) {
	n := Event{Kind: EventPreempted, Reason: reason, Message: message}
	if preemptor != nil {
		n.Preemptor = refOf(preemptor)
	}
	for _, y := range victims {
		n.Subject, n.Priority, n.Amounts, n.Node, n.Grace = refOf(y), y.Ask().Priority, y.Ask().Amounts, y.Node().ID(), priorities.GracePeriodOf(y.Ask().Tags)
		c.emit(n)
	}
}

func (c *Core) emitNominated(x *objects.Allocation, node objects.NodeID, reason preemption.Reason, victims int) {
	c.emit(Event{Kind: EventNominated, Subject: refOf(x), Priority: x.Ask().Priority, Amounts: x.Ask().Amounts, Node: node, Reason: reason, Victims: victims})
}

func (c *Core) emitOverdue(late []*objects.Allocation) {
	for _, y := range late {
		at, _ := c.part.PreemptingSince(y)
		c.emit(Event{Kind: EventOverdue, Subject: refOf(y), Priority: y.Ask().Priority, Amounts: y.Ask().Amounts, Node: y.Node().ID(), Since: at})
	}
}

// emitEndedNominations notes which nominations have ended since it was last called. The reason is
// that which is given, with the ask that has the node now and what else there is to say, or
// what can be seen.
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

// nominationEnd sees why a nomination has ended about which nobody has said anything.
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
