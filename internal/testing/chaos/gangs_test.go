package chaos

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/testing/testscale"
	"github.com/canopy-scheduler/canopy/pkg/configs/queuesyaml"
	"github.com/canopy-scheduler/canopy/pkg/gangs"
	"github.com/canopy-scheduler/canopy/pkg/lifecycle"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

const gangConfig = `
partitions:
- name: default
  preemption: {nodepressureenabled: true, quotapreemptionenabled: true}
  reservation: {delay: 1s, timeout: 2h, nodepercent: 50}
  queues:
  - name: root
    submitacl: '*'
    properties: {preemption.delay: 1s}
    queues:
    - {name: gangs, resources: {guaranteed: {vcore: 12}, max: {vcore: 24}}, properties: {preemption.gang: enabled}}
    - {name: others, properties: {preemption.priority: fence}}
`

// gangManager is a resource manager that runs gangs, with its own accounting from its messages. While it has faults,
// releases that the core has ordered are confirmed late, twice, as something else, or never.
type gangManager struct {
	t             *testing.T
	seed          uint64
	rng           *rand.Rand
	core          *scheduler.Core
	now           time.Time
	faultsStopped bool

	apps    map[objects.AppID]lifecycle.State
	tasks   map[objects.AllocationKey]*gangTask
	nodes   map[objects.NodeID]bool // whether the node exists
	ordered []gangRelease           // to confirm
	count   int
	events  map[string]int
}

// gangTask is an ask or an allocation.
type gangTask struct {
	ask     *objects.Ask
	size    int
	node    objects.NodeID // empty: pending
	ordered bool           // its release was ordered
}

type gangRelease struct {
	due     time.Time
	release scheduler.Release
}

func (m *gangManager) fail(format string, args ...any) {
	m.t.Helper()
	m.t.Fatalf("seed %d at %s: %s", m.seed, m.now.Format(time.TimeOnly), fmt.Sprintf(format, args...))
}

// Fits implements *objects.Oracle.
func (m *gangManager) Fits(ask objects.AllocationKey, node objects.NodeID) bool {
	return m.faultsStopped || (len(ask)+int(ask[len(ask)-1])+int(node[1]))%5 != 0
}

func (m *gangManager) step(cmd scheduler.Command) { m.onEffects(m.core.Step(m.now, cmd)) }

// onEffects checks each effect against the accounting, and applies it.
func (m *gangManager) onEffects(effects []scheduler.Effect) {
	m.t.Helper()
	for _, e := range effects {
		switch e := e.(type) {
		case scheduler.Allocated:
			x := m.tasks[e.Ask.Key]
			if x == nil || x.node != "" || !m.nodes[e.Node] {
				m.fail("%s, which does not wait, or on no node", e)
			}
			x.node = e.Node
		case scheduler.Released:
			m.onReleased(e)
		case scheduler.AskTimedOut:
			if x := m.tasks[e.Key]; x == nil || x.node != "" {
				m.fail("%s, which does not wait", e)
			}
			delete(m.tasks, e.Key)
			m.events["an ask ends with its gang"]++
			m.order(scheduler.Release{App: e.App, Key: e.Key, Type: scheduler.TimedOut})
		case scheduler.ApplicationUpdated:
			m.apps[e.App] = e.State
			m.events[e.State.String()]++
			if e.State == lifecycle.Completed || e.State == lifecycle.Failed {
				delete(m.apps, e.App)
			}
		case scheduler.ApplicationRejected, scheduler.NodeRejected:
			m.fail("%s", e)
		case scheduler.AskRejected:
			if m.apps[e.App] != lifecycle.Failing && m.apps[e.App] != lifecycle.New {
				m.fail("%s", e)
			}
			delete(m.tasks, e.Key)
		}
	}
	if err := m.core.Check(); err != nil {
		m.fail("%v", err)
	}
}

func (m *gangManager) onReleased(e scheduler.Released) {
	x := m.tasks[e.Key]
	switch {
	case x == nil || x.node == "":
		m.fail("%s, which does not run", e)
	case e.Type == scheduler.StoppedByRM:
		delete(m.tasks, e.Key)
		return
	case x.ordered:
		m.fail("%s, whose release was ordered before", e)
	case e.Type != scheduler.PreemptedByScheduler && !x.ask.Placeholder:
		m.fail("%s, which is no placeholder", e)
	}
	x.ordered = true
	m.events["ordered: "+e.Type.String()]++
	m.order(scheduler.Release{App: e.App, Key: e.Key, Type: e.Type})
}

// order chooses how a release is confirmed.
func (m *gangManager) order(r scheduler.Release) {
	confirm := func(after time.Duration) { m.ordered = append(m.ordered, gangRelease{m.now.Add(after), r}) }
	late := time.Duration(1+m.rng.IntN(40)) * time.Second
	if m.faultsStopped {
		confirm(time.Second)
		return
	}
	switch m.rng.IntN(6) {
	case 0, 1:
		confirm(0)
	case 2:
		confirm(late)
		m.events["confirmed late"]++
	case 3:
		confirm(0)
		confirm(late)
		m.events["confirmed twice"]++
	case 4:
		r.Type = []scheduler.Termination{scheduler.TimedOut, scheduler.PlaceholderReplaced, scheduler.PreemptedByScheduler,
			scheduler.StoppedByRM, scheduler.Unspecified}[m.rng.IntN(5)]
		confirm(late / 4)
		m.events["confirmed as something else"]++
	case 5:
		m.events["not confirmed while there are faults"]++
	}
}

// deliver confirms what is due, in random order.
func (m *gangManager) deliver() {
	var due []gangRelease
	m.ordered = slices.DeleteFunc(m.ordered, func(r gangRelease) bool {
		if !r.due.After(m.now) {
			due = append(due, r)
		}
		return !r.due.After(m.now)
	})
	m.rng.Shuffle(len(due), func(i, j int) { due[i], due[j] = due[j], due[i] })
	for _, r := range due {
		if x := m.tasks[r.release.Key]; x != nil && r.release.Type != scheduler.StoppedByRM &&
			r.release.Type != scheduler.Unspecified {
			delete(m.tasks, r.release.Key) // a confirmation has no answer
		}
		m.step(r.release)
	}
}

// submit submits members of a gang, or its placeholders.
func (m *gangManager) submit(app objects.AppID, group string, placeholder bool, n, size int) {
	for range n {
		m.count++
		ask := &objects.Ask{
			Key: objects.AllocationKey(fmt.Sprintf("%s-%d", group, m.count)), App: app, Amounts: cores(size),
			Placeholder: placeholder,
			Details:     objects.NewAskDetails(objects.AskDetails{TaskGroup: group}),
			Policy:      objects.PolicySent | objects.PolicyAllowPreemptSelf | objects.PolicyAllowPreemptOther,
			Priority:    int32(m.rng.IntN(2)),
		}
		m.tasks[ask.Key] = &gangTask{ask: ask, size: size}
		m.step(scheduler.SubmitAsk{Ask: ask})
	}
}

func (m *gangManager) addGang() {
	m.count++
	app := objects.AppID(fmt.Sprint("app-", m.count))
	size, n := 1+m.rng.IntN(4), 1+m.rng.IntN(4)
	spec := gangs.Spec{Style: gangs.Style(m.rng.IntN(2)), Timeout: time.Duration(3+m.rng.IntN(40)) * time.Second,
		Requested: cores(n * size)}
	queue := "root.gangs"
	if m.rng.IntN(3) == 0 {
		queue = "root.others"
	}
	m.apps[app] = lifecycle.New
	m.step(scheduler.AddApplication{App: app, User: security.User{Name: "ann"}, Queue: queue, Gang: spec})
	m.submit(app, "g", true, n, size)
}

func (m *gangManager) event() {
	ids := slices.Sorted(maps.Keys(m.apps))
	some := func() objects.AppID { return ids[m.rng.IntN(len(ids))] }
	node := objects.NodeID(fmt.Sprint("n", m.rng.IntN(4)))
	switch x := m.rng.IntN(20); {
	case len(ids) < 3 || x == 0 && len(ids) < 8:
		m.addGang()
	case x < 8:
		m.submit(some(), "g", false, 1+m.rng.IntN(2), 1+m.rng.IntN(4))
	case x < 10:
		m.submit(some(), "", false, 1, 1+m.rng.IntN(4))
	case x < 13:
		keys := slices.Sorted(maps.Keys(m.tasks))
		if len(keys) == 0 {
			return
		}
		x := m.tasks[keys[m.rng.IntN(len(keys))]]
		if x.node == "" {
			delete(m.tasks, x.ask.Key)
		}
		m.step(scheduler.Release{App: x.ask.App, Key: x.ask.Key, Type: scheduler.StoppedByRM})
	case x == 13:
		m.removeApplication(some())
	case x < 16 && m.nodes[node]:
		m.nodes[node] = false
		m.step(scheduler.RemoveNode{Node: node})
		m.events["a node is removed"]++
	case x < 18:
		m.addNode(node)
	case x == 18 && m.nodes[node]:
		m.step(scheduler.SetSchedulable{Node: node, Schedulable: m.rng.IntN(2) == 0})
	case m.nodes[node]:
		m.step(scheduler.SetCapacity{Node: node, Total: cores(5 + m.rng.IntN(6))})
	}
}

func (m *gangManager) addNode(id objects.NodeID) {
	if m.nodes[id] {
		return
	}
	m.nodes[id] = true
	m.step(scheduler.AddNode{Node: id, Total: cores(nodeCores), Schedulable: true})
}

func (m *gangManager) removeApplication(id objects.AppID) {
	for key, x := range m.tasks {
		if x.ask.App == id && x.node == "" {
			delete(m.tasks, key)
		}
	}
	delete(m.apps, id)
	m.step(scheduler.RemoveApplication{App: id})
	delete(m.apps, id)
}

func (m *gangManager) schedule() {
	effects, _ := m.core.Schedule(m.now, 50)
	m.onEffects(effects)
}

// quiesce is the part without faults: what was ordered is confirmed, until nothing is left to do.
func (m *gangManager) quiesce() {
	m.faultsStopped = true
	for id := range 4 {
		node := objects.NodeID(fmt.Sprint("n", id))
		m.addNode(node)
		m.step(scheduler.SetCapacity{Node: node, Total: cores(nodeCores)})
		m.step(scheduler.SetSchedulable{Node: node, Schedulable: true})
	}
	m.ordered = nil
	for _, key := range slices.Sorted(maps.Keys(m.tasks)) {
		if x := m.tasks[key]; x.ordered {
			m.order(scheduler.Release{App: x.ask.App, Key: key, Type: scheduler.PlaceholderReplaced})
		}
	}
	for range 2_000 {
		m.schedule()
		at, wakes := m.core.NextDeadline()
		for _, r := range m.ordered {
			if !wakes || r.due.Before(at) {
				at, wakes = r.due, true
			}
		}
		if !wakes || at.After(m.now.Add(time.Hour)) {
			m.checkQuiescent()
			return
		}
		if at.After(m.now) {
			m.now = at
		}
		m.step(scheduler.Wake{})
		m.deliver()
	}
	m.fail("it does not become idle")
}

// checkQuiescent: every timeout has ended, so no placeholder is left and no ask waits for one; the accounting is that
// of the manager.
func (m *gangManager) checkQuiescent() {
	m.t.Helper()
	for id, state := range m.apps {
		if state == lifecycle.Resuming || state == lifecycle.Failing {
			m.fail("application %s is still %s", id, state)
		}
	}
	used := map[objects.NodeID]int{}
	if problem := placeableReservation(m.core.Partition()); problem != "" {
		m.fail("%s", problem)
	}
	for key, x := range m.tasks {
		y, ok := m.core.Partition().Allocation(key)
		if !ok || y.Pending() != (x.node == "") || !y.Pending() && y.Node().ID() != x.node || x.ask.Placeholder || x.ordered {
			m.fail("%s differs from the accounting of the manager, or is a placeholder", key)
		}
		if y.Pending() && y.AskGroup().Held() {
			m.fail("%s waits for a placeholder, and there is none", key)
		}
		used[x.node] += x.size
	}
	for n := range m.core.Partition().EachNode {
		if got := m.core.Partition().Amounts(n.Allocated()); !got.Equal(cores(used[n.ID()])) {
			m.fail("node %s has allocated %v, not %d cores", n.ID(), got, used[n.ID()])
		}
	}
	if _, asks, allocations := m.core.Partition().Counts(); asks+allocations != len(m.tasks) {
		m.fail("there are %d asks and %d allocations, and the manager has %d", asks, allocations, len(m.tasks))
	}
}

// Gangs end well whatever a resource manager does about the releases that the core orders: none is ordered twice, each
// replacement is of a placeholder, the accounting is consistent after each step, and when the faults have stopped
// everything comes to rest without placeholders.
func TestChaos_Gangs(t *testing.T) {
	events, runs := map[string]int{}, testscale.Runs(200)
	for seed := range uint64(runs) {
		conf, problems := queuesyaml.Load([]byte(gangConfig))
		assert.Assert(t, conf != nil, "%v", problems)
		m := &gangManager{
			t: t, seed: seed, rng: rand.New(rand.NewPCG(seed, 57)), now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
			events: events,
			apps:   map[objects.AppID]lifecycle.State{}, tasks: map[objects.AllocationKey]*gangTask{},
			nodes: map[objects.NodeID]bool{},
		}
		var oracle *objects.Oracle
		if seed%2 == 0 {
			oracle = &objects.Oracle{Fits: m.Fits}
		}
		m.core = scheduler.New(conf.Partitions[0], oracle)
		for i := range 3 {
			m.addNode(objects.NodeID(fmt.Sprint("n", i)))
		}
		for range 120 {
			m.now = m.now.Add(time.Duration(m.rng.IntN(3)) * time.Second)
			m.step(scheduler.Wake{}) // what is due ends before the manager does anything
			m.event()
			m.deliver()
			if m.rng.IntN(2) == 0 {
				m.schedule()
			}
		}
		m.quiesce()
		for _, id := range slices.Sorted(maps.Keys(m.apps)) {
			m.removeApplication(id)
		}
		if _, asks, allocations := m.core.Partition().Counts(); asks+allocations+len(m.tasks) != 0 {
			m.fail("%d asks and %d allocations are left without applications", asks, allocations)
		}
	}
	t.Log(events)
	for _, what := range []string{
		"ordered: replaced", "ordered: timed out", "ordered: preempted", "an ask ends with its gang", "confirmed late",
		"confirmed twice",
		"confirmed as something else", "not confirmed while there are faults", "a node is removed", "Resuming", "Failing",
		"Failed",
	} {
		assert.Check(t, events[what] >= runs/4, "%q happened %d times in %d runs", what, events[what], runs)
	}
}
