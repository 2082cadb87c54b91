package scheduler

import (
	"errors"
	"fmt"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/priorities"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// submitAsk takes an ask of no priority class in. A known key is not an ask again: only its amounts may differ
// (behaviour.md 10.8).
func (c *Core) submitAsk(now time.Time, ask *objects.Ask) {
	c.submitAskOfClass("", now, ask)
}

func (c *Core) submitAskOfClass(priorityClass string, now time.Time, ask *objects.Ask) {
	if x, known := c.knownAllocation(ask); known {
		c.emitIgnoredChanges(x, ask)
		err := c.part.CheckResize(x, ask.Amounts)
		if err == nil {
			err = c.updateKnown(now, x, ask)
		}
		c.emitAskRejected(ask, err)
		return
	}
	if err := wellFormed(ask); err != nil {
		c.emitAskRejected(ask, err)
		return
	}
	if _, err := c.part.AddAskWithClass(priorityClass, ask, now); err != nil {
		c.emitAskRejected(ask, err)
		return
	}
	c.emitStateChanges()
}

// submitAskWithClass takes an ask in if it is known, or if its class has nothing against it. Who
// asks is known here only: the door hears of applications on another stream.
func (c *Core) submitAskWithClass(now time.Time, m SubmitAskWithClass) {
	if _, known := c.knownAllocation(m.Ask); !known {
		if err := c.checkClass(m); err != nil {
			c.emitAskRejected(m.Ask, err)
			return
		}
	}
	c.submitAskOfClass(m.Class, now, m.Ask)
}

func (c *Core) checkClass(m SubmitAskWithClass) error {
	if err := c.mayNameClass(m.NamedClass); err != nil {
		return err
	}
	if m.RejectReason != "" {
		return apiRejection{m.RejectKind, m.RejectReason}
	}
	a, ok := c.part.Application(m.Ask.App)
	if !ok || m.AllowedUsers == nil || m.AllowedUsers.Allows(a.User()) {
		return nil // or it is refused for having no application
	}
	return needsPermission(m.Class, a.User())
}

// mayNameClass says why a new ask may not name a class; empty: it names none.
func (c *Core) mayNameClass(priorityClass string) error {
	if priorityClass == "" || !c.part.Config().PriorityDisabled {
		return nil
	}
	return &priorities.Problem{
		Reason: priorities.PriorityDisabled, Class: priorityClass, Field: priorities.NameField, Text: "the partition has priorities switched off",
	}
}

func needsPermission(priorityClass string, u security.User) error {
	return &priorities.Problem{
		Reason: priorities.NeedsPermission, Class: priorityClass, Field: priorities.ACLField,
		Text: fmt.Sprintf("user %s may not use it", u.Name),
	}
}

// reportAllocation takes in an allocation that has its node. The node of one that is known to
// run does not change. What the RM reports is so already: no quota is asked, not even for
// what it has grown by.
func (c *Core) reportAllocation(now time.Time, m ReportAllocation) {
	ask, nodeID := m.Ask, m.Node
	x, known := c.knownAllocation(ask)
	switch _, ok := c.part.Node(nodeID); {
	case known && !x.Pending():
		if c.emitIgnoredChanges(x, ask); x.Node().ID() != nodeID {
			c.emitIgnored(IgnoredChange, x.Key(), ask.App, fmt.Sprintf("it stays on node %s, not %s", x.Node().ID(), nodeID))
		}
		c.emitAskRejected(ask, c.updateKnown(now, x, ask))
		return
	case !ok:
		c.emit(AskRejected{ask.Key, ask.App, RejectedUnknownNode, fmt.Sprintf("%v node %s", objects.ErrUnknown, nodeID)})
		return
	}
	err := wellFormed(ask)
	if known {
		if err = c.updateKnown(now, x, ask); err == nil {
			x, err = c.part.PlaceReported(ask.Key, nodeID, now)
		}
	} else if err == nil {
		x, err = c.part.AddReportedWithClass(m.Class, ask, nodeID, now)
	}
	if err != nil {
		c.emitAskRejected(ask, err)
		return
	}
	c.logPlaced(x, now)
	c.emitStateChanges()
	c.emit(Allocated{x.Ask(), nodeID})
}

// knownAllocation finds the work that ask is about, if its application has it already.
func (c *Core) knownAllocation(ask *objects.Ask) (*objects.Allocation, bool) {
	x, ok := c.part.Allocation(ask.Key)
	if !ok || x.Ask().App != ask.App {
		return nil, false
	}
	return x, true
}

// updateKnown takes in what is new about known work: its amounts, and what it uses.
func (c *Core) updateKnown(now time.Time, x *objects.Allocation, ask *objects.Ask) error {
	if !x.Ask().Amounts.Equal(ask.Amounts) {
		if _, err := c.part.Resize(ask.Key, ask.Amounts); err != nil {
			return err
		}
		if c.part.Nomination(x) == nil {
			c.preemptionLog.endNomination(x, Nomination{State: NominationResized, EndedAt: now})
		}
	}
	c.emitRefused("usage of allocation "+string(ask.Key), c.part.NoteUsage(x, ask.Tags))
	return nil
}

var errNoTaskGroup = errors.New("placeholder without a task group")

func wellFormed(ask *objects.Ask) error {
	if ask.Placeholder && ask.TaskGroup == "" {
		return errNoTaskGroup
	}
	return nil
}

func (c *Core) emitAskRejected(ask *objects.Ask, err error) {
	if err != nil {
		c.emit(AskRejected{ask.Key, ask.App, rejectionOf(err), err.Error()})
	}
}

// release takes in that work has stopped, or is not wanted any more. What is unknown is
// gone already, which is what the RM wants.
func (c *Core) release(now time.Time, m Release) {
	a, ok := c.part.Application(m.App)
	if !ok {
		c.unknownConfirmation(m)
		return
	}
	if m.Key == "" {
		for _, x := range a.Allocations() {
			c.endAllocation(now, x, m)
		}
	} else if x, ok := c.part.Allocation(m.Key); ok && x.Application() == a {
		c.endAllocation(now, x, m)
	} else {
		c.unknownConfirmation(m)
	}
	c.emitStateChanges()
}

// unknownConfirmation counts a confirmation of a preemption that is about nobody, and says so: it came twice,
// or after the node or the application had gone, or the RM has mixed up its work.
func (c *Core) unknownConfirmation(m Release) {
	if m.Key == "" || m.Type != PreemptedByScheduler {
		c.emitIgnored(IgnoredRelease, m.Key, m.App, "it is unknown")
		return
	}
	c.preemptionLog.unknownConfirmations++
	c.emit(Refused{
		fmt.Sprintf("confirmation that allocation %s was preempted", m.Key),
		fmt.Sprintf("%v allocation of application %s", objects.ErrUnknown, m.App),
	})
}

// endAllocation takes one piece of work out of the books.
func (c *Core) endAllocation(now time.Time, x *objects.Allocation, m Release) {
	switch {
	case !x.Pending():
		c.part.Release(x.Key(), now)
		c.logVictimEnds(VictimEnd{State: VictimReleased, At: now, Termination: m.Type}, x)
		c.emitReleased(x, m)
	case m.Type != TimedOut: // what timed out was an allocation; the ask stays
		c.preemptionLog.recordCancelled(x, now)
		c.part.Cancel(x.Key(), now)
		c.emit(AskCancelled{x.Key(), m.App, cancelledByRM})
	}
}

const cancelledByRM = "cancelled as the RM asked"

func (c *Core) emitReleased(x *objects.Allocation, m Release) {
	if !m.Type.confirmsOurRelease() {
		c.emit(Released{x.Key(), m.App, StoppedByRM, "released as the RM asked"})
	}
}

// emitStateChanges says which states applications have entered since it was last called, and what has
// become of queues.
func (c *Core) emitStateChanges() {
	for _, s := range c.part.TakeStateChanges() {
		c.emit(ApplicationUpdated{s.App, s.Queue, s.State, s.At(), s.Reason})
	}
	c.emitQueueChanges()
}

// emitQueueChanges says what has become of queues since it was last called.
func (c *Core) emitQueueChanges() {
	for _, q := range c.part.TakeChangedQueues() {
		c.emit(QueueChanged(q))
	}
}
