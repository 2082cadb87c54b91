package storm

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/budgets"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// core is the unit in which everything is sized.
const core = 1000

func cores(n int) resources.Amounts {
	return resources.FromMap(map[string]resources.Quantity{"vcore": resources.Quantity(n * core)})
}

// manager is the resource manager: what it believes, from what it said and heard.
type manager struct {
	t     *testing.T
	seed  uint64
	rng   *rand.Rand
	core  *scheduler.Core
	now   time.Time
	conf  setting
	calm  bool // the faults have stopped
	moody bool // it can be asked about nodes, and changes its mind
	mood  int

	nodes   map[objects.NodeID]*machine
	apps    map[objects.AppID]objects.QueuePath
	work    map[objects.AllocationKey]*task
	letters []letter // confirmations that are under way
	made    int      // tasks

	expected scheduler.Release // that is about nobody

	w watch
}

// machine is a node as the manager knows it.
type machine struct {
	has, foreign int // cores
	away, drains bool
}

// task is something that runs or wants to, under one key.
type task struct {
	ask     *objects.Ask
	size    int
	node    objects.NodeID // empty: pending
	told    time.Time      // to leave; zero: not
	late    bool           // so long ago that nobody counts on it
	order   int            // among all that were told
	lineage string         // what it is called, whenever it comes back
	again   int            // how often it has come back
	depth   int            // how many preemptions in the calm led to this one asking
}

// letter is a confirmation that arrives later.
type letter struct {
	at    time.Time
	says  scheduler.Release
	order int
}

// Fits implements scheduler.Oracle. In the calm it agrees to everything.
func (m *manager) Fits(ask objects.AllocationKey, node objects.NodeID) bool {
	if m.calm {
		return true
	}
	h := m.mood
	for _, c := range string(ask) + string(node) {
		h = h*31 + int(c)
	}
	return h%6 != 0
}

func (m *manager) count(what string) { m.w.counts[what]++ }

func (m *manager) fail(format string, args ...any) {
	m.t.Helper()
	m.t.Fatalf("seed %d at %s: %s", m.seed, m.now.Format("15:04:05"), fmt.Sprintf(format, args...))
}

// pick is one of those that pass, in the order of their keys; nil: none does.
func (m *manager) pick(pass func(*task) bool) *task {
	var found []*task
	for _, key := range slices.Sorted(maps.Keys(m.work)) {
		if x := m.work[key]; pass(x) {
			found = append(found, x)
		}
	}
	if len(found) == 0 {
		return nil
	}
	return found[m.rng.IntN(len(found))]
}

func pending(x *task) bool { return x.node == "" }
func running(x *task) bool { return x.node != "" }
func leaving(x *task) bool { return !x.told.IsZero() }

// waiting reports whether x has preempted and has no node yet.
func (m *manager) waiting(x *task) bool {
	_, waits := m.w.last[x.ask.Key]
	return pending(x) && waits
}

// node is one of the machines that pass; empty: none does.
func (m *manager) node(pass func(*machine) bool) objects.NodeID {
	var found []objects.NodeID
	for _, id := range slices.Sorted(maps.Keys(m.nodes)) {
		if pass(m.nodes[id]) {
			found = append(found, id)
		}
	}
	if len(found) == 0 {
		return ""
	}
	return found[m.rng.IntN(len(found))]
}

// step tells the Core, and hears it.
func (m *manager) step(cmd scheduler.Command) {
	m.t.Helper()
	m.hear(m.core.Step(m.now, cmd))
	m.check()
}

// submit asks for a new task of a lineage that may have run before.
func (m *manager) submit(app objects.AppID, x task) {
	if _, there := m.apps[app]; !there {
		m.apps[app] = x.queue()
		m.step(scheduler.AddApplication{App: app, User: security.User{Name: "ann"}, Queue: string(x.queue())})
	}
	ask := *x.ask
	ask.App, ask.Key, ask.Created = app, objects.AllocationKey(fmt.Sprintf("%s#%d", x.lineage, x.again)), m.now
	m.work[ask.Key] = &task{ask: &ask, size: x.size, lineage: x.lineage, again: x.again, depth: x.depth}
	m.w.asked[ask.Key] = ask.Priority
	m.step(scheduler.SubmitAsk{Ask: &ask})
}

// queue is the leaf of a task: its application is called after it.
func (x *task) queue() objects.QueuePath {
	path, _, _ := strings.Cut(string(x.ask.App), "/")
	return objects.QueuePath(path)
}

// fresh asks for something new: a single task, or the members of a gang.
func (m *manager) fresh() {
	leaf := leaves[m.rng.IntN(len(leaves))]
	app := objects.AppID(fmt.Sprintf("%s/%d", leaf, m.rng.IntN(2)))
	members, gang := 1, ""
	if leaf == groups && m.rng.IntN(2) == 0 {
		members, gang = 2+m.rng.IntN(2), fmt.Sprint("gang-", m.made)
		m.count("a gang asks")
	}
	priority := levels[m.rng.IntN(len(levels))]
	policy := objects.PolicySent.With(objects.PolicySelf, m.rng.IntN(2) == 0).With(objects.PolicyOther, m.rng.IntN(10) > 0)
	tags := map[string]string{}
	if m.rng.IntN(3) == 0 {
		tags[budgets.LabelTag+"app"] = "few"
	}
	only := objects.NodeID("")
	if m.rng.IntN(12) == 0 {
		only = m.node(func(n *machine) bool { return !n.away })
	}
	for range members {
		m.made++
		size := 1 + m.rng.IntN(4)
		m.submit(app, task{size: size, lineage: fmt.Sprint("t", m.made), ask: &objects.Ask{
			App: app, Amounts: cores(size), Priority: priority, Policy: policy, TaskGroup: gang, Tags: tags, RequiredNode: only,
		}})
	}
}

// depart takes a task that has left out of the books. Who had to leave may ask again.
func (m *manager) depart(x *task) {
	delete(m.work, x.ask.Key)
	if !leaving(x) {
		return
	}
	if m.calm || m.rng.IntN(10) < 7 {
		again := *x
		again.again++
		m.count("a victim asks again")
		m.w.again = append(m.w.again, again)
	} else {
		m.count("a victim never asks again")
	}
}

// deliver sends the confirmations that are due, in any order.
func (m *manager) deliver() {
	var due []letter
	m.letters = slices.DeleteFunc(m.letters, func(l letter) bool {
		if l.at.After(m.now) {
			return false
		}
		due = append(due, l)
		return true
	})
	m.rng.Shuffle(len(due), func(i, j int) { due[i], due[j] = due[j], due[i] })
	for i, l := range due {
		if i > 0 && l.order < due[i-1].order {
			m.count("confirmed out of order")
		}
		m.confirm(l.says)
	}
}

// confirm says that a task has left. Of one that the manager does not have, nothing may come.
func (m *manager) confirm(says scheduler.Release) {
	m.t.Helper()
	x := m.work[says.Key]
	if x == nil || x.ask.App != says.App {
		m.stray(says)
		return
	}
	confirms := says.Type != scheduler.Unspecified && says.Type != scheduler.StoppedByRM
	if confirms {
		m.depart(x) // nobody is told again
	}
	m.step(says)
	if !confirms && m.work[says.Key] != nil {
		m.fail("%s was released and nobody is told", says.Key)
	}
}

// stray confirms what the Core cannot know: it says so, counts it, and changes nothing.
func (m *manager) stray(says scheduler.Release) {
	m.t.Helper()
	_, asks, allocations := m.core.Partition().Counts()
	want := m.core.Preemptions().Strays
	if says.Type == scheduler.PreemptedByScheduler {
		want++
		m.count("confirmed what is unknown")
	}
	m.expected = says
	m.step(says)
	m.expected = scheduler.Release{}
	if _, b, c := m.core.Partition().Counts(); b != asks || c != allocations {
		m.fail("the confirmation of %s, which is unknown, changed the books", says.Key)
	}
	if got := m.core.Preemptions().Strays; got != want {
		m.fail("%d confirmations of unknown work were counted, not %d", got, want)
	}
}
