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

// Notice is what a Noted is about.
type Notice uint8

// The notices.
const (
	NotePreempted       Notice = iota // an allocation was told to leave
	NoteOverdue                       // it was so long ago, and has not left
	NoteNominated                     // an ask waits for a node
	NoteNominationEnded               // it does not any more
	NoteChurn                         // room has gone round a circle of leaves too often
	NotePauseEnded                    // two leaves may take each other's place again
	NoteIgnored                       // something that the RM sent changed nothing, and the interface has no answer for it
)

func (n Notice) String() string {
	return [...]string{"preempted", "overdue", "nominated", "nomination ended", "churn", "pause ended", "ignored"}[n]
}

// Party is an ask, or an allocation, as far as others have to know who it is.
type Party struct {
	Key   objects.AllocationKey
	App   objects.AppID
	Queue objects.QueuePath
}

func (p Party) String() string { return fmt.Sprintf("%s (%s in %s)", p.Key, p.App, p.Queue) }

// Noted says what only the core knows about preemption. It is for history and meters: no
// resource manager is told.
type Noted struct {
	What Notice
	Who  Party // the allocation that was told to leave, or the ask that waits

	Priority int32 // of Who, where Who has a queue
	Amounts  resources.Amounts
	Node     objects.NodeID
	Since    time.Time        // NoteOverdue, NoteNominationEnded, NotePauseEnded: when it was told, began to wait, was paused
	By       Party            // who takes the place; nobody: no ask does, or nobody's is taken
	Right    preemption.Right // NotePreempted, NoteNominated
	Grace    time.Duration    // NotePreempted: that the RM gives it to end in
	Victims  int              // NoteNominated: how many were told to leave for it
	End      NominationState  // NoteNominationEnded
	Why      string           // in words, where there is more to say; may be empty

	Cycle   preemption.Cycle // NoteChurn; NotePauseEnded: the two, or the one, that were paused
	Ignored Ignored          // NoteIgnored; Who is what it was about, without a queue

	Until time.Time // NoteChurn: until when those beside each other in the cycle are paused; zero: they are not
}

func (Noted) effect() {}

func (e Noted) String() string {
	s := fmt.Sprintf("noted: %s %s on %s", e.Who, e.What, e.Node)
	switch e.What {
	case NoteChurn, NotePauseEnded:
		s = fmt.Sprintf("noted: %s %s", e.What, e.Cycle)
		if !e.Until.IsZero() {
			s += ", paused"
		}
	case NoteIgnored:
		return fmt.Sprintf("noted: ignored %s of %s (%s): %s", e.Ignored, e.Who.Key, e.Who.App, e.Why)
	case NotePreempted:
		s += ", by " + e.Right.String()
	case NoteNominated:
		s += fmt.Sprintf(", by %s, %d leave", e.Right, e.Victims)
	case NoteNominationEnded:
		s += ", " + e.End.String()
	}
	if e.By != (Party{}) {
		s += ", by " + e.By.String()
	}
	if e.Why != "" {
		s += ": " + e.Why
	}
	return s
}

// WithoutNotes is effects without those for history, logs and metrics only: what there is to tell
// and to do.
func WithoutNotes(effects []Effect) []Effect {
	noted := func(e Effect) bool {
		_, refused := e.(Refused)
		return !refused && Internal(e)
	}
	if !slices.ContainsFunc(effects, noted) {
		return effects
	}
	return slices.DeleteFunc(slices.Clone(effects), noted)
}

func partyOf(x *objects.Allocation) Party {
	a := x.Application()
	return Party{x.Key(), a.ID(), a.Queue().Path()}
}

// noteTold notes that somebody was told to leave. by is nil when no ask wants the room.
func (c *Core) noteTold(victims []*objects.Allocation, by *objects.Allocation, right preemption.Right, why string) {
	n := Noted{What: NotePreempted, Right: right, Why: why}
	if by != nil {
		n.By = partyOf(by)
	}
	for _, y := range victims {
		n.Who, n.Priority, n.Amounts, n.Node, n.Grace = partyOf(y), y.Ask().Priority, y.Ask().Amounts, y.Node().ID(), priorities.GraceOf(y.Ask().Tags)
		c.emit(n)
	}
}

func (c *Core) noteNominated(x *objects.Allocation, on objects.NodeID, right preemption.Right, victims int) {
	c.emit(Noted{What: NoteNominated, Who: partyOf(x), Priority: x.Ask().Priority, Amounts: x.Ask().Amounts, Node: on, Right: right, Victims: victims})
}

func (c *Core) noteOverdue(late []*objects.Allocation) {
	for _, y := range late {
		at, _ := c.part.ToldAt(y)
		c.emit(Noted{What: NoteOverdue, Who: partyOf(y), Priority: y.Ask().Priority, Amounts: y.Ask().Amounts, Node: y.Node().ID(), Since: at})
	}
}

// noteLapsed notes which nominations have ended since it was last called. The reason is
// that which is given, with the ask that has the node now and what else there is to say, or
// what can be seen.
func (c *Core) noteLapsed(end NominationState, by Party, why string, now time.Time) {
	for _, l := range c.part.TakeLapsed() {
		n := Noted{
			What: NoteNominationEnded, Who: partyOf(l.Ask), Priority: l.Ask.Ask().Priority, Amounts: l.Ask.Ask().Amounts, Node: l.Node.ID(), Since: l.Since,
			End: end, By: by, Why: why,
		}
		if end == NominationWaits {
			n.End = c.endOf(l)
			if n.End == NominationKept {
				n.Why = "placed on node " + string(l.Ask.Node().ID())
			}
		}
		c.emit(n)
		c.noteLeftWaiting(l.Ask, n.End, now)
	}
}

// endOf sees why a nomination has ended about which nobody has said anything.
func (c *Core) endOf(l objects.Lapsed) NominationState {
	x, known := c.part.Allocation(l.Ask.Key())
	n, there := c.part.Node(l.Node.ID())
	switch {
	case !known || x != l.Ask:
		return NominationCancelled
	case !x.Pending():
		return NominationKept
	case !there || n != l.Node || !n.Accepts(x.Shape()):
		return NominationLeftNode
	}
	return NominationResized
}
