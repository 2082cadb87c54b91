package scheduler

import (
	"iter"
	"slices"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/gangscheduling"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/quota"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// An autoscaler adds nodes for asks that their quotas allow and no node can take, and for no others. So each pending
// ask has a waiting state, and AsksWait says when it changes (ASK-62 to ASK-64).
//
// The states are evaluated when nothing can be placed and no victims are left to search, so no node need be looked at:
// an ask that its quotas allow has none. Of the quotas each ask counts those before it in selection order as placed: if
// the max of a queue allows two more of a thousand asks, two more nodes are needed, not a thousand.

// waitingInterval is the time from the first command after an evaluation of the waiting states to the next evaluation.
// So a burst of commands has one evaluation, and asks that are placed at once, or by a registration, have no state.
const waitingInterval = time.Second

// waitingGroups is the number of ask groups that an evaluation visits for each waitingInterval until the next one:
// about 0.3 us each, so that evaluations take less than a hundredth of the time.
const waitingGroups = 20_000

// waitingReport says when the waiting states are evaluated.
type waitingReport struct {
	dueAt time.Time // zero: no command since the last evaluation was due, or nothing was pending
	due   bool      // by the next Schedule that finds nothing to do
	last  int       // the number of ask groups at the last evaluation
}

// onCommand has the states evaluated, because cmd was applied. The Wake for an evaluation is no reason for another one.
func (w *waitingReport) onCommand(cmd Command, pending bool, now time.Time) {
	_, woken := cmd.(Wake)
	switch {
	case !pending:
		*w = waitingReport{}
	case w.dueAt.IsZero() && !(woken && w.due):
		w.dueAt = now.Add(waitingInterval * time.Duration(1+w.last/waitingGroups))
	}
}

func (w *waitingReport) serveDeadline(now time.Time) {
	if !w.dueAt.IsZero() && !now.Before(w.dueAt) {
		w.dueAt, w.due = time.Time{}, true
	}
}

// reportWaiting evaluates the waiting states, if that is due, and emits those that have changed. Requires: no pending
// ask can be placed.
func (c *Core) reportWaiting(now time.Time) {
	if !c.waiting.due {
		return
	}
	c.waiting.due = false
	w := waitingEvaluation{core: c, now: now}
	defer w.emit()
	// how many asks of the group wait for no node, because they have one in prospect
	haveNode := map[*objects.AskGroup]int{}
	for _, x := range c.part.Nominees() {
		haveNode[x.AskGroup()]++
		w.placed.Add(x.Application().Quota(), x.Shape().Vector(), 1)
	}
	for x := range c.part.Gangs().EachReplacing {
		haveNode[x.AskGroup()]++ // it takes what its placeholder has
	}
	c.waiting.last = c.waits.eachGroup(c.part, func(group *objects.AskGroup) {
		switch {
		case !group.Held():
			w.reportGroup(group, group.PendingCount()-haveNode[group], requestedAlone(c.part, group))
		case group.WaitsForMembers(): // otherwise there are placeholders for them
			w.reportMembers(group)
		}
	})
}

// waitingEvaluation is one evaluation of the waiting states.
type waitingEvaluation struct {
	core   *Core
	now    time.Time
	placed quota.Projection // the asks so far, which count as placed
	asks   []WaitingAsk     // whose states have changed, and are not emitted yet
}

// The asks of an effect: at least the first number have memory at once, twice as many the next time, and so on.
const (
	fewestWaitingAsks = 4
	mostWaitingAsks   = 64
)

// add adds an ask whose state has changed. Thousands may wait, and their states change at once: one effect has many.
func (w *waitingEvaluation) add(ask WaitingAsk) {
	if n := cap(w.asks); len(w.asks) == n {
		w.emit()
		w.asks = make([]WaitingAsk, 0, min(max(fewestWaitingAsks, 2*n), mostWaitingAsks))
	}
	w.asks = append(w.asks, ask)
}

// emit emits the states that are not emitted yet.
func (w *waitingEvaluation) emit() {
	if len(w.asks) > 0 {
		w.core.emit(AsksWait{w.asks})
		w.asks = nil
	}
}

// reportGroup emits the states that have changed of the asks of a group. count is how many of them wait for a node,
// alone what must be placed for one of them to be of use.
func (w *waitingEvaluation) reportGroup(group *objects.AskGroup, count int, alone resources.Vector) {
	allowed, blocked := w.allowedByQuotas(group, count, alone)
	w.reportStates(group, allowed, blocked)
}

// reportStates emits the states that have changed of the asks of a group, of which the quotas allow the first ones.
func (w *waitingEvaluation) reportStates(group *objects.AskGroup, allowed int, blocked Verdict) {
	c := w.core
	if group.Allowed == int32(allowed) { // and the asks are those of the last evaluation
		return
	}
	group.Allowed = int32(allowed)
	for i, x := range c.waitForNode(group) {
		ask, report := WaitingAsk{Ask: x.Ask(), State: objects.WaitFailed}, objects.WaitingReport{At: w.now}
		switch {
		case i >= allowed:
			ask.State, ask.Blocked, ask.Subject = objects.WaitSkipped, blocked.Reason, blocked.Subject
			report.Blocked = uint8(blocked.Reason)
		case group.Shape().RequiredNode() != "":
			ask.State = objects.WaitUnreported // no other node can take it
		}
		if ask.State == x.WaitingState() {
			continue
		}
		report.State = ask.State
		objects.ReportWaitingState(c.part, x, report)
		if ask.State != objects.WaitUnreported {
			w.add(ask)
		}
	}
}

// reportMembers is reportGroup for members of a gang that are placed together: nodes help them only if there are enough
// of them and the quotas allow all (GAN-24).
func (w *waitingEvaluation) reportMembers(group *objects.AskGroup) {
	a := group.Application()
	if _, incomplete := a.Gang().Incomplete(); incomplete {
		return
	}
	members := gangscheduling.Members(w.core.part, a)
	if by, blocked := gangscheduling.BlockedWithNodes(a, members); blocked {
		var v Verdict
		v.Reason, v.Subject = constraintReason(by, false)
		w.reportStates(group, 0, v)
		return
	}
	w.reportGroup(group, group.PendingCount(), gangscheduling.RequestedBy(members))
}

// requestedAlone returns what an ask of a group requests, or its gang if that has declared what its placeholders
// request together: nodes help one of those only if the quotas allow all (QUO-68).
func requestedAlone(p *objects.Partition, group *objects.AskGroup) resources.Vector {
	v, gang, first := group.Shape().Vector(), group.Application().Gang(), group.FirstPending()
	if gang == nil || gang.Requested().IsZero() || first == nil || !first.IsPlaceholder() {
		return v
	}
	together := slices.Clone(v)
	for k, n := range v {
		together[k] = max(n, gang.Requested().Get(p.ResourceName(resources.Index(k))))
	}
	return together
}

// allowedByQuotas returns how many of the first asks of a group their quotas allow, and why not the others. count is
// how many there are.
//
// A percent that alone exceeds keeps no ask from a node: it grows with the nodes (QUO-68).
func (w *waitingEvaluation) allowedByQuotas(group *objects.AskGroup, count int, alone resources.Vector) (allowed int,
	others Verdict) {
	a := group.Application()
	if o, subject := w.core.operatorReason(a); o != NotPending {
		return 0, Verdict{Reason: o, Subject: subject}
	}
	if !a.StateAwareAllows() {
		return 0, Verdict{Reason: WaitsToStart, Subject: string(a.Queue().FirstStarting().ID())}
	}
	allowed, blocking := w.placed.PlaceWithNodes(a.Quota(), group.Shape().Vector(), count, alone)
	if allowed < count {
		others.Reason, others.Subject = constraintReason(blocking, blocking.TooSmall(group.Shape()))
	}
	return allowed, others
}

// waitForNode are the asks of a group, in order and numbered, that have no node in prospect.
func (c *Core) waitForNode(group *objects.AskGroup) iter.Seq2[int, *objects.Allocation] {
	return func(yield func(int, *objects.Allocation) bool) {
		i := 0
		for _, x := range group.PendingAsks() {
			if c.part.Nomination(x) != nil || c.part.Gangs().Replaces(x) != nil {
				continue
			}
			if !yield(i, x) {
				return
			}
			i++
		}
	}
}
