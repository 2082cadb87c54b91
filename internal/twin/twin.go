package twin

import (
	"time"

	"github.com/canopy-scheduler/canopy/pkg/budgets"
	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/limits"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/placement"
	"github.com/canopy-scheduler/canopy/pkg/policies"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// Twin is a whole partition as lists. It is driven like a scheduler.Core, from one
// goroutine.
type Twin struct {
	oracle   scheduler.Oracle // nil: nobody is asked
	order    policies.NodeSortPolicy
	rules    []placement.Rule
	root     *queue
	draining bool // the partition is being removed

	needQuota []limits.Selector // which asks a class quota must cover

	nodes       []*node
	apps        []*app
	allocations []*allocation
	foreign     []objects.Foreign

	maxNames, maxAskNames int            // resource names that there may be, and that only asks may have
	replacedConf          *configs.Queue // settings that are about to be replaced; nil: none

	lifetimes        objects.Lifetimes
	completed        []*endedApp // oldest first
	rejected         []*endedApp
	stateEntries     uint64             // states ever entered
	unreportedStates []scheduler.Effect // entered, and not told yet

	preemption                                   bool
	rmNotListening                               bool                             // nothing is decided
	listeningSince                               time.Time                        // when patience began anew
	nominationTimeout                            time.Duration                    // how long preemption waits; 0: for ever
	quotaPreemption                              bool                             // a max that was lowered is enforced
	violations                                   map[objects.QueuePath]*violation // which queues are above theirs
	nodePressure                                 bool                             // who has no room on a node that shrinks is told to leave
	ignoreQuotas                                 bool                             // quotas do not count for now
	maxCandidates                                int                              // nodes compared for an ask at most; 0: any number
	nominees                                     []*allocation                    // in the order in which they were nominated
	backedOff                                    map[string]time.Time             // kinds of asks that could take nobody, and when
	maxRefusals                                  int                              // asks of a kind that the RM refuses before others are tried
	resumeAfter                                  map[string]allocation            // behind which ask of a kind it goes on the next time
	oracleRefused                                bool                             // the RM refused the ask that is tried
	preemptedAfterRefused, stoppedAtRefusalBound int                              // how often an ask preempted behind one that was refused, and the bound was met
	budgets                                      []budgets.Budget
	cycles                                       cycleDetector
	ignorePriority                               bool // no order heeds priorities, and no ask preempts

	lastQueueStates map[objects.QueuePath]queueState // when they were last compared
	queueChanges    []string                         // since the step began: what became of queues, as effects say it

	arrivals uint64
	now      time.Time
	out      []scheduler.Effect
}

// New returns a partition with this queue tree and nothing in it.
func New(conf configs.Partition, oracle scheduler.Oracle) *Twin {
	return NewWith(conf, oracle, objects.DefaultLifetimes())
}

// NewPartitionWithOptions is New for other lifetimes.
func NewWith(conf configs.Partition, oracle scheduler.Oracle, keep objects.Lifetimes) *Twin {
	t := &Twin{
		oracle: oracle, lifetimes: keep, backedOff: map[string]time.Time{}, resumeAfter: map[string]allocation{}, maxRefusals: 8, maxNames: resources.MaxNames, maxAskNames: resources.MaxAskNames,
	}
	t.useConfig(conf)
	t.lastQueueStates = t.queueStates()
	return t
}

// Step applies a command and returns what has to be told.
func (t *Twin) Step(now time.Time, cmd scheduler.Command) []scheduler.Effect {
	t.now, t.out, t.queueChanges = now, nil, nil
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
	case scheduler.ReportForeign:
		t.reportForeign(c.Foreign)
	case scheduler.ReleaseForeign:
		t.releaseForeign(c.Key)
	case scheduler.SetListening:
		if t.rmNotListening && c.Listening {
			t.listeningSince = now
		}
		t.rmNotListening = !c.Listening
	case scheduler.Wake: // time has passed already
	}
	t.compareQueues()
	t.emitStates()
	t.forgetGroups()
	t.updateViolations()
	return t.out
}

// Schedule makes up to budget decisions. more is true when the budget ran out first.
func (t *Twin) Schedule(now time.Time, budget int) (effects []scheduler.Effect, more bool) {
	t.now, t.out, t.queueChanges = now, nil, nil
	t.runTimers()
	t.compareQueues()
	defer t.updateViolations()
	if t.rmNotListening {
		return t.out, false
	}
	t.endCoolDowns()
	t.expireNominations()
	for range budget {
		if t.enforceQuotas() {
			t.forgetGroups()
			continue
		}
		w, n := t.bindableNominee()
		if w == nil {
			w, n = t.decide()
		}
		switch {
		case w != nil:
			t.bind(w, n)
			t.forgetGroups()
		case !t.preempt():
			return t.out, false
		}
	}
	return t.out, true
}

// Next is the decision that Schedule would make now, without making it: for whoever holds
// the decisions of somebody else against it. A nil ask: there is nothing to decide.
func (t *Twin) Next(now time.Time) (ask *objects.Ask, on objects.NodeID) {
	t.now = now
	w, on := t.decide()
	if w == nil {
		return nil, ""
	}
	return w.ask, on
}

// NextDeadline is when something happens by time alone: an application ramps up, completes
// or is forgotten. A Core may want to be woken earlier, for other reasons; never later.
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
	}
	for path, a := range t.violations {
		if when := t.enforcementDue(path); a.evaluated.IsZero() && when.After(t.now) {
			at(when)
		}
	}
	if !t.rmNotListening {
		t.scheduleDeadlines(at)
	}
	for _, p := range t.completed {
		at(p.endedAt.Add(t.lifetimes.Completed))
	}
	for _, p := range t.rejected {
		at(p.endedAt.Add(t.lifetimes.Rejected))
	}
	return next, ok
}

// scheduleDeadlines are the times that only Schedule has something to do at.
func (t *Twin) scheduleDeadlines(at func(time.Time)) {
	for _, when := range t.timeoutEnds() {
		at(when)
	}
	for _, when := range t.evaluationsDue() {
		at(when)
	}
	for _, p := range t.cycles.coolDowns {
		if p.Until.After(t.now) {
			at(p.Until)
		}
	}
}

func (t *Twin) emit(e scheduler.Effect) { t.out = append(t.out, e) }

func (t *Twin) refuse(what, reason string) {
	t.emit(scheduler.Refused{Subject: what, Reason: reason})
}
