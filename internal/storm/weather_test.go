package storm

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// nodeCores is what a node has.
const nodeCores = 10

// later is when a confirmation comes.
func (m *manager) later(d time.Duration, says scheduler.Release) {
	m.letters = append(m.letters, letter{m.now.Add(d), says, m.w.told})
}

// answer decides what becomes of a task that was just told to leave.
func (m *manager) answer(x *task) {
	says := scheduler.Release{App: x.ask.App, Key: x.ask.Key, Type: scheduler.PreemptedByScheduler}
	late := time.Duration(1+m.rng.IntN(600)) * time.Second
	if m.calm {
		m.later(time.Duration(m.rng.IntN(10))*time.Second, says)
		return
	}
	switch m.rng.IntN(8) {
	case 0, 1:
		m.later(0, says)
		m.count("confirmed at once")
	case 2, 3:
		m.later(late, says)
		m.count("confirmed late")
	case 4:
		m.count("never confirmed")
	case 5:
		m.later(late/10, says)
		m.later(late, says)
		m.count("confirmed twice")
	case 6:
		says.Type = scheduler.Termination([]int{0, 1, 2, 4}[m.rng.IntN(4)])
		m.later(late/10, says)
		m.count("confirmed as something else")
	case 7:
		wrong := says
		for _, id := range slices.Sorted(maps.Keys(m.apps)) {
			if id != says.App {
				wrong.App = id
			}
		}
		if wrong.App == says.App {
			wrong.App = "root.owed/nobody"
		}
		m.later(0, wrong)
		m.later(late/10, says)
		m.count("confirmed for another application first")
	}
}

// happen lets one thing go wrong, or right.
func (m *manager) happen() {
	switch m.rng.IntN(30) {
	case 0, 1, 2:
		if x := m.pick(running); x != nil {
			m.confirm(scheduler.Release{App: x.ask.App, Key: x.ask.Key, Type: scheduler.StoppedByRM})
			m.count("a task ends")
		}
	case 3:
		if x := m.pick(leaving); x != nil {
			m.confirm(scheduler.Release{App: x.ask.App, Key: x.ask.Key, Type: scheduler.StoppedByRM})
			m.count("a victim ends by itself")
		}
	case 4:
		m.cancel()
	case 5, 6:
		m.vanish()
	case 7, 8, 9:
		m.comeBack()
	case 10:
		m.drain()
	case 11:
		m.shrink()
	case 12:
		m.foreign()
	case 13:
		m.reload(anySetting(m.rng))
	case 14:
		if id := slices.Sorted(maps.Keys(m.apps)); len(id) > 0 && m.rng.IntN(3) == 0 {
			m.removeApplication(id[m.rng.IntN(len(id))])
		}
	case 15:
		m.confirm(scheduler.Release{App: "root.owed/0", Key: "nobody", Type: scheduler.PreemptedByScheduler})
	case 16:
		if m.rng.IntN(8) == 0 {
			m.startAnew()
		}
	case 17:
		m.mood = m.rng.IntN(1000)
		m.w.moodAt = m.w.seq
	case 18:
		m.resize()
	default:
		for range 1 + m.rng.IntN(3) {
			if m.w.pending < 30 {
				m.fresh()
			}
		}
	}
}

// cancel takes an ask back, rather one that waits for a node.
func (m *manager) cancel() {
	x := m.pick(m.waiting)
	if x != nil {
		m.count("an ask that preempted is cancelled")
	} else if x = m.pick(pending); x == nil {
		return
	}
	delete(m.work, x.ask.Key)
	m.step(scheduler.Release{App: x.ask.App, Key: x.ask.Key, Type: scheduler.StoppedByRM})
}

// vanish takes a node away, rather one that somebody was told to leave.
func (m *manager) vanish() {
	id := m.node(func(n *machine) bool { return !n.away })
	if x := m.pick(leaving); x != nil && m.rng.IntN(4) > 0 {
		id = x.node
		m.count("a node vanishes under a preemption")
	}
	if id == "" {
		return
	}
	m.nodes[id].away, m.nodes[id].foreign = true, 0
	m.w.disturb(id)
	m.step(scheduler.RemoveNode{Node: id})
}

func (m *manager) comeBack() {
	id := m.node(func(n *machine) bool { return n.away })
	if id == "" {
		return
	}
	m.w.disturb(id)
	m.nodes[id] = &machine{has: nodeCores}
	m.step(scheduler.AddNode{Node: id, Total: cores(nodeCores), Schedulable: true})
	m.count("a node comes back")
}

func (m *manager) drain() {
	id := m.node(func(n *machine) bool { return !n.away })
	if id == "" {
		return
	}
	n := m.nodes[id]
	n.drains = !n.drains
	m.w.disturb(id)
	m.step(scheduler.SetSchedulable{Node: id, Schedulable: !n.drains})
	m.count("a node drains, or does not any more")
}

func (m *manager) shrink() {
	id := m.node(func(n *machine) bool { return !n.away })
	if id == "" {
		return
	}
	m.setCapacity(id, 6+m.rng.IntN(5))
	m.count("a node has another size")
}

func (m *manager) setCapacity(id objects.NodeID, has int) {
	m.nodes[id].has = has
	m.w.disturb(id)
	m.step(scheduler.SetCapacity{Node: id, Total: cores(has)})
}

func (m *manager) foreign() {
	id := m.node(func(n *machine) bool { return !n.away })
	if id == "" {
		return
	}
	m.nodes[id].foreign = 1 + m.rng.IntN(2)
	m.w.disturb(id)
	m.step(scheduler.ReportForeign{Foreign: objects.Foreign{Key: "f-" + objects.AllocationKey(id), Node: id, Amounts: cores(m.nodes[id].foreign)}})
}

func (m *manager) reload(s setting) {
	m.conf = s
	m.w.reloadAt = m.w.seq
	m.step(scheduler.UseConfig{Partition: s.partition(m.t)})
	m.count("a reload")
}

func (m *manager) removeApplication(id objects.AppID) {
	for key, x := range m.work {
		if x.ask.App == id && pending(x) {
			delete(m.work, key)
		}
	}
	delete(m.apps, id)
	m.step(scheduler.RemoveApplication{App: id})
	m.count("an application is removed")
}

// resize changes what a task takes, rather one that was told to leave or that is pending.
func (m *manager) resize() {
	rather := [][]func(*task) bool{
		{leaving, running}, {m.waiting, leaving, running}, {m.waiting, running}, {pending, running},
	}[m.rng.IntN(4)]
	var x *task
	for _, pass := range rather {
		if x = m.pick(pass); x != nil {
			break
		}
	}
	if x == nil {
		return
	}
	ask := *x.ask
	x.size = 1 + m.rng.IntN(4)
	if !ask.Amounts.Equal(cores(x.size)) {
		m.w.resized[ask.Key] = m.w.seq
	}
	ask.Amounts = cores(x.size)
	x.ask = &ask
	switch {
	case running(x):
		m.w.disturb(x.node)
		if x.queue() == batch {
			m.w.quota = m.w.seq // it may use more of it now
		}
		m.count("a running task is resized")
	case m.waiting(x):
		m.count("an ask that preempted is resized")
	default:
		m.count("an ask is resized")
	}
	m.step(scheduler.SubmitAsk{Ask: &ask})
}

// startAnew registers again: everything is said anew, and who was told to leave has forgotten.
func (m *manager) startAnew() {
	m.step(scheduler.Forget{})
	for _, id := range slices.Sorted(maps.Keys(m.nodes)) {
		n := m.nodes[id]
		n.foreign = 0
		m.w.disturb(id)
		if !n.away {
			m.step(scheduler.AddNode{Node: id, Total: cores(n.has), Schedulable: !n.drains})
		}
	}
	for _, id := range slices.Sorted(maps.Keys(m.apps)) {
		queue := (&task{ask: &objects.Ask{App: id}}).queue()
		m.step(scheduler.AddApplication{App: id, User: security.User{Name: "ann"}, Queue: string(queue)})
	}
	for _, key := range slices.Sorted(maps.Keys(m.work)) {
		if x := m.work[key]; running(x) {
			x.told, x.late = time.Time{}, false
		}
	}
	for _, key := range slices.Sorted(maps.Keys(m.work)) {
		switch x := m.work[key]; {
		case running(x):
			m.step(scheduler.ReportAllocation{Ask: x.ask, Node: x.node})
		default:
			m.step(scheduler.SubmitAsk{Ask: x.ask})
		}
	}
	m.count("everything is said anew")
}

// decide lets the Core decide until it has nothing more to do, and asks again for who had to leave.
func (m *manager) decide() {
	m.overdue()
	clear(m.w.gaveUp)
	for range 10_000 {
		effects, more := m.core.Schedule(m.now, 1+m.rng.IntN(20))
		m.hear(effects)
		m.check()
		if !more {
			m.settled()
			return
		}
	}
	m.fail("deciding does not end")
}

func (m *manager) comeAgain() {
	again := m.w.again
	m.w.again = nil
	for _, x := range again {
		m.submit(x.ask.App, x)
	}
}

// storm is the first part: a full cluster, in which everything goes wrong.
func (m *manager) storm(beats int) {
	for i := range 3 + m.rng.IntN(3) {
		m.nodes[objects.NodeID(fmt.Sprint("n", i))] = &machine{away: true}
	}
	for range 3 * len(m.nodes) {
		m.comeBack()
		m.fresh()
	}
	m.decide()
	for range beats {
		m.now = m.now.Add([]time.Duration{0, time.Second, 5 * time.Second, 20 * time.Second, time.Duration(m.rng.IntN(100)) * time.Second}[m.rng.IntN(5)])
		m.step(scheduler.Wake{})
		m.deliver()
		m.happen()
		m.comeAgain()
		m.decide()
	}
}
