package scheduler

import (
	"errors"
	"fmt"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/priorities"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// submit takes an ask of no priority class in. A known key is not an ask again: only its amounts may differ
// (behaviour.md 10.8).
func (c *Core) submit(now time.Time, ask *objects.Ask) {
	c.submitOf("", now, ask)
}

func (c *Core) submitOf(class string, now time.Time, ask *objects.Ask) {
	if x, known := c.known(ask); known {
		c.ignoreChanges(x, ask)
		err := c.part.MayResize(x, ask.Amounts)
		if err == nil {
			err = c.resize(now, x, ask)
		}
		c.reject(ask, err)
		return
	}
	if err := wellFormed(ask); err != nil {
		c.reject(ask, err)
		return
	}
	if _, err := c.part.AddAskOf(class, ask, now); err != nil {
		c.reject(ask, err)
		return
	}
	c.tellStates()
}

// submitClassed takes an ask in if it is known, or if its class has nothing against it. Who
// asks is known here only: the door hears of applications on another stream.
func (c *Core) submitClassed(now time.Time, m SubmitClassed) {
	if _, known := c.known(m.Ask); !known {
		if err := c.demand(m); err != nil {
			c.reject(m.Ask, err)
			return
		}
	}
	c.submitOf(m.Class, now, m.Ask)
}

func (c *Core) demand(m SubmitClassed) error {
	if err := c.mayName(m.Named); err != nil {
		return err
	}
	if m.Refuse != "" {
		return refusal{m.Kind, m.Refuse}
	}
	a, ok := c.part.Application(m.Ask.App)
	if !ok || m.Users == nil || m.Users.Allows(a.User()) {
		return nil // or it is refused for having no application
	}
	return needsPermission(m.Class, a.User())
}

// mayName says why a new ask may not name a class; empty: it names none.
func (c *Core) mayName(class string) error {
	if class == "" || !c.part.Config().IgnorePriority {
		return nil
	}
	return &priorities.Problem{
		Reason: priorities.PriorityDisabled, Class: class, Field: priorities.NameField, Text: "the partition has priorities switched off",
	}
}

func needsPermission(class string, u security.User) error {
	return &priorities.Problem{
		Reason: priorities.NeedsPermission, Class: class, Field: priorities.ACLField,
		Text: fmt.Sprintf("user %s may not name it", u.Name),
	}
}

// report takes in an allocation that has its node. The node of one that is known to
// run does not change. What the RM reports is so already: no quota is asked, not even for
// what it has grown by.
func (c *Core) report(now time.Time, m ReportAllocation) {
	ask, on := m.Ask, m.Node
	x, known := c.known(ask)
	switch _, ok := c.part.Node(on); {
	case known && !x.Pending():
		if c.ignoreChanges(x, ask); x.Node().ID() != on {
			c.ignore(IgnoredChange, x.Key(), ask.App, fmt.Sprintf("it stays on node %s, not %s", x.Node().ID(), on))
		}
		c.reject(ask, c.resize(now, x, ask))
		return
	case !ok:
		c.emit(AskRejected{ask.Key, ask.App, RejectedUnknownNode, fmt.Sprintf("%v node %s", objects.ErrUnknown, on)})
		return
	}
	err := wellFormed(ask)
	if known {
		if err = c.resize(now, x, ask); err == nil {
			x, err = c.part.PlaceReported(ask.Key, on, now)
		}
	} else if err == nil {
		x, err = c.part.ReportOf(m.Class, ask, on, now)
	}
	if err != nil {
		c.reject(ask, err)
		return
	}
	c.notePlaced(x, now)
	c.tellStates()
	c.emit(Allocated{x.Ask(), on})
}

// known finds the work that ask is about, if its application has it already.
func (c *Core) known(ask *objects.Ask) (*objects.Allocation, bool) {
	x, ok := c.part.Allocation(ask.Key)
	if !ok || x.Ask().App != ask.App {
		return nil, false
	}
	return x, true
}

// resize takes in what is new about known work: its amounts, and what it uses.
func (c *Core) resize(now time.Time, x *objects.Allocation, ask *objects.Ask) error {
	if !x.Ask().Amounts.Equal(ask.Amounts) {
		if _, err := c.part.Resize(ask.Key, ask.Amounts); err != nil {
			return err
		}
		if c.part.Nomination(x) == nil {
			c.ledger.lose(x, Nomination{State: NominationResized, Until: now})
		}
	}
	c.refuse("usage of allocation "+string(ask.Key), c.part.NoteUsage(x, ask.Tags))
	return nil
}

var errNoTaskGroup = errors.New("placeholder without a task group")

func wellFormed(ask *objects.Ask) error {
	if ask.Placeholder && ask.TaskGroup == "" {
		return errNoTaskGroup
	}
	return nil
}

func (c *Core) reject(ask *objects.Ask, err error) {
	if err != nil {
		c.emit(AskRejected{ask.Key, ask.App, rejectionOf(err), err.Error()})
	}
}

// release takes in that work has stopped, or is not wanted any more. What is unknown is
// gone already, which is what the RM wants.
func (c *Core) release(now time.Time, m Release) {
	a, ok := c.part.Application(m.App)
	if !ok {
		c.stray(m)
		return
	}
	if m.Key == "" {
		for _, x := range a.Work() {
			c.end(now, x, m)
		}
	} else if x, ok := c.part.Allocation(m.Key); ok && x.Application() == a {
		c.end(now, x, m)
	} else {
		c.stray(m)
	}
	c.tellStates()
}

// stray counts a confirmation of a preemption that is about nobody, and says so: it came twice,
// or after the node or the application had gone, or the RM has mixed up its work.
func (c *Core) stray(m Release) {
	if m.Key == "" || m.Type != PreemptedByScheduler {
		c.ignore(IgnoredRelease, m.Key, m.App, "it is unknown")
		return
	}
	c.ledger.strays++
	c.emit(Refused{
		fmt.Sprintf("confirmation that allocation %s was preempted", m.Key),
		fmt.Sprintf("%v allocation of application %s", objects.ErrUnknown, m.App),
	})
}

// end takes one piece of work out of the books.
func (c *Core) end(now time.Time, x *objects.Allocation, m Release) {
	switch {
	case !x.Pending():
		c.part.Free(x.Key(), now)
		c.noteGone(End{How: LeftAsTold, At: now, Type: m.Type}, x)
		c.tellReleased(x, m)
	case m.Type != TimedOut: // what timed out was an allocation; the ask stays
		c.ledger.drop(x, now)
		c.part.Cancel(x.Key(), now)
		c.emit(AskCancelled{x.Key(), m.App, cancelledByRM})
	}
}

const cancelledByRM = "cancelled as the RM asked"

func (c *Core) tellReleased(x *objects.Allocation, m Release) {
	if !m.Type.confirms() {
		c.emit(Released{x.Key(), m.App, StoppedByRM, "released as the RM asked"})
	}
}

// tellStates says which states applications have entered since it was last called, and what has
// become of queues.
func (c *Core) tellStates() {
	for _, s := range c.part.TakeEntered() {
		c.emit(ApplicationUpdated{s.App, s.Queue, s.State, s.At(), s.Why})
	}
	c.tellQueues()
}

// tellQueues says what has become of queues since it was last called.
func (c *Core) tellQueues() {
	for _, q := range c.part.TakeChangedQueues() {
		c.emit(QueueChanged(q))
	}
}
