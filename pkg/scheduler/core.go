package scheduler

import (
	"errors"
	"fmt"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/preemption"
)

// Core is the scheduler of one partition. It is not safe for concurrent use, on
// purpose: see package loop for the goroutine that owns it.
type Core struct {
	part       *objects.Partition
	oracle     Oracle
	opt        objects.Options
	drains     bool      // it is being removed
	unheard    bool      // the RM does not hear what is decided, so nothing is
	stateSince time.Time // when drains changed, or the Core was first used; zero: it has not been
	out        []Effect  // effects of the step under way
	mirror     *mirror   // the views of the last Snapshot; nil: none was asked for lately
	retryAt    time.Time // when refused asks are tried again; zero: none was refused
	served     time.Time // until when deadlines have been served

	victims *preemption.Search // nil: nobody has looked yet
	eager   []*evaluation      // groups of asks that should be evaluated
	backOff backOff            // those that were, in vain

	ledger  victimLedger
	churn   preemption.Churn
	gaveWay map[*objects.Allocation][]objects.QueuePath // where others were told to leave for a nominee

	vain    map[like]bool // what cannot take anybody; scratch of preempt, as the next two
	looks   int           // searches since preempt was called
	tried   uint64        // groups that were ever evaluated
	judged  bool          // the RM was asked about the look under way
	refused bool          // the RM refused, in the present look

	possible objects.Mask   // scratch of decide
	levels   []objects.Mask // scratch of lookAround, by depth
}

// New returns a Core for a partition that has no nodes and no applications. A nil
// oracle has no opinion.
func New(conf configs.Partition, oracle Oracle) *Core {
	return NewWith(conf, oracle, objects.DefaultOptions())
}

// NewWith is New for a partition with other options.
func NewWith(conf configs.Partition, oracle Oracle, opt objects.Options) *Core {
	if _, ok := oracle.(Willing); ok {
		oracle = nil
	}
	if opt.Looks <= 0 {
		opt.Looks = 4
	}
	return &Core{part: objects.NewWith(conf, opt), oracle: oracle, opt: opt, ledger: newVictimLedger(opt.Preemptions), gaveWay: map[*objects.Allocation][]objects.QueuePath{}, backOff: newBackOff()}
}

// Step applies one command and returns what follows from it. It never fails: a
// command that cannot be applied has an effect that says so. The list is good until the
// next call of Step or Schedule. Requires: now is not before that of the last call.
func (c *Core) Step(now time.Time, cmd Command) []Effect {
	c.forgetOut()
	c.serveDeadlines(now)
	c.began(now)
	draining := c.drains
	if c.apply(now, cmd); c.drains != draining {
		c.stateSince = now
	}
	c.noteLapsed(NominationWaits, Party{}, "", now)
	c.settleUp(now)
	return c.out
}

// began notes when the Core was first used.
func (c *Core) began(now time.Time) {
	if c.stateSince.IsZero() {
		c.stateSince = now
	}
}

// NextDeadline is when the Core next wants a Wake, if nothing else happens.
func (c *Core) NextDeadline() (time.Time, bool) {
	t, ok := c.part.NextDeadline()
	if !c.retryAt.IsZero() && (!ok || c.retryAt.Before(t)) {
		t, ok = c.retryAt, true
	}
	if c.unheard {
		return t, ok // what follows is served by Schedule
	}
	if at, waits := c.patienceEnds(); waits && (!ok || at.Before(t)) {
		t, ok = at, true
	}
	if at, paused := c.pausesEnd(); paused && (!ok || at.Before(t)) {
		t, ok = at, true
	}
	if at, again := c.backOff.againAt(c.changes()); again && (!ok || at.Before(t)) {
		t, ok = at, true
	}
	if at, ends := c.delaysEnd(); ends && (!ok || at.Before(t)) {
		t, ok = at, true
	}
	return t, ok
}

// Check reports whether the books still balance, and the ledger of victims agrees with them.
func (c *Core) Check() error {
	return errors.Join(c.part.Check(), c.ledger.check(c.part), c.checkGaveWay())
}

// Partition is the state, for reading while nobody steps.
func (c *Core) Partition() *objects.Partition { return c.part }

func (c *Core) serveDeadlines(now time.Time) {
	c.served = now
	for _, x := range c.part.Expire(now) {
		c.emit(Released{x.Key(), x.Ask().App, TimedOut, fmt.Sprintf("application %s completes without its placeholders", x.Ask().App)})
	}
	c.tellStates()
	c.eager = append(c.eager, c.backOff.takeOld(now)...)
	if !c.retryAt.IsZero() && !now.Before(c.retryAt) {
		c.retryAt = time.Time{}
		c.part.Reconsider()
	}
}

// settleUp sees to what has changed, before anybody asks for the next deadline.
func (c *Core) settleUp(now time.Time) {
	c.part.Weigh(now)
	c.noteOvertaken()
}

// forgetOut empties the list of effects, which is used again: a decision makes no garbage
// but what it tells.
func (c *Core) forgetOut() {
	clear(c.out)
	c.out = c.out[:0]
}

func (c *Core) emit(e Effect) { c.out = append(c.out, e) }

// refuse says that a command without an answer of its own changed nothing.
func (c *Core) refuse(what string, err error) {
	if err != nil {
		c.emit(Refused{what, err.Error()})
	}
}

func (c *Core) apply(now time.Time, cmd Command) {
	switch m := cmd.(type) {
	case UseConfig:
		c.useConfig(m)
	case Drain:
		c.drains = true
	case Forget:
		c.ledger.abandon(now)
		c.part = objects.NewWith(c.part.Config(), c.opt)
		c.retryAt, c.eager, c.backOff, c.victims, c.churn = time.Time{}, nil, newBackOff(), nil, preemption.Churn{}
		clear(c.gaveWay)
		c.emit(Forgotten{})
	case AddNode:
		c.addNode(m)
	case SetCapacity:
		c.setCapacity(now, m)
	case SetSchedulable:
		c.setSchedulable(now, m)
	case RemoveNode:
		c.removeNode(now, m)
	case AddApplication:
		c.addApplication(now, m)
	case RemoveApplication:
		c.removeApplication(now, m)
	case SubmitAsk:
		c.submit(now, m.Ask)
	case SubmitClassed:
		c.submitClassed(now, m)
	case ReportAllocation:
		c.report(now, m)
	case Release:
		c.release(now, m)
	case ReportForeign:
		if err := c.part.AddForeign(m.Foreign); err != nil {
			c.emit(AskRejected{m.Foreign.Key, "", foreignRejectionOf(err), "foreign allocation: " + err.Error()})
		}
	case ReleaseForeign:
		if _, ok := c.part.RemoveForeign(m.Key); !ok {
			c.ignore(IgnoredRelease, m.Key, "", "it is an unknown foreign allocation")
		}
	case SetListening:
		c.setListening(m.Listening, now)
	case Wake:
	default:
		panic(fmt.Sprintf("scheduler: no case for %T", cmd))
	}
}
