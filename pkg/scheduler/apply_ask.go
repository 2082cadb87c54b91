package scheduler

import (
	"errors"
	"fmt"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/gangscheduling"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/priorities"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// submitAsk adds an ask without a priority class. It is idempotent: for the key of a known ask or allocation of the
// same application only the amounts change.
func (c *Core) submitAsk(now time.Time, ask *objects.Ask) {
	c.submitAskOfClass("", now, ask)
}

// submitAskOfClass adds an ask that its class admits, or changes the amounts of a known one (PRI-2). Only a
// rejection has an answer (ASK-1, RMI-56).
func (c *Core) submitAskOfClass(priorityClass string, now time.Time, ask *objects.Ask) {
	if x, known := c.knownAllocation(ask.Key, ask.App); known {
		err := c.contradiction(x, priorityClass, ask, "")
		if err == nil {
			err = c.part.CheckResize(x, ask.Amounts)
		}
		if err == nil {
			err = c.updateKnown(x, ask)
		}
		c.emitAskRejected(ask, err)
		return
	}
	ask, err := c.withConstraints(ask)
	if err == nil {
		ask, err = c.withRefusals(ask), wellFormed(ask)
	}
	if a, known := c.part.Application(ask.App); known && a.Gang() != nil {
		ask = gangscheduling.InDomain(a, ask)
	}
	var x *objects.Allocation
	if err == nil {
		ask, err = c.withRunTime(ask)
	}
	if err == nil {
		x, err = c.part.AddAskWithClass(priorityClass, ask, now)
	}
	if err != nil {
		c.emitAskRejected(ask, err)
		return
	}
	c.emitStateChanges()
	c.emitUnmet(x)
}

// withConstraints is the ask with the constraints that its tags say. The error, of a tag that cannot be read, is a
// constraintError.
func (c *Core) withConstraints(ask *objects.Ask) (constrained *objects.Ask, err error) {
	parsed, err := c.constraints.parse(ask.Tags())
	switch {
	case err != nil:
		return ask, constraintError{err}
	case parsed == nil:
		return ask, nil
	}
	return ask.WithConstraints(parsed), nil
}

// constraintError is the error of a constraint that cannot be read.
type constraintError struct{ error }

// submitAskWithClass adds an ask if it is known or if its priority class admits it. The ACL of the class is
// checked here and not in the API, because only the core knows the user of the application: applications
// come on another stream than asks (PRI-2, PRI-45, ASK-9).
func (c *Core) submitAskWithClass(now time.Time, m SubmitAskWithClass) {
	if _, known := c.knownAllocation(m.Ask.Key, m.Ask.App); !known {
		if err := c.checkClass(m); err != nil {
			c.emitAskRejected(m.Ask, err)
			return
		}
	}
	c.submitAskOfClass(m.Class, now, m.Ask)
}

// checkClass is the reason why the priority class rejects an ask; nil: it admits it (PRI-44).
func (c *Core) checkClass(m SubmitAskWithClass) error {
	if err := c.mayNameClass(m.NamedClass); err != nil {
		return err
	}
	if m.RejectReason != "" {
		return apiRejection{m.RejectKind, m.RejectReason}
	}
	a, ok := c.part.Application(m.Ask.App)
	if !ok || m.AllowedUsers == nil || m.AllowedUsers.Allows(a.User()) {
		return nil // no application: submitAskOfClass rejects the ask
	}
	return needsPermission(m.Class, a.User())
}

// mayNameClass is the reason why a new ask may not name a priority class; nil: it may, or it names none (PRI-23).
func (c *Core) mayNameClass(priorityClass string) error {
	if priorityClass == "" || !c.part.Config().PriorityDisabled {
		return nil
	}
	return &priorities.Problem{
		Reason: priorities.PriorityDisabled, Class: priorityClass, Field: priorities.NameField,
		Text: "the partition has priorities switched off",
	}
}

func needsPermission(priorityClass string, u security.User) error {
	return &priorities.Problem{
		Reason: priorities.NeedsPermission, Class: priorityClass, Field: priorities.ACLField,
		Text: fmt.Sprintf("user %s may not use it", u.Name),
	}
}

// reportAllocation adds an allocation that runs on a node already. A known allocation keeps its node. The
// report is a fact, so no quota is checked, not even for a growth of the amounts
// (QUO-8, QUO-40, LIM-13, ASK-20, ASK-41, ASK-43, ASK-44, RMI-56, RMI-58, RMI-59).
func (c *Core) reportAllocation(now time.Time, m ReportAllocation) {
	ask, nodeID := m.Ask, m.Node
	x, known := c.knownAllocation(ask.Key, ask.App)
	if known {
		if err := c.contradiction(x, m.Class, ask, nodeID); err != nil {
			c.emitReportRejected(ask, err)
			return
		}
	}
	switch _, ok := c.part.Node(nodeID); {
	case known && !x.Pending():
		c.emitReportRejected(ask, c.updateKnown(x, ask))
		return
	case !ok:
		c.emit(AskRejected{ask.Key, ask.App, RejectedUnknownNode, fmt.Sprintf("%v node %s", objects.ErrUnknown, nodeID),
			true})
		return
	}
	var unreadable, badRunTime, badStart error
	if !known {
		ask, unreadable = c.withConstraints(ask) // it runs whatever they say
		ask, badRunTime, badStart = c.withReportedRunTime(ask)
	}
	err := wellFormed(ask)
	if known {
		if err = c.updateKnown(x, ask); err == nil {
			x, err = c.part.PlaceReported(ask.Key, nodeID, now)
		}
	} else if err == nil {
		x, err = c.part.AddReportedWithClass(m.Class, ask, nodeID, now)
	}
	if err != nil {
		c.holdOrphan(m, err)
		return
	}
	c.runTimes.OnReported(ask.Key)
	c.emitRefused(Refused{Subject: "constraints of allocation " + string(ask.Key), Key: ask.Key, App: ask.App}, unreadable)
	c.emitRefused(Refused{Subject: "run time of allocation " + string(ask.Key), Key: ask.Key, App: ask.App}, badRunTime)
	c.emitRefused(Refused{Subject: "start of allocation " + string(ask.Key), Key: ask.Key, App: ask.App}, badStart)
	c.emitStateChanges()
	c.emitAllocated(x.Ask(), nodeID)
	gangscheduling.KeepDomain(c.part, x.Application())
}

// holdOrphan holds a reported allocation that its application does not take, on its node: it runs there (ASK-67). What
// has a key in use or invalid amounts is rejected.
func (c *Core) holdOrphan(m ReportAllocation, refusal error) {
	held := len(objects.Orphans(c.part, m.Ask.App, m.Ask.Key)) > 0
	if errors.Is(refusal, objects.ErrExists) || objects.AddOrphan(c.part, m.Class, m.Ask, m.Node) != nil {
		c.emitReportRejected(m.Ask, refusal)
		return
	}
	if !held {
		c.emit(Event{
			Kind: EventOrphaned, Subject: AllocationRef{Key: m.Ask.Key, App: m.Ask.App}, Priority: m.Ask.Priority,
			Amounts: m.Ask.Amounts,
			Node:    m.Node, Message: refusal.Error(),
		})
	}
}

// adoptOrphans gives an application that was accepted the orphaned allocations that were reported before it (ASK-67).
func (c *Core) adoptOrphans(now time.Time, app objects.AppID) {
	for _, f := range objects.Orphans(c.part, app, "") {
		c.reportAllocation(now, ReportAllocation{Ask: f.Orphan.Ask, Node: f.Node, Class: f.Orphan.Class})
	}
}

// releaseOrphans ends orphaned allocations at the request of the RM, as it ends allocations. It reports whether there
// were any.
func (c *Core) releaseOrphans(m Release, message string) bool {
	if !m.Scope.covers(false) {
		return false
	}
	orphans := objects.Orphans(c.part, m.App, m.Key)
	for _, f := range orphans {
		c.part.RemoveForeign(f.Key)
		c.emitReleased(f.Key, m, message)
	}
	return len(orphans) > 0
}

// knownAllocation is the ask or allocation of a key, if it is of an application (ASK-23, ASK-49). No map of
// applications is read.
func (c *Core) knownAllocation(key objects.AllocationKey, app objects.AppID) (*objects.Allocation, bool) {
	x, ok := c.part.Allocation(key)
	if !ok || x.Ask().App != app {
		return nil, false
	}
	return x, true
}

// updateKnown applies what a repeated ask or report may change: the amounts and the usage tag (ASK-23, ASK-26).
func (c *Core) updateKnown(x *objects.Allocation, ask *objects.Ask) error {
	if !x.Ask().Amounts.Equal(ask.Amounts) {
		if _, err := c.part.Resize(ask.Key, ask.Amounts); err != nil {
			return err
		}
	}
	c.emitRefused(Refused{Subject: "usage of allocation " + string(ask.Key), Key: ask.Key, App: ask.App},
		c.part.NoteUsage(x, ask.Tags()))
	return nil
}

var errNoTaskGroup = errors.New("placeholder without a task group")

// wellFormed is the error of a placeholder without a task group; nil: ask is well-formed (ASK-8, ASK-17).
func wellFormed(ask *objects.Ask) error {
	if ask.Placeholder && ask.TaskGroup() == "" {
		return errNoTaskGroup
	}
	return nil
}

func (c *Core) emitAskRejected(ask *objects.Ask, err error) {
	if err != nil {
		c.emit(AskRejected{ask.Key, ask.App, rejectionOf(err), err.Error(), false})
	}
}

func (c *Core) emitReportRejected(ask *objects.Ask, err error) {
	if err != nil {
		c.emit(AskRejected{ask.Key, ask.App, rejectionOf(err), err.Error(), true})
	}
}

// release ends allocations and cancels asks at the request of the RM. An unknown key or application is no
// error: the RM wants it gone, and it is (ASK-49).
func (c *Core) release(now time.Time, m Release) {
	if m.Key != "" {
		x, ok := c.knownAllocation(m.Key, m.App)
		if !ok {
			if !c.releaseOrphans(m, releasedByRM) {
				c.unknownConfirmation(m)
			}
			return
		}
		c.endAllocation(now, x, m)
	} else {
		a, ok := c.part.Application(m.App)
		if orphans := c.releaseOrphans(m, releasedByRM); !ok {
			if !orphans {
				c.unknownConfirmation(m)
			}
			return
		}
		c.part.Gangs().UnlinkAll(a) // none is placed because another one ends
		for _, x := range a.Allocations() {
			c.endAllocation(now, x, m)
		}
	}
	c.emitStateChanges()
	c.emitReplacements()
}

// unknownConfirmation counts a confirmation of a preemption for an unknown allocation, and emits Refused
// (PRE-85, ASK-50). It may have come twice, or after the node or the application was removed; or the RM confuses
// its allocations.
func (c *Core) unknownConfirmation(m Release) {
	if m.Key == "" || m.Type != PreemptedByScheduler {
		c.emitIgnored(IgnoredRelease, m.Key, m.App, "it is unknown")
		return
	}
	c.preemption.CountUnknownConfirmation()
	c.emit(Refused{
		Subject: fmt.Sprintf("confirmation that allocation %s was preempted", m.Key),
		Reason:  fmt.Sprintf("%v allocation of application %s", objects.ErrUnknown, m.App),
		Key:     m.Key, App: m.App,
	})
}

// endAllocation releases one allocation, or cancels one ask. Any type of release of a preempting allocation
// confirms its preemption (PRE-84, ASK-46, ASK-47, ASK-48, ASK-61, RMI-56).
func (c *Core) endAllocation(now time.Time, x *objects.Allocation, m Release) {
	switch {
	case !m.Scope.covers(x.Pending()):
	case !x.Pending():
		if m.NodeRefused {
			c.refuse(x, m.Message, now)
		}
		c.part.Release(x.Key(), now)
		c.emitReleased(x.Key(), m, releasedByRM)
	case m.Type != TimedOut: // a placeholder that timed out was an allocation, so an ask stays
		c.part.Cancel(x.Key(), now)
		c.emit(AskCancelled{x.Key(), m.App, cancelledByRM})
	}
}

const (
	cancelledByRM = "cancelled as the RM asked"
	releasedByRM  = "released as the RM asked"
)

// emitReleased emits Released, unless m confirms a release of the core (ASK-46).
func (c *Core) emitReleased(key objects.AllocationKey, m Release, message string) {
	if !m.Type.confirmsOurRelease() {
		c.emit(Released{key, m.App, StoppedByRM, message})
	}
}

// emitStateChanges emits the states that applications have entered, and the changes of queues, since it was
// last called (RMI-55).
func (c *Core) emitStateChanges() {
	for _, s := range c.part.TakeStateChanges() {
		c.emit(ApplicationUpdated{s.App, s.Queue, s.At(), s.State, s.Reason})
	}
	c.emitQueueChanges()
}

// emitQueueChanges emits the changes of queues since it was last called.
func (c *Core) emitQueueChanges() {
	for _, q := range c.part.TakeChangedQueues() {
		c.emit(QueueChanged(q))
	}
}
