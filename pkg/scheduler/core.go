package scheduler

import (
	"errors"
	"fmt"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/ageing"
	"github.com/canopy-scheduler/canopy/pkg/backfill"
	"github.com/canopy-scheduler/canopy/pkg/clusterquota"
	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/fairness"
	"github.com/canopy-scheduler/canopy/pkg/feasibility"
	"github.com/canopy-scheduler/canopy/pkg/gangscheduling"
	"github.com/canopy-scheduler/canopy/pkg/nodeselection"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/preemption"
	"github.com/canopy-scheduler/canopy/pkg/refusals"
	"github.com/canopy-scheduler/canopy/pkg/reservation"
	"github.com/canopy-scheduler/canopy/pkg/runtimes"
)

// Core is the scheduler of one partition. It is not safe for concurrent use: the goroutine of package loop
// owns it.
type Core struct {
	part          *objects.Partition
	oracle        *objects.Oracle // nil: every node passes the predicates
	opt           objects.Options
	draining      bool       // the partition is being removed
	notListening  bool       // no RM receives effects, so nothing is decided
	stateSince    time.Time  // when draining changed, or the Core was first used; zero: it was not yet
	effects       []Effect   // of the current Step or Schedule
	bindings      []Binding  // of the last effects; the memory behind them is for the next
	views         *viewCache // the views of the last Snapshot; nil: there was none since ForgetSnapshots
	oracleRetryAt time.Time  // when refused asks are evaluated again; zero: none was refused
	waiting       waitingReport
	waits         *waitingChanges
	answers       predicateAnswers
	operators     operators // what operators have switched
	drainWaits    bool      // drainNodes may have work: a command came, or it has left allocations that budgets protect

	routine      bool      // the decisions before routineUntil are routine: see Schedule
	routineUntil time.Time // the first deadline; zero: it is not looked up yet

	preemption   *preemption.Engine
	reservations *reservation.Engine
	runTimes     *runtimes.Engine
	ageing       *ageing.Engine
	fairness     *fairness.Engine
	backfill     *backfill.Engine
	gangs        *gangscheduling.Gangs
	nodes        *nodeselection.Nodes
	quotas       *clusterquota.Quotas
	constraints  constraintCache
	refusals     refusals.Tracker

	// the budget ended the last run of decisions, and no command came since: the next one continues it
	runContinues bool
	gangPlan     gangPlan           // what decide has found for a gang, until it is placed
	feasible     feasibility.Mask   // scratch of decide
	maskByDepth  []feasibility.Mask // scratch of findGroup, by depth of the queue
	batch        []*objects.Node    // scratch of firstAcceptedInBatches
	batchIDs     []objects.NodeID   // scratch of firstAcceptedOf
}

// refusalRetry is the time after which an ask that was refused on every node is evaluated again, even if
// nothing has changed: the answers of an Oracle may change without a notification (ASK-33).
const refusalRetry = time.Second

// New returns a Core for a partition without nodes and applications. With a nil oracle every node passes
// the predicates.
func New(conf configs.Partition, oracle *objects.Oracle) *Core {
	return NewWith(conf, oracle, objects.DefaultOptions())
}

// NewWith is New with options other than objects.DefaultOptions.
func NewWith(conf configs.Partition, oracle *objects.Oracle, opt objects.Options) *Core {
	if opt.Evaluations <= 0 {
		opt.Evaluations = 4
	}
	c := &Core{opt: opt}
	c.newPartition(conf)
	c.preemption = preemption.New(c.part, opt, engineHost{nodeHost{c}})
	c.reservations = reservation.New(c.part, reservationHost{nodeHost{c}})
	c.runTimes = runtimes.New(c.part)
	c.ageing = ageing.New(c.part)
	c.fairness = fairness.New(c.part)
	c.backfill = backfill.New(c.part, c.runTimes, backfillHost{nodeHost{c}})
	c.watch()
	c.SetOracle(oracle)
	return c
}

func (c *Core) newPartition(conf configs.Partition) {
	c.part = objects.NewPartitionWithOptions(conf, c.opt)
	c.nodes = nodeselection.New(c.part, c.opt.RefusedNodes)
	c.quotas = clusterquota.New(c.part)
}

// watch begins to follow the changes of the partition, which is new.
func (c *Core) watch() {
	c.gangs, c.waits, c.answers = gangscheduling.New(c.part), &waitingChanges{}, predicateAnswers{}
	objects.Attach(c.part, c.waits)
	objects.Attach(c.part, c.answers)
}

// SetOracle replaces the oracle. Requires: the next command is ResetPartition, so that nothing is left of
// the answers of the former one.
func (c *Core) SetOracle(oracle *objects.Oracle) {
	c.oracle = oracle
	c.preemption.SetOracle(oracle)
	c.reservations.SetOracle(oracle)
}

// Step applies one command and returns its effects. It never fails: a command that cannot be applied has an
// effect that says so. The list is valid until the next call of Step or Schedule. The caller must pass
// times that do not decrease.
func (c *Core) Step(now time.Time, cmd Command) []Effect {
	c.resetEffects()
	c.routine = false
	c.serveDeadlines(now)
	c.recordFirstUse(now)
	c.runContinues = false
	draining := c.draining
	c.apply(now, cmd)
	if c.draining != draining {
		c.stateSince = now
	}
	c.drainWaits = len(c.operators.draining) > 0
	c.waiting.onCommand(cmd, c.part.Root().HasPending(), now)
	c.preemption.RecordEnded(victimEnd(cmd, now), now)
	c.reservations.ReportEnded()
	c.finishStep(now)
	return c.effects
}

// victimEnd returns how the victims that a command has ended have ended.
func victimEnd(cmd Command, now time.Time) preemption.VictimEnd {
	at := objects.TimestampOf(now)
	switch m := cmd.(type) {
	case Release:
		return preemption.VictimEnd{State: preemption.VictimReleased, EndedAt: at, Termination: m.Type.String()}
	case RemoveNode:
		return preemption.VictimEnd{State: preemption.VictimNodeRemoved, EndedAt: at}
	case RemoveApplication:
		return preemption.VictimEnd{State: preemption.VictimApplicationRemoved, EndedAt: at}
	}
	return preemption.VictimEnd{}
}

// recordFirstUse sets stateSince when the Core is first used.
func (c *Core) recordFirstUse(now time.Time) {
	if c.stateSince.IsZero() {
		c.stateSince = now
	}
}

// NextDeadline is the time at which the Core needs a Wake if no command comes before (ORD-3).
func (c *Core) NextDeadline() (time.Time, bool) {
	t, ok := c.part.NextDeadline()
	if !c.oracleRetryAt.IsZero() && (!ok || c.oracleRetryAt.Before(t)) {
		t, ok = c.oracleRetryAt, true
	}
	if at, due := c.refusals.Next(); due && (!ok || at.Before(t)) {
		t, ok = at, true
	}
	if at, due := c.preemption.NextEnforcement(); due && (!ok || at.Before(t)) {
		t, ok = at, true
	}
	if c.notListening {
		return t, ok // Schedule serves the other deadlines, and decides nothing now
	}
	for _, next := range [...]func() (time.Time, bool){c.preemption.NextDeadline, c.reservations.NextDeadline,
		c.runTimes.NextDeadline, c.ageing.NextDeadline, c.fairness.NextDeadline} {
		if at, due := next(); due && (!ok || at.Before(t)) {
			t, ok = at, true
		}
	}
	if at := c.waiting.dueAt; !at.IsZero() && (!ok || at.Before(t)) {
		t, ok = at, true
	}
	return t, ok
}

// Check verifies that the accounting is consistent, and that what preemption keeps agrees with it.
func (c *Core) Check() error {
	return errors.Join(c.part.Check(), c.preemption.Check(), c.runTimes.Check(), c.ageing.Check(), c.fairness.Check())
}

// Partition is the state. It may be read only while neither Step nor Schedule runs.
func (c *Core) Partition() *objects.Partition { return c.part }

// serveDeadlines does what is due at now: applications complete and are dropped (APP-10, APP-12), placeholder
// timeouts and back-offs end, asks that the RM refused are evaluated again, and waiting states are due.
func (c *Core) serveDeadlines(now time.Time) {
	c.fairness.Advance(now)  // what ends here ends now
	c.serveGangTimeouts(now) // first: what they end may complete, or leave the history, at once
	for _, x := range c.part.Expire(now) {
		c.emit(Released{x.Key(), x.Ask().App, TimedOut,
			fmt.Sprintf("application %s completes without its placeholders", x.Ask().App)})
	}
	c.emitStateChanges()
	c.runTimes.Advance(now)
	c.ageing.Advance(now)
	c.fairness.Tick(now)
	c.preemption.ServeDeadlines(now)
	c.waiting.serveDeadline(now)
	c.reservations.ServeDeadlines(now)
	c.endRefusals(c.refusals.Expire(now), "the back-off is over")
	if !c.oracleRetryAt.IsZero() && !now.Before(c.oracleRetryAt) {
		c.oracleRetryAt = time.Time{}
		c.part.RetryRefusedAsks()
	}
}

// finishStep updates the state that NextDeadline depends on.
func (c *Core) finishStep(now time.Time) {
	c.runTimes.Refresh()
	c.ageing.Refresh()
	c.fairness.Settle()
	c.emitOvercommitted()
	c.preemption.FinishStep(now)
}

// resetEffects empties the list of effects and keeps its memory: a decision allocates nothing but its
// effects. A few effects stay in memory until others are emitted.
func (c *Core) resetEffects() {
	if len(c.effects) > 8 {
		clear(c.effects)
	}
	c.effects = c.effects[:0]
}

func (c *Core) emit(e Effect) { c.effects = append(c.effects, e) }

// emitAllocated emits that an ask is bound to a node. The memory of bindings is allocated for several at once.
func (c *Core) emitAllocated(ask *objects.Ask, node objects.NodeID) {
	if len(c.bindings) == cap(c.bindings) {
		c.bindings = make([]Binding, 0, bindingsAtOnce)
	}
	c.bindings = append(c.bindings, Binding{ask, node})
	c.emit(Allocated{&c.bindings[len(c.bindings)-1]})
}

// bindingsAtOnce is for how many placements memory is allocated at once.
const bindingsAtOnce = 16

// emitRefused emits Refused with the reason, if err is not nil, for a command that has no rejection of its own (NOD-8).
func (c *Core) emitRefused(what Refused, err error) {
	if err != nil {
		what.Reason = err.Error()
		c.emit(what)
	}
}

// apply applies one command (PRE-89, APP-47, ASK-57, RMI-10).
func (c *Core) apply(now time.Time, cmd Command) {
	switch m := cmd.(type) {
	case UseConfig:
		c.useConfig(now, m)
	case DrainPartition:
		c.draining = true
	case ResetPartition:
		c.operatorsOnReset()
		c.newPartition(c.part.Config())
		c.applyToQueues(c.part.Root())
		c.oracleRetryAt, c.waiting, c.refusals = time.Time{}, waitingReport{}, refusals.Tracker{}
		c.preemption.Reset(c.part, now)
		c.reservations.Reset(c.part)
		c.runTimes.Reset(c.part)
		c.ageing.Reset(c.part)
		c.fairness.Reset(c.part)
		c.backfill.Reset(c.part)
		c.watch()
		c.emit(PartitionReset(m))
	case AddNode:
		c.addNode(m)
	case SetCapacity:
		c.setCapacity(now, m)
	case SetAttributes:
		c.setAttributes(m)
	case SetSchedulable:
		c.setSchedulable(m)
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
	case RejectAsk:
		c.emit(m.Rejected)
	case ReportForeign:
		if err := c.part.AddForeign(m.Foreign); err != nil {
			c.emit(AskRejected{m.Foreign.Key, "", foreignRejectionOf(err), "foreign allocation: " + err.Error(), true})
		}
	case ReleaseForeign:
		if _, ok := c.part.RemoveForeign(m.Key); !ok {
			c.emitIgnored(IgnoredRelease, m.Key, "", "it is an unknown foreign allocation")
		}
	case Operate:
		c.quotas.Refresh(now) // an application is moved within the quotas of now
		c.operate(now, m)
	case RestoreOperators:
		c.restoreOperators(m.State)
	case RestoreStarts:
		c.runTimes.Restore(m.Starts)
	case RestoreUsage:
		c.fairness.Restore(m.Usage)
	case SetListening:
		c.setListening(m.Listening, now)
	case Wake:
	default:
		panic(fmt.Sprintf("scheduler: no case for %T", cmd))
	}
}
