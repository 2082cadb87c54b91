package chaos

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// nodeCores is the capacity of a node.
const nodeCores = 10

// confirmAfter schedules a confirmation.
func (m *resourceManager) confirmAfter(d time.Duration, release scheduler.Release) {
	m.confirmations = append(m.confirmations, confirmation{m.now.Add(d), release, m.tracker.preemptedCount})
}

// scheduleConfirmation chooses how a victim is confirmed.
func (m *resourceManager) scheduleConfirmation(x *task) {
	release := scheduler.Release{App: x.ask.App, Key: x.ask.Key, Type: scheduler.PreemptedByScheduler}
	late := time.Duration(1+m.rng.IntN(600)) * time.Second
	if m.faultsStopped {
		m.confirmAfter(time.Duration(m.rng.IntN(10))*time.Second, release)
		return
	}
	switch m.rng.IntN(8) {
	case 0, 1:
		m.confirmAfter(0, release)
		m.countEvent("confirmed at once")
	case 2, 3:
		m.confirmAfter(late, release)
		m.countEvent("confirmed late")
	case 4:
		m.countEvent("never confirmed")
	case 5:
		m.confirmAfter(late/10, release)
		m.confirmAfter(late, release)
		m.countEvent("confirmed twice")
	case 6:
		release.Type = scheduler.Termination([]int{0, 1, 2, 4}[m.rng.IntN(4)])
		m.confirmAfter(late/10, release)
		m.countEvent("confirmed as something else")
	case 7:
		wrong := release
		for _, id := range slices.Sorted(maps.Keys(m.apps)) {
			if id != release.App {
				wrong.App = id
			}
		}
		if wrong.App == release.App {
			wrong.App = "root.owed/nobody"
		}
		m.confirmAfter(0, wrong)
		m.confirmAfter(late/10, release)
		m.countEvent("confirmed for another application first")
	}
}

// injectEvent injects one event.
func (m *resourceManager) injectEvent() {
	switch m.rng.IntN(30) {
	case 0, 1, 2:
		if x := m.pickTask(running); x != nil {
			m.confirm(scheduler.Release{App: x.ask.App, Key: x.ask.Key, Type: scheduler.StoppedByRM})
			m.countEvent("a task ends")
		}
	case 3:
		if x := m.pickTask(preempting); x != nil {
			m.confirm(scheduler.Release{App: x.ask.App, Key: x.ask.Key, Type: scheduler.StoppedByRM})
			m.countEvent("a victim ends by itself")
		}
	case 4:
		m.cancelAsk()
	case 5, 6:
		m.removeNode()
	case 7, 8, 9:
		m.restoreNode()
	case 10:
		m.toggleNodeDrain()
	case 11:
		m.resizeNode()
	case 12:
		m.reportForeign()
	case 13:
		m.reload(randomSetting(m.rng))
	case 14:
		if id := slices.Sorted(maps.Keys(m.apps)); len(id) > 0 && m.rng.IntN(3) == 0 {
			m.removeApplication(id[m.rng.IntN(len(id))])
		}
	case 15:
		m.confirm(scheduler.Release{App: "root.owed/0", Key: "nobody", Type: scheduler.PreemptedByScheduler})
	case 16:
		if m.rng.IntN(8) == 0 {
			m.reregister()
		}
	case 17:
		m.predicateSeed = m.rng.IntN(1000)
		m.tracker.predicatesChangedAt = m.tracker.eventSeq
	case 18:
		m.resizeTask()
	default:
		for range 1 + m.rng.IntN(3) {
			if m.tracker.pendingCount < 30 {
				m.submitNew()
			}
		}
	}
}

// cancelAsk cancels an ask, preferably a nominated one.
func (m *resourceManager) cancelAsk() {
	x := m.pickTask(m.waitsForNode)
	if x != nil {
		m.countEvent("an ask that preempted is cancelled")
	} else {
		x = m.pickTask(pending)
	}
	if x == nil {
		return
	}
	delete(m.tasks, x.ask.Key)
	m.step(scheduler.Release{App: x.ask.App, Key: x.ask.Key, Type: scheduler.StoppedByRM})
}

// removeNode removes a node, preferably one with victims.
func (m *resourceManager) removeNode() {
	id := m.pickNode(func(n *machine) bool { return !n.removed })
	if x := m.pickTask(preempting); x != nil && m.rng.IntN(4) > 0 {
		id = x.node
		m.countEvent("a node vanishes under a preemption")
	}
	if id == "" {
		return
	}
	m.nodes[id].removed, m.nodes[id].foreign = true, 0
	m.tracker.nodeDisturbed(id)
	m.step(scheduler.RemoveNode{Node: id})
}

func (m *resourceManager) restoreNode() {
	id := m.pickNode(func(n *machine) bool { return n.removed })
	if id == "" {
		return
	}
	m.tracker.nodeDisturbed(id)
	m.nodes[id] = &machine{cores: nodeCores}
	m.step(scheduler.AddNode{Node: id, Total: cores(nodeCores), Schedulable: true})
	m.countEvent("a node comes back")
}

func (m *resourceManager) toggleNodeDrain() {
	id := m.pickNode(func(n *machine) bool { return !n.removed })
	if id == "" {
		return
	}
	n := m.nodes[id]
	n.draining = !n.draining
	m.tracker.nodeDisturbed(id)
	m.step(scheduler.SetSchedulable{Node: id, Schedulable: !n.draining})
	m.countEvent("a node drains, or does not any more")
}

func (m *resourceManager) resizeNode() {
	id := m.pickNode(func(n *machine) bool { return !n.removed })
	if id == "" {
		return
	}
	m.setCapacity(id, 6+m.rng.IntN(5))
	m.countEvent("a node has another size")
}

func (m *resourceManager) setCapacity(id objects.NodeID, has int) {
	m.nodes[id].cores = has
	m.tracker.nodeDisturbed(id)
	m.step(scheduler.SetCapacity{Node: id, Total: cores(has)})
}

func (m *resourceManager) reportForeign() {
	id := m.pickNode(func(n *machine) bool { return !n.removed })
	if id == "" {
		return
	}
	m.nodes[id].foreign = 1 + m.rng.IntN(2)
	m.tracker.nodeDisturbed(id)
	m.step(scheduler.ReportForeign{Foreign: objects.Foreign{Key: "f-" + objects.AllocationKey(id), Node: id,
		Amounts: cores(m.nodes[id].foreign)}})
}

func (m *resourceManager) reload(s setting) {
	m.conf = s
	m.tracker.reloadAt = m.tracker.eventSeq
	m.step(scheduler.UseConfig{Partition: s.partition(m.t)})
	m.countEvent("a reload")
}

func (m *resourceManager) removeApplication(id objects.AppID) {
	for key, x := range m.tasks {
		if x.ask.App == id && pending(x) {
			delete(m.tasks, key)
		}
	}
	delete(m.apps, id)
	m.step(scheduler.RemoveApplication{App: id})
	m.countEvent("an application is removed")
}

// resizeTask changes the amounts of a task, preferably of a victim or a pending one.
func (m *resourceManager) resizeTask() {
	preferred := [][]func(*task) bool{
		{preempting, running}, {m.waitsForNode, preempting, running}, {m.waitsForNode, running}, {pending, running},
	}[m.rng.IntN(4)]
	var x *task
	for _, pass := range preferred {
		x = m.pickTask(pass)
		if x != nil {
			break
		}
	}
	if x == nil {
		return
	}
	ask := *x.ask
	x.size = 1 + m.rng.IntN(4)
	if !ask.Amounts.Equal(cores(x.size)) {
		m.tracker.resizedAt[ask.Key] = m.tracker.eventSeq
	}
	ask.Amounts = cores(x.size)
	x.ask = &ask
	switch {
	case running(x):
		m.tracker.nodeDisturbed(x.node)
		if x.queue() == batchLeaf {
			m.tracker.batchUsedAt = m.tracker.eventSeq // it may have a larger quota for others now
		}
		m.countEvent("a running task is resized")
	case m.waitsForNode(x):
		m.countEvent("an ask that preempted is resized")
	default:
		m.countEvent("an ask is resized")
	}
	m.step(scheduler.SubmitAsk{Ask: &ask})
}

// reregister registers again: everything is sent anew, and victims are recovered as running
// allocations.
func (m *resourceManager) reregister() {
	m.step(scheduler.ResetPartition{})
	for _, id := range slices.Sorted(maps.Keys(m.nodes)) {
		n := m.nodes[id]
		n.foreign = 0
		m.tracker.nodeDisturbed(id)
		if !n.removed {
			m.step(scheduler.AddNode{Node: id, Total: cores(n.cores), Schedulable: !n.draining})
		}
	}
	for _, id := range slices.Sorted(maps.Keys(m.apps)) {
		queue := (&task{ask: &objects.Ask{App: id}}).queue()
		m.step(scheduler.AddApplication{App: id, User: security.User{Name: "ann"}, Queue: string(queue)})
	}
	for _, key := range slices.Sorted(maps.Keys(m.tasks)) {
		if x := m.tasks[key]; running(x) {
			x.preemptedAt, x.overdue = time.Time{}, false
		}
	}
	for _, key := range slices.Sorted(maps.Keys(m.tasks)) {
		switch x := m.tasks[key]; {
		case running(x):
			m.step(scheduler.ReportAllocation{Ask: x.ask, Node: x.node})
		default:
			m.step(scheduler.SubmitAsk{Ask: x.ask})
		}
	}
	m.countEvent("registered again")
}

// decide schedules until there is nothing to do, and resubmits victims.
func (m *resourceManager) decide() {
	m.updateOverdue()
	clear(m.tracker.abandoned)
	for range 10_000 {
		effects, more := m.core.Schedule(m.now, 1+m.rng.IntN(20))
		m.onEffects(effects)
		m.checkInvariants()
		if !more {
			m.checkNominees()
			return
		}
	}
	m.fail("deciding does not end")
}

func (m *resourceManager) resubmitVictims() {
	resubmit := m.tracker.toResubmit
	m.tracker.toResubmit = nil
	for _, x := range resubmit {
		m.submit(x.ask.App, x)
	}
}

// injectFaults is the part with faults, in a full cluster.
func (m *resourceManager) injectFaults(steps int) {
	for i := range 3 + m.rng.IntN(3) {
		m.nodes[objects.NodeID(fmt.Sprint("n", i))] = &machine{removed: true}
	}
	for range 3 * len(m.nodes) {
		m.restoreNode()
		m.submitNew()
	}
	m.decide()
	for range steps {
		m.now = m.now.Add([]time.Duration{0, time.Second, 5 * time.Second, 20 * time.Second,
			time.Duration(m.rng.IntN(100)) * time.Second}[m.rng.IntN(5)])
		m.step(scheduler.Wake{})
		m.deliver()
		m.injectEvent()
		m.resubmitVictims()
		m.decide()
	}
}
