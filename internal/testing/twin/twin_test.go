package twin

import (
	"time"

	"github.com/canopy-scheduler/canopy/pkg/affinity"
	"github.com/canopy-scheduler/canopy/pkg/budgets"
	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/lifecycle"
	"github.com/canopy-scheduler/canopy/pkg/limits"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/placement"
	"github.com/canopy-scheduler/canopy/pkg/policies"
	"github.com/canopy-scheduler/canopy/pkg/refusals"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// Twin is a whole partition as lists. It is called like a scheduler.Core, from one goroutine.
type Twin struct {
	oracle   *objects.Oracle // nil: there are no predicates
	order    policies.NodeSortPolicy
	rules    []placement.Rule
	root     *queue
	draining bool // the partition is being removed

	held          map[objects.AppID]bool              // applications on hold, also those that are expected back
	stopped       map[objects.QueuePath]bool          // stopped queues
	drained       map[objects.QueuePath]bool          // drained queues
	admitted      map[objects.AppID]bool              // applications that they admit, because they had them before a reset
	drainingNodes map[objects.NodeID]bool             // those of cordoned that are drained
	movedTo       map[objects.AppID]objects.QueuePath // where applications were moved that are expected back
	cordoned      map[objects.NodeID]bool             // cordoned nodes, and whether the RM says that they are schedulable

	needQuota []limits.Selector // asks that a class quota must cover

	starts   map[objects.AllocationKey]time.Time // of allocations from before the RM registered
	reported bool                                // an allocation since then

	nodes       []*node
	apps        []*app
	allocations []*allocation
	foreign     []*foreign

	maxNames, maxAskNames int            // bounds of resource names, and of those only asks have
	replacedConf          *configs.Queue // settings during a replacement; nil: none

	lifetimes        lifecycle.Lifetimes
	completed        []*endedApp // oldest first
	rejected         []*endedApp
	stateEntries     uint64             // number of state changes
	unreportedStates []scheduler.Effect // state changes that are not emitted yet

	preemption bool
	// the RM is not listening: there are no decisions
	rmNotListening bool
	// start of the nomination timeout at the earliest
	listeningSince    time.Time
	nominationTimeout time.Duration                    // nomination timeout; 0: none
	quotaPreemption   bool                             // quota enforcement is on
	violations        map[objects.QueuePath]*violation // queues above their max
	// allocations on a node that shrinks are preempted
	nodePressure bool
	// how long the node must lack what it lacks before
	nodePressureGrace time.Duration
	ignoreQuotas      bool // quotas are not checked at the moment
	// bound of compared nodes per ask; 0: none
	maxCandidates int
	nominees      []*allocation // in the order of nomination
	// bound in the place of placeholders in this step
	replacements []*allocation
	// ask groups without victims, and the time of the evaluation
	backedOff map[string]time.Time
	// bound of rejected asks of a group per evaluation
	maxRefusals int
	// the ask of a group after which the next evaluation starts
	resumeAfter   map[string]allocation
	oracleRefused bool // the RM rejected the current ask
	// preemptions after a rejected ask of the group, and evaluations that reached the bound
	preemptedAfterRefused, stoppedAtRefusalBound int
	// how often a unit was no victim of a fair share, because its side would be behind that of the ask, or because a queue
	// that has both would lose its share or its guarantee
	protectedBySide, protectedByShareAbove, protectedByGuaranteeAbove int
	// asks that have reserved a node, in the order of their reservations
	reserving        []*allocation
	reservation      configs.Reservation
	refusals         []*refusal
	noderefusal      refusals.Settings
	nextReservations time.Time // no reservation is made before
	// asks that the RM refused, and when they may reserve again
	reservationRefused map[objects.AllocationKey]time.Time
	budgets            []budgets.Budget
	cycles             cycleDetector
	ignorePriority     bool // priorities are off: no order uses them, and no ask preempts

	lastQueueStates map[objects.QueuePath]queueState // at the last comparison
	queueChanges    []string                         // changes of queues since the start of the step, as effects have them

	gangsRefused []objects.AppID // whose members did not fit together since the last change, in this run of decisions
	runContinues bool            // the budget ended the last run

	waitingDueAt time.Time // when the waiting states are due; zero: they are not expected to be
	waitingDue   bool      // they are due in the next Schedule that finds nothing else to do

	lastCapacity resources.Amounts // when the quotas in percent were computed the last time
	unsettled    time.Time         // when nodes came to an empty partition, or the capacity fell, the last time

	usage             map[objects.QueuePath]*usageLevel
	prices            resources.Amounts // the capacity of the cluster at the last decision
	fairnessWeights   []policies.Weight // then
	configuredWeights []policies.Weight

	parsed   map[*objects.Ask]*affinity.Ask // what affinityOf has parsed
	arrivals uint64
	now      time.Time
	out      []scheduler.Effect
}

// New returns an empty partition with this queue tree.
func New(conf configs.Partition, oracle *objects.Oracle) *Twin {
	return NewWith(conf, oracle, lifecycle.DefaultLifetimes())
}

// NewPartitionWithOptions is New for other lifetimes.
func NewWith(conf configs.Partition, oracle *objects.Oracle, keep lifecycle.Lifetimes) *Twin {
	t := &Twin{
		oracle: oracle, lifetimes: keep, backedOff: map[string]time.Time{},
		reservationRefused: map[objects.AllocationKey]time.Time{}, resumeAfter: map[string]allocation{},
		usage:  map[objects.QueuePath]*usageLevel{},
		parsed: map[*objects.Ask]*affinity.Ask{}, held: map[objects.AppID]bool{}, stopped: map[objects.QueuePath]bool{},
		drained: map[objects.QueuePath]bool{}, admitted: map[objects.AppID]bool{},
		movedTo: map[objects.AppID]objects.QueuePath{}, drainingNodes: map[objects.NodeID]bool{},
		cordoned: map[objects.NodeID]bool{}, maxRefusals: 8, maxNames: resources.MaxNames, maxAskNames: resources.MaxAskNames,
	}
	t.useConfig(conf)
	t.forgetNodes()
	t.lastQueueStates = t.queueStates()
	return t
}

// Step applies a command and returns its effects.
func (t *Twin) Step(now time.Time, cmd scheduler.Command) []scheduler.Effect {
	t.now, t.out, t.queueChanges, t.runContinues = now, nil, nil, false
	t.runTimers()
	t.compareQueues()
	switch c := cmd.(type) {
	case scheduler.UseConfig:
		t.useConfig(c.Partition)
	case scheduler.DrainPartition:
		t.draining = true
	case scheduler.ResetPartition:
		t.forget()
	case scheduler.AddNode:
		t.addNode(c)
	case scheduler.SetCapacity:
		t.setCapacity(c)
	case scheduler.SetAttributes:
		t.setAttributes(c)
	case scheduler.SetSchedulable:
		t.setSchedulable(c)
	case scheduler.RemoveNode:
		t.removeNode(c)
	case scheduler.AddApplication:
		t.addApplication(c)
	case scheduler.RemoveApplication:
		t.removeApplication(c)
	case scheduler.SubmitAsk:
		t.submit(c.Ask, "")
	case scheduler.SubmitAskWithClass:
		t.submitClassed(c)
	case scheduler.ReportAllocation:
		t.report(c)
	case scheduler.Release:
		t.release(c)
	case scheduler.RejectAsk:
		t.emit(c.Rejected)
	case scheduler.ReportForeign:
		t.reportForeign(c.Foreign)
	case scheduler.ReleaseForeign:
		t.releaseForeign(c.Key)
	case scheduler.Operate:
		t.followNodes()
		t.operate(c)
	case scheduler.RestoreStarts:
		t.starts = map[objects.AllocationKey]time.Time{}
		for _, s := range c.Starts {
			t.starts[s.Key] = s.At.Time()
		}
	case scheduler.RestoreUsage:
		t.restoreUsage(c.Usage)
	case scheduler.SetListening:
		if t.rmNotListening && c.Listening {
			t.listeningSince = now
		}
		t.rmNotListening = !c.Listening
	case scheduler.Wake: // the time has advanced already
	}
	t.onCommand(cmd)
	t.compareQueues()
	t.emitStates()
	for _, w := range t.replacements {
		t.emit(scheduler.Allocated{Binding: &scheduler.Binding{Ask: w.ask, Node: w.node}})
	}
	t.replacements = nil
	t.emitOvercommitted()
	t.forgetGroups()
	t.updateViolations()
	t.updateRunTimes()
	t.followUsage()
	return t.out
}

// Schedule makes up to budget decisions. more is true when the budget was reached first.
func (t *Twin) Schedule(now time.Time, budget int) (effects []scheduler.Effect, more bool) {
	t.now, t.out, t.queueChanges = now, nil, nil
	t.followNodes()
	t.runTimers()
	t.compareQueues()
	defer t.updateViolations()
	defer t.updateRunTimes()
	defer t.followUsage()
	if t.rmNotListening {
		return t.out, false
	}
	t.endLongRuns()
	t.endCoolDowns()
	t.expireNominations()
	t.endGraces()
	t.expireReservations()
	if !t.runContinues {
		t.gangsRefused = nil
	}
	t.runContinues = false
	for ; budget > 0; budget-- {
		if t.enforceQuotas() {
			t.forgetGroups()
			continue
		}
		if t.drainNodes() {
			t.forgetGroups()
			continue
		}
		t.reprice()
		w, n := t.bindableNominee()
		if w == nil {
			w, n = t.bindableReservation()
		}
		if w == nil && t.releaseBackfilled() {
			continue
		}
		if w == nil && t.replaceOne() {
			continue
		}
		if w == nil {
			w, n = t.decide()
		}
		switch {
		case w != nil && n == "":
			asks, on := t.gangPlacement(w)
			for i, w := range asks {
				t.bind(w, on[i])
			}
			t.keepDomain(w.ask.App)
			t.forgetGroups()
			budget -= len(asks) - 1
		case w != nil:
			t.bind(w, n)
			t.forgetGroups()
		case t.backfill():
			t.forgetGroups()
		case !t.preempt() && !t.reserve():
			t.reportWaiting()
			return t.out, false
		}
	}
	t.runContinues = true
	return t.out, true
}

// NextDeadline returns the next time of a change without a command: an application ramps up, completes or
// expires. A Core may want to be woken earlier, for other reasons; never later.
func (t *Twin) NextDeadline() (next time.Time, ok bool) {
	at := func(when time.Time) {
		if !ok || when.Before(next) {
			next, ok = when, true
		}
	}
	for _, a := range t.apps {
		if t.queue(a.leaf).conf.AppSort == policies.StateAware && a.allocationsMade > 0 && !t.rampedUp(a) {
			at(a.firstAllocated.Add(policies.RampTime))
		}
		if when, waits := t.completionTime(a); waits {
			at(when)
		}
		if !a.gangDeadline.IsZero() {
			at(a.gangDeadline)
		}
	}
	for path, a := range t.violations {
		if when := t.enforcementDue(path); a.evaluated.IsZero() && when.After(t.now) {
			at(when)
		}
	}
	if !t.rmNotListening {
		t.scheduleDeadlines(at)
	}
	for _, r := range t.refusals {
		if r.active {
			at(r.until)
		}
	}
	for _, p := range t.completed {
		at(p.endedAt.Add(t.lifetimes.Completed))
	}
	for _, p := range t.rejected {
		at(p.endedAt.Add(t.lifetimes.Rejected))
	}
	return next, ok
}

// scheduleDeadlines yields the deadlines of Schedule.
func (t *Twin) scheduleDeadlines(at func(time.Time)) {
	for _, when := range t.timeoutEnds() {
		at(when)
	}
	for _, when := range t.longRunsEnd() {
		at(when)
	}
	for _, when := range t.graceEnds() {
		at(when)
	}
	for _, when := range t.evaluationsDue() {
		at(when)
	}
	for _, when := range t.youngEnds() {
		at(when)
	}
	for _, when := range t.reservationTimes() {
		at(when)
	}
	for _, p := range t.cycles.coolDowns {
		if p.Until.After(t.now) {
			at(p.Until)
		}
	}
	if !t.waitingDueAt.IsZero() {
		at(t.waitingDueAt)
	}
}

func (t *Twin) emit(e scheduler.Effect) { t.out = append(t.out, e) }

func (t *Twin) refuse(what, reason string) {
	t.emit(scheduler.Refused{Subject: what, Reason: reason})
}
