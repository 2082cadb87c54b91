package chaos

import (
	"maps"
	"slices"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/lifecycle"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/preemption"
	"github.com/canopy-scheduler/canopy/pkg/preemption/victim"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// Invariants.
//
// An ask preempts once. It is nominated for the node then, the resources are reserved against asks of
// the same or lower priority, and while its victims terminate it is not evaluated (ADR 24). So it can
// preempt again only after its nomination has ended without a placement, which needs an event since
// then: a reason. repreemptReason lists them: what the manager did or received, never the state of the
// Core. Each preemption needs a reason that is newer than the last preemption, so
//
//	preemptions of an ask <= 1 + reasons that it had,
//
// and without faults the only reasons are asks of higher priority, and asks of the same queue that use
// the rest of its quota.
//
// A resubmitted task may preempt in turn. By priority its victims have strictly lower priority. For a
// guarantee they may have the same priority, but they come from a queue that stays at or above its
// guarantee (PRE-34), so that they cannot preempt back for the same reason. Between two levels of
// priority there is at most one such step, so
//
//	a chain of preemptions, each of the preemptor before, has at most 2 * levels - 1 links,
//
// and each of its asks preempts at most once: there is no ping-pong (PRE-102).

// maxChain bounds the length of a chain of preemptions without faults.
func maxChain() int { return 2*len(priorityLevels) - 1 }

// tracker is the history that the invariants need.
type tracker struct {
	events map[string]int

	eventSeq             int // of all messages sent and received
	preemptedCount       int // victims so far
	pendingCount         int // now
	lastPreemptionNumber uint64

	lastPreemption map[objects.AllocationKey]preemptionRecord
	preemptionsOf  map[objects.AllocationKey]int // number of preemptions of an ask
	maxPreemptions int
	askPriority    map[objects.AllocationKey]int32 // the priorities of all asks so far
	toResubmit     []task                          // confirmed victims that will ask again
	nodeChangedAt  map[objects.NodeID]int          // last change of a node
	nodeUses       map[objects.NodeID][]nodeUse    // asks placed on a node or nominated for it
	nodeOverdueAt  map[objects.NodeID]int          // when a victim on a node became overdue
	resizedAt      map[objects.AllocationKey]int   // last resize of an ask
	// asks that gave up a nomination during the current decisions; true: no other ask of its application was pending
	abandoned           map[objects.AllocationKey]bool
	batchUsedAt         int // last placement in the leaf that has a max
	reloadAt            int
	predicatesChangedAt int
	overcommittedAt     int // last time a node was above its capacity

	coolDowns              map[[2]objects.QueuePath]time.Time // by two leaves, in both orders: the start of the cool-down
	lastMessage            string                             // of the last preemption received
	longestChainSeen       int                                // the longest without faults
	preemptionsAfterFaults int                                // preemptions without faults
}

// preemptionRecord is the last preemption of an ask.
type preemptionRecord struct {
	number   uint64
	eventSeq int
	at       time.Time
	node     objects.NodeID
}

// nodeUse is an ask that was placed on a node, or is nominated for it.
type nodeUse struct {
	eventSeq int
	priority int32
}

func newTracker() tracker {
	return tracker{
		events: map[string]int{}, lastPreemption: map[objects.AllocationKey]preemptionRecord{},
		preemptionsOf: map[objects.AllocationKey]int{},
		askPriority:   map[objects.AllocationKey]int32{}, nodeOverdueAt: map[objects.NodeID]int{},
		nodeChangedAt: map[objects.NodeID]int{}, nodeUses: map[objects.NodeID][]nodeUse{},
		resizedAt: map[objects.AllocationKey]int{}, abandoned: map[objects.AllocationKey]bool{}, reloadAt: -1,
		predicatesChangedAt: -1, overcommittedAt: -1, batchUsedAt: -1,
		coolDowns: map[[2]objects.QueuePath]time.Time{},
	}
}

func (w *tracker) nodeDisturbed(id objects.NodeID) {
	w.eventSeq++
	w.nodeChangedAt[id] = w.eventSeq
}

// onEffects updates the accounting of the manager.
func (m *resourceManager) onEffects(effects []scheduler.Effect) {
	m.t.Helper()
	m.tracker.lastMessage = ""
	for _, e := range effects {
		m.tracker.eventSeq++
		switch e := e.(type) {
		case scheduler.Allocated:
			m.onAllocated(e)
		case scheduler.Released:
			m.onReleased(e)
		case scheduler.ApplicationUpdated:
			if e.State == lifecycle.Completed {
				delete(m.apps, e.App)
			}
		case scheduler.PartitionReset:
			clear(m.tracker.coolDowns)
		case scheduler.Event:
			if e.Kind == scheduler.EventReserved {
				m.countEvent("a node is reserved")
			}
			if e.Kind == scheduler.EventReservationEnded {
				m.countEvent("a reservation ends: " + e.ReservationEnd.String())
			}
			m.checkCoolDowns(e)
			m.recordAbandoned(e)
		case scheduler.AskRejected, scheduler.NodeRejected, scheduler.ApplicationRejected:
			m.fail("%s", e)
		case scheduler.Refused:
			if want := "confirmation that allocation " + string(m.expectedUnknown.Key) +
				" was preempted"; m.expectedUnknown.Key == "" || e.Subject != want {
				m.fail("%s", e)
			}
		}
	}
}

// checkCoolDowns checks that there is no preemption during a cool-down. Decisions made together, as for
// a gang, may continue.
func (m *resourceManager) checkCoolDowns(e scheduler.Event) {
	switch e.Kind {
	case scheduler.EventPreemptionCycle:
		m.countEvent("a preemption cycle")
		for i, a := range e.Cycle {
			b := e.Cycle[(i+1)%len(e.Cycle)]
			if !e.Until.IsZero() {
				m.countEvent("a preemption cycle with a cool-down")
				m.tracker.coolDowns[[2]objects.QueuePath{a, b}], m.tracker.coolDowns[[2]objects.QueuePath{b, a}] = m.now, m.now
			}
		}
	case scheduler.EventCoolDownEnded:
		a, b := e.Cycle[0], e.Cycle[len(e.Cycle)-1]
		delete(m.tracker.coolDowns, [2]objects.QueuePath{a, b})
		delete(m.tracker.coolDowns, [2]objects.QueuePath{b, a})
	case scheduler.EventPreempted:
		if since, paused := m.tracker.coolDowns[[2]objects.QueuePath{e.Preemptor.Queue, e.Subject.Queue}]; paused &&
			since.Before(m.now) {
			m.fail("%s, and they are paused since %s", e, since)
		}
	}
}

// recordAbandoned records an ask that gave up its nomination, and whether it is the only pending one.
func (m *resourceManager) recordAbandoned(e scheduler.Event) {
	if e.NominationEnd == preemption.NominationGivenUp || e.NominationEnd == preemption.NominationTimedOut {
		m.tracker.abandoned[e.Subject.Key] = m.onlyPendingOfApp(e.Subject.Key)
		if m.tracker.abandoned[e.Subject.Key] {
			m.countEvent("the only pending ask gives up its nomination")
		}
	}
}

// onlyPendingOfApp reports whether no other ask of its application is pending: others of its group may
// be evaluated.
func (m *resourceManager) onlyPendingOfApp(key objects.AllocationKey) bool {
	for _, x := range m.tasks {
		if pending(x) && x.ask.Key != key && x.ask.App == m.tasks[key].ask.App {
			return false
		}
	}
	return true
}

func (m *resourceManager) onAllocated(e scheduler.Allocated) {
	x := m.tasks[e.Ask.Key]
	if x == nil || running(x) && x.node != e.Node {
		m.fail("%s, and is not an ask", e)
	}
	if n := m.nodes[e.Node]; n == nil || n.removed || n.draining && !running(x) && e.Ask.RequiredNode() != e.Node {
		m.fail("%s, which is not schedulable", e)
	}
	x.node = e.Node
	if c, waited := m.tracker.lastPreemption[x.ask.Key]; waited {
		delete(m.tracker.lastPreemption, x.ask.Key)
		if c.node == e.Node {
			m.countEvent("a preemptor is placed on its nominated node")
		} else {
			m.countEvent("a preemptor is placed on another node")
		}
	}
	m.tracker.nodeUses[e.Node] = append(m.tracker.nodeUses[e.Node], nodeUse{m.tracker.eventSeq, x.ask.Priority})
	if x.queue() == batchLeaf {
		m.tracker.batchUsedAt = m.tracker.eventSeq
	}
}

func (m *resourceManager) onReleased(e scheduler.Released) {
	x := m.tasks[e.Key]
	if x == nil || pending(x) {
		m.fail("%s, which does not run", e)
	}
	if e.Type != scheduler.PreemptedByScheduler {
		m.removeTask(x)
		return
	}
	if preempting(x) {
		m.fail("%s, which was told before at %s", e, x.preemptedAt.Format(time.TimeOnly))
	}
	m.tracker.preemptedCount++
	x.preemptedAt, x.preemptionOrder = m.now, m.tracker.preemptedCount
	m.onPreempted(e)
	m.scheduleConfirmation(x)
}

// onPreempted finds the preemption of a victim. The preemption log has an entry for each preemption, in
// the order of delivery.
func (m *resourceManager) onPreempted(e scheduler.Released) {
	isVictim := func(v preemption.Victim) bool { return v.Key == e.Key }
	p, _ := m.core.Preemption(m.tracker.lastPreemptionNumber)
	// an ask may lose the node at once
	if e.Message != m.tracker.lastMessage || !slices.ContainsFunc(p.Victims, isVictim) {
		m.tracker.lastMessage = e.Message
		m.tracker.lastPreemptionNumber++
		var ok bool
		p, ok = m.core.Preemption(m.tracker.lastPreemptionNumber)
		if !ok || !slices.ContainsFunc(p.Victims, isVictim) {
			m.fail("%s, which is no victim of preemption %d", e, m.tracker.lastPreemptionNumber)
		}
		m.countEvent("reason " + p.Reason.String())
		if m.faultsStopped {
			m.tracker.preemptionsAfterFaults++
		}
		if p.Reason != victim.ReasonQuota && p.Reason != victim.ReasonNodePressure {
			m.checkPreemption(p)
		}
	}
	if !m.faultsStopped {
		return
	}
	x := m.tasks[e.Key]
	x.chainDepth = 0
	if p.Ask != nil {
		if by := m.tasks[p.Ask.Key]; by != nil {
			x.chainDepth = by.chainDepth + 1
		}
	}
	m.tracker.longestChainSeen = max(m.tracker.longestChainSeen, x.chainDepth)
	if x.chainDepth > maxChain() {
		m.fail("%s is the end of a chain of %d preemptions", e.Key, x.chainDepth)
	}
}

// checkPreemption checks a preemption against the history.
func (m *resourceManager) checkPreemption(p preemption.Preemption) {
	key := p.Ask.Key
	x := m.tasks[key]
	if x == nil {
		m.fail("preemption %d is for ask %s, which is not pending", p.Number, key)
	}
	for _, v := range p.Victims {
		if v.Priority > x.ask.Priority || v.Priority == x.ask.Priority && p.Reason == victim.ReasonPriority {
			m.fail("%s at %d takes the place of %s at %d for reason %s", key, x.ask.Priority, v.Key, v.Priority, p.Reason)
		}
	}
	if m.tracker.abandoned[key] {
		m.fail("%s gave up its node, and has looked again at once", key)
	}
	if c, again := m.tracker.lastPreemption[key]; again {
		excuse := m.repreemptReason(x, c)
		if excuse == "" {
			before, _ := m.core.Preemption(c.number)
			m.fail("%s of %s preempts again for no reason, %s after it did for node %s: that was %+v, with victims %v",
				key, p.Ask.Queue, m.now.Sub(c.at), c.node, before.Nomination, before.Victims)
		}
		m.countEvent("again, as " + excuse)
	}
	m.tracker.preemptionsOf[key]++
	m.tracker.maxPreemptions = max(m.tracker.maxPreemptions, m.tracker.preemptionsOf[key])
	m.tracker.lastPreemption[key] = preemptionRecord{p.Number, m.tracker.eventSeq, m.now, p.Node}
	m.tracker.nodeUses[p.Node] = append(m.tracker.nodeUses[p.Node], nodeUse{m.tracker.eventSeq, x.ask.Priority})
}

// repreemptReason returns the event since the last preemption of an ask that allows another; empty: none.
func (m *resourceManager) repreemptReason(x *task, c preemptionRecord) string {
	switch {
	case m.tracker.resizedAt[x.ask.Key] > c.eventSeq:
		return "it is another one"
	case m.tracker.nodeChangedAt[c.node] > c.eventSeq:
		return "its node has changed"
	case m.lostNode(x, c):
		return "a more important one took the node"
	case m.conf.nominationTimeout > 0 && m.now.Sub(c.at) >= m.conf.nominationTimeout:
		return "it has waited too long"
	case m.tracker.nodeOverdueAt[c.node] > c.eventSeq:
		return "another victim has not ended in time"
	case m.tracker.reloadAt >= c.eventSeq:
		return "the configuration has changed"
	case m.predicatesChange && m.tracker.predicatesChangedAt >= c.eventSeq:
		return "the manager has changed its mind"
	case x.queue() == batchLeaf && m.tracker.batchUsedAt > c.eventSeq:
		return "others have used its quota"
	case m.tracker.overcommittedAt > c.eventSeq:
		return "another node holds more than it has" // which root lacks
	}
	return ""
}

// lostNode reports whether an ask of higher priority took the node. One that took it without victims
// may be placed on another node by now; only the preemption log knows which it was.
func (m *resourceManager) lostNode(x *task, c preemptionRecord) bool {
	before, _ := m.core.Preemption(c.number)
	lost := false
	if before.Nomination != nil {
		more, known := m.tracker.askPriority[before.Nomination.LostTo]
		lost = known && more > x.ask.Priority
	}
	return lost ||
		slices.ContainsFunc(m.tracker.nodeUses[c.node],
			func(u nodeUse) bool { return u.eventSeq > c.eventSeq && u.priority > x.ask.Priority })
}

// updateOverdue records overdue victims, which the Core detects when it begins to schedule.
func (m *resourceManager) updateOverdue() {
	m.tracker.eventSeq++
	for _, x := range m.tasks {
		if preempting(x) && !x.overdue && m.conf.nominationTimeout > 0 &&
			!m.now.Before(x.preemptedAt.Add(m.conf.nominationTimeout)) {
			x.overdue, m.tracker.nodeOverdueAt[x.node] = true, m.tracker.eventSeq
			if x.queue() == batchLeaf {
				m.tracker.batchUsedAt = m.tracker.eventSeq // what it uses does not count any more
			}
		}
	}
}

// checkInvariants checks everything that must hold at any time.
func (m *resourceManager) checkInvariants() {
	m.t.Helper()
	if err := m.core.Check(); err != nil {
		m.fail("%v", err)
	}
	m.tracker.eventSeq++
	m.tracker.pendingCount = 0
	used := map[objects.NodeID]int{}
	for _, x := range m.tasks {
		used[x.node] += x.size
		if pending(x) {
			m.tracker.pendingCount++
		}
	}
	for id, n := range m.nodes {
		if !n.removed && used[id] > n.cores-n.foreign {
			m.tracker.overcommittedAt = m.tracker.eventSeq
		}
	}
	for key := range m.tracker.lastPreemption {
		if x := m.tasks[key]; x == nil || running(x) {
			delete(m.tracker.lastPreemption, key)
		}
	}
	for _, y := range m.core.Partition().Nominees() {
		x, n := m.tasks[y.Key()], m.nodes[m.core.Partition().Nomination(y).ID()]
		if x == nil || running(x) || n == nil || n.removed || n.draining &&
			x.ask.RequiredNode() != m.core.Partition().Nomination(y).ID() {
			m.fail("%s is nominated, but is not pending, or runs, or its node is unschedulable", y.Key())
		}
	}
}

// checkNominees checks the nominated asks against the manager's accounting when nothing can be decided:
// an ask that fits on its node, beside other nominated asks, must have been placed, and for one that
// does not fit there must be a victim.
func (m *resourceManager) checkNominees() {
	part := m.core.Partition()
	for _, y := range part.Nominees() {
		x, id := m.tasks[y.Key()], part.Nomination(y).ID()
		m.countEvent("an ask is nominated")
		free, all, leaf := m.nodes[id].cores-m.nodes[id].foreign, 0, 0
		for _, n := range m.nodes {
			if !n.removed && !n.draining {
				all += n.cores - n.foreign
			}
		}
		victimsLeaving := false
		for _, other := range m.tasks {
			if running(other) {
				all -= other.size
				if other.node == id {
					free -= other.size
					victimsLeaving = victimsLeaving || preempting(other) && !other.overdue
				}
				if other.queue() == batchLeaf {
					leaf += other.size
				}
			}
		}
		for _, z := range part.Nominees() {
			if other := m.tasks[z.Key()]; z != y && part.Nomination(z).ID() == id && other.ask.Priority >= x.ask.Priority {
				free -= other.size
			}
		}
		fits := free >= x.size && all >= x.size && (x.queue() != batchLeaf || leaf+x.size <= m.conf.batchMaxCores)
		if fits && (!m.predicatesChange || m.Fits(y.Key(), id)) {
			m.fail("%s has %d cores on node %s, which it waits for, and is not placed", y.Key(), free, id)
		}
		if free < x.size && !victimsLeaving {
			m.fail("%s is nominated without victims: it has %d cores on node %s, and no victim terminates", y.Key(), free, id)
		}
	}
}

// checkAccounting compares all accounting at the end.
func (m *resourceManager) checkAccounting() {
	s := m.core.Snapshot(m.now)
	used, runs := map[objects.NodeID]int{}, 0
	for _, key := range slices.Sorted(maps.Keys(m.tasks)) {
		x := m.tasks[key]
		y, ok := m.core.Partition().Allocation(key)
		if !ok || y.Pending() != pending(x) || running(x) && y.Node().ID() != x.node ||
			m.core.Partition().Preempting(y) != preempting(x) {
			m.fail("%s differs from the accounting of the manager", key)
		}
		if running(x) {
			used[x.node] += x.size
			runs++
		}
	}
	if s.Allocations != runs || s.Asks != len(m.tasks)-runs {
		m.fail("%d run and %d are asked for, it should be %d and %d", s.Allocations, s.Asks, runs, len(m.tasks)-runs)
	}
	for n := range s.Nodes.All() {
		if !n.Allocated.Equal(cores(used[n.ID])) {
			m.fail("node %s has given away %v, not %d cores", n.ID, n.Allocated, used[n.ID])
		}
	}
}
