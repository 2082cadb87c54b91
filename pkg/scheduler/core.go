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
	part          *objects.Partition
	oracle        Oracle
	opt           objects.Options
	draining      bool       // it is being removed
	notListening  bool       // the RM does not hear what is decided, so nothing is
	stateSince    time.Time  // when drains changed, or the Core was first used; zero: it has not been
	effects       []Effect   // effects of the step under way
	views         *viewCache // the views of the last Snapshot; nil: none was asked for lately
	oracleRetryAt time.Time  // when refused asks are tried again; zero: none was refused
	servedUntil   time.Time  // until when deadlines have been served

	victimSearch *preemption.Search // nil: nobody has looked yet
	toEvaluate   []*evaluation      // groups of asks that should be evaluated
	backOff      backOff            // those that were, in vain

	preemptionLog preemptionLog
	cycles        preemption.CycleDetector
	victimLeaves  map[*objects.Allocation][]objects.QueuePath // where others were told to leave for a nominee

	knownInfeasible map[evaluationKey]bool // what cannot take anybody; scratch of preempt, as the next two
	searches        int                    // searches since preempt was called
	evaluated       uint64                 // groups that were ever evaluated
	oracleAsked     bool                   // the RM was asked about the look under way
	oracleRefused   bool                   // the RM refused, in the present look

	feasible    objects.Mask   // scratch of decide
	maskByDepth []objects.Mask // scratch of findGroup, by depth
}

// New returns a Core for a partition that has no nodes and no applications. A nil
// oracle has no opinion.
func New(conf configs.Partition, oracle Oracle) *Core {
	return NewWith(conf, oracle, objects.DefaultOptions())
}

// NewPartitionWithOptions is New for a partition with other options.
func NewWith(conf configs.Partition, oracle Oracle, opt objects.Options) *Core {
	if _, ok := oracle.(NoPredicates); ok {
		oracle = nil
	}
	if opt.Evaluations <= 0 {
		opt.Evaluations = 4
	}
	return &Core{part: objects.NewPartitionWithOptions(conf, opt), oracle: oracle, opt: opt, preemptionLog: newPreemptionLog(opt.PreemptionHistory), victimLeaves: map[*objects.Allocation][]objects.QueuePath{}, backOff: newBackOff()}
}

// Step applies one command and returns what follows from it. It never fails: a
// command that cannot be applied has an effect that says so. The list is good until the
// next call of Step or Schedule. Requires: now is not before that of the last call.
func (c *Core) Step(now time.Time, cmd Command) []Effect {
	c.resetEffects()
	c.serveDeadlines(now)
	c.recordFirstUse(now)
	draining := c.draining
	if c.apply(now, cmd); c.draining != draining {
		c.stateSince = now
	}
	c.emitEndedNominations(NominationWaiting, AllocationRef{}, "", now)
	c.finishStep(now)
	return c.effects
}

// recordFirstUse notes when the Core was first used.
func (c *Core) recordFirstUse(now time.Time) {
	if c.stateSince.IsZero() {
		c.stateSince = now
	}
}

// NextDeadline is when the Core next wants a Wake, if nothing else happens.
func (c *Core) NextDeadline() (time.Time, bool) {
	t, ok := c.part.NextDeadline()
	if !c.oracleRetryAt.IsZero() && (!ok || c.oracleRetryAt.Before(t)) {
		t, ok = c.oracleRetryAt, true
	}
	if c.notListening {
		return t, ok // what follows is served by Schedule
	}
	if at, waits := c.nextNominationTimeout(); waits && (!ok || at.Before(t)) {
		t, ok = at, true
	}
	if at, paused := c.nextCoolDownEnd(); paused && (!ok || at.Before(t)) {
		t, ok = at, true
	}
	if at, again := c.backOff.nextRetry(c.changeCount()); again && (!ok || at.Before(t)) {
		t, ok = at, true
	}
	if at, ends := c.nextDelayEnd(); ends && (!ok || at.Before(t)) {
		t, ok = at, true
	}
	return t, ok
}

// Check reports whether the books still balance, and the ledger of victims agrees with them.
func (c *Core) Check() error {
	return errors.Join(c.part.Check(), c.preemptionLog.check(c.part), c.checkVictimLeaves())
}

// Partition is the state, for reading while nobody steps.
func (c *Core) Partition() *objects.Partition { return c.part }

func (c *Core) serveDeadlines(now time.Time) {
	c.servedUntil = now
	for _, x := range c.part.Expire(now) {
		c.emit(Released{x.Key(), x.Ask().App, TimedOut, fmt.Sprintf("application %s completes without its placeholders", x.Ask().App)})
	}
	c.emitStateChanges()
	c.toEvaluate = append(c.toEvaluate, c.backOff.popExpired(now)...)
	if !c.oracleRetryAt.IsZero() && !now.Before(c.oracleRetryAt) {
		c.oracleRetryAt = time.Time{}
		c.part.RequestRequeue()
	}
}

// finishStep sees to what has changed, before anybody asks for the next deadline.
func (c *Core) finishStep(now time.Time) {
	c.part.UpdateViolations(now)
	c.refreshFirstAskChanges()
}

// resetEffects empties the list of effects, which is used again: a decision makes no garbage
// but what it tells.
func (c *Core) resetEffects() {
	clear(c.effects)
	c.effects = c.effects[:0]
}

func (c *Core) emit(e Effect) { c.effects = append(c.effects, e) }

// emitRefused says that a command without an answer of its own changed nothing.
func (c *Core) emitRefused(subject string, err error) {
	if err != nil {
		c.emit(Refused{subject, err.Error()})
	}
}

func (c *Core) apply(now time.Time, cmd Command) {
	switch m := cmd.(type) {
	case UseConfig:
		c.useConfig(m)
	case DrainPartition:
		c.draining = true
	case ResetPartition:
		c.preemptionLog.untrackAll(now)
		c.part = objects.NewPartitionWithOptions(c.part.Config(), c.opt)
		c.oracleRetryAt, c.toEvaluate, c.backOff, c.victimSearch, c.cycles = time.Time{}, nil, newBackOff(), nil, preemption.CycleDetector{}
		clear(c.victimLeaves)
		c.emit(PartitionReset{})
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
		c.submitAsk(now, m.Ask)
	case SubmitAskWithClass:
		c.submitAskWithClass(now, m)
	case ReportAllocation:
		c.reportAllocation(now, m)
	case Release:
		c.release(now, m)
	case ReportForeign:
		if err := c.part.AddForeign(m.Foreign); err != nil {
			c.emit(AskRejected{m.Foreign.Key, "", foreignRejectionOf(err), "foreign allocation: " + err.Error()})
		}
	case ReleaseForeign:
		if _, ok := c.part.RemoveForeign(m.Key); !ok {
			c.emitIgnored(IgnoredRelease, m.Key, "", "it is an unknown foreign allocation")
		}
	case SetListening:
		c.setListening(m.Listening, now)
	case Wake:
	default:
		panic(fmt.Sprintf("scheduler: no case for %T", cmd))
	}
}
