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
	oracle scheduler.Oracle // nil: nobody is asked
	order  policies.NodeOrder
	rules  []placement.Rule
	root   *queue
	drains bool // the partition is being removed

	needQuota []limits.Selector // which asks a class quota must cover

	nodes   []*node
	apps    []*app
	work    []*work
	foreign []objects.Foreign

	names, askNames int            // resource names that there may be, and that only asks may have
	former          *configs.Queue // settings that are about to be replaced; nil: none

	lifetimes objects.Lifetimes
	completed []*past // oldest first
	rejected  []*past
	entries   uint64             // states ever entered
	states    []scheduler.Effect // entered, and not told yet

	preemption            bool
	unheard               bool                               // nothing is decided
	restarted             time.Time                          // when patience began anew
	patience              time.Duration                      // how long preemption waits; 0: for ever
	lowers                bool                               // a max that was lowered is enforced
	above                 map[objects.QueuePath]*tooMuchHeld // which queues are above theirs
	pressure              bool                               // who has no room on a node that shrinks is told to leave
	anyQuota              bool                               // quotas do not count for now
	candidates            int                                // nodes compared for an ask at most; 0: any number
	nominees              []*work                            // in the order in which they were nominated
	tried                 map[string]time.Time               // kinds of asks that could take nobody, and when
	refusals              int                                // asks of a kind that the RM refuses before others are tried
	refused               map[string]work                    // behind which ask of a kind it goes on the next time
	saidNo                bool                               // the RM refused the ask that is tried
	behindRefused, wentOn int                                // how often an ask preempted behind one that was refused, and the bound was met
	budgets               []budgets.Budget
	churn                 churn
	even                  bool // no order heeds priorities, and no ask preempts

	seenQueues    map[objects.QueuePath]queueState // when they were last compared
	changedQueues []string                         // since the step began: what became of queues, as effects say it

	arrivals uint64
	now      time.Time
	out      []scheduler.Effect
}

// New returns a partition with this queue tree and nothing in it.
func New(conf configs.Partition, oracle scheduler.Oracle) *Twin {
	return NewWith(conf, oracle, objects.DefaultLifetimes())
}

// NewWith is New for other lifetimes.
func NewWith(conf configs.Partition, oracle scheduler.Oracle, keep objects.Lifetimes) *Twin {
	t := &Twin{
		oracle: oracle, lifetimes: keep, tried: map[string]time.Time{}, refused: map[string]work{}, refusals: 8, names: resources.MaxNames, askNames: resources.MaxAskNames,
	}
	t.useConfig(conf)
	t.seenQueues = t.queueStates()
	return t
}

// Step applies a command and returns what has to be told.
func (t *Twin) Step(now time.Time, cmd scheduler.Command) []scheduler.Effect {
	t.now, t.out, t.changedQueues = now, nil, nil
	t.passTime()
	t.compareQueues()
	switch c := cmd.(type) {
	case scheduler.UseConfig:
		t.useConfig(c.Partition)
	case scheduler.Drain:
		t.drains = true
	case scheduler.Forget:
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
	case scheduler.SubmitClassed:
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
		if t.unheard && c.Listening {
			t.restarted = now
		}
		t.unheard = !c.Listening
	case scheduler.Wake: // time has passed already
	}
	t.compareQueues()
	t.tellStates()
	t.forgetKinds()
	t.weigh()
	return t.out
}

// Schedule makes up to budget decisions. more is true when the budget ran out first.
func (t *Twin) Schedule(now time.Time, budget int) (effects []scheduler.Effect, more bool) {
	t.now, t.out, t.changedQueues = now, nil, nil
	t.passTime()
	t.compareQueues()
	defer t.weigh()
	if t.unheard {
		return t.out, false
	}
	t.endPauses()
	t.endOverdue()
	for range budget {
		if t.enforce() {
			t.forgetKinds()
			continue
		}
		w, n := t.nominee()
		if w == nil {
			w, n = t.decide()
		}
		switch {
		case w != nil:
			t.place(w, n)
			t.forgetKinds()
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
		if t.queue(a.leaf).conf.Sort == policies.StateAware && a.made > 0 && !t.ramped(a) {
			at(a.first.Add(policies.RampTime))
		}
		if when, waits := t.completes(a); waits {
			at(when)
		}
	}
	for path, a := range t.above {
		if when := t.enforcedAt(path); a.looked.IsZero() && when.After(t.now) {
			at(when)
		}
	}
	if !t.unheard {
		t.decisionsDue(at)
	}
	for _, p := range t.completed {
		at(p.at.Add(t.lifetimes.Completed))
	}
	for _, p := range t.rejected {
		at(p.at.Add(t.lifetimes.Rejected))
	}
	return next, ok
}

// decisionsDue are the times that only Schedule has something to do at.
func (t *Twin) decisionsDue(at func(time.Time)) {
	for _, when := range t.patienceEnds() {
		at(when)
	}
	for _, when := range t.looksDue() {
		at(when)
	}
	for _, p := range t.churn.pauses {
		if p.Until.After(t.now) {
			at(p.Until)
		}
	}
}

func (t *Twin) emit(e scheduler.Effect) { t.out = append(t.out, e) }

func (t *Twin) refuse(what, reason string) {
	t.emit(scheduler.Refused{What: what, Reason: reason})
}
