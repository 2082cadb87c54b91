package chaos

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

// millicoresPerCore is the unit in which everything is sized.
const millicoresPerCore = 1000

func cores(n int) resources.Amounts {
	return resources.FromMap(map[string]resources.Quantity{"vcore": resources.Quantity(n * millicoresPerCore)})
}

// resourceManager is the resource manager, with its own accounting from its messages.
type resourceManager struct {
	t                *testing.T
	seed             uint64
	rng              *rand.Rand
	core             *scheduler.Core
	now              time.Time
	conf             setting
	faultsStopped    bool // the faults have stopped
	predicatesChange bool // its predicates can be called, and their answers change
	predicateSeed    int

	nodes         map[objects.NodeID]*machine
	apps          map[objects.AppID]objects.QueuePath
	tasks         map[objects.AllocationKey]*task
	confirmations []confirmation // confirmations that are scheduled
	taskCount     int            // tasks

	expectedUnknown scheduler.Release // the unknown confirmation that was sent

	tracker tracker
}

// machine is a node of the manager.
type machine struct {
	cores, foreign    int // cores
	removed, draining bool
}

// task is an ask or an allocation of one key.
type task struct {
	ask             *objects.Ask
	size            int
	node            objects.NodeID // empty: pending
	preemptedAt     time.Time      // zero: not preempted
	overdue         bool           // confirmed so late that it does not count
	preemptionOrder int            // sequence number among all victims
	lineage         string         // the same name for all its keys
	restarts        int            // how often it was resubmitted
	chainDepth      int            // number of preemptions without faults that led to this ask
}

// confirmation is a confirmation that arrives later.
type confirmation struct {
	due             time.Time
	release         scheduler.Release
	preemptionOrder int
}

// Fits implements *objects.Oracle. Without faults it accepts everything.
func (m *resourceManager) Fits(ask objects.AllocationKey, node objects.NodeID) bool {
	if m.faultsStopped {
		return true
	}
	h := m.predicateSeed
	for _, c := range string(ask) + string(node) {
		h = h*31 + int(c)
	}
	return h%6 != 0
}

func (m *resourceManager) countEvent(what string) { m.tracker.events[what]++ }

func (m *resourceManager) fail(format string, args ...any) {
	m.t.Helper()
	m.t.Fatalf("seed %d at %s: %s", m.seed, m.now.Format("15:04:05"), fmt.Sprintf(format, args...))
}

// pickTask returns a random task that passes, from the keys in order; nil: none does.
func (m *resourceManager) pickTask(pass func(*task) bool) *task {
	var found []*task
	for _, key := range slices.Sorted(maps.Keys(m.tasks)) {
		if x := m.tasks[key]; pass(x) {
			found = append(found, x)
		}
	}
	if len(found) == 0 {
		return nil
	}
	return found[m.rng.IntN(len(found))]
}

func pending(x *task) bool    { return x.node == "" }
func running(x *task) bool    { return x.node != "" }
func preempting(x *task) bool { return !x.preemptedAt.IsZero() }

// waitsForNode reports whether x has preempted and is not placed.
func (m *resourceManager) waitsForNode(x *task) bool {
	_, waits := m.tracker.lastPreemption[x.ask.Key]
	return pending(x) && waits
}

// pickNode returns a random machine that passes; empty: none does.
func (m *resourceManager) pickNode(pass func(*machine) bool) objects.NodeID {
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

// step sends a command to the Core, and processes its effects.
func (m *resourceManager) step(cmd scheduler.Command) {
	m.t.Helper()
	m.onEffects(m.core.Step(m.now, cmd))
	m.checkInvariants()
}

// submit submits a task, new or resubmitted.
func (m *resourceManager) submit(app objects.AppID, x task) {
	if _, there := m.apps[app]; !there {
		m.apps[app] = x.queue()
		m.step(scheduler.AddApplication{App: app, User: security.User{Name: "ann"}, Queue: string(x.queue())})
	}
	ask := *x.ask
	ask.App, ask.Key, ask.Created = app, objects.AllocationKey(fmt.Sprintf("%s#%d", x.lineage, x.restarts)),
		objects.TimestampOf(m.now)
	m.tasks[ask.Key] = &task{ask: &ask, size: x.size, lineage: x.lineage, restarts: x.restarts, chainDepth: x.chainDepth}
	m.tracker.askPriority[ask.Key] = ask.Priority
	m.step(scheduler.SubmitAsk{Ask: &ask})
}

// queue returns the leaf of a task: the application is named after it.
func (x *task) queue() objects.QueuePath {
	path, _, _ := strings.Cut(string(x.ask.App), "/")
	return objects.QueuePath(path)
}

// submitNew submits new tasks: a single one, or the members of a gang.
func (m *resourceManager) submitNew() {
	leaf := leaves[m.rng.IntN(len(leaves))]
	app := objects.AppID(fmt.Sprintf("%s/%d", leaf, m.rng.IntN(2)))
	members, gang := 1, ""
	if leaf == groupsLeaf && m.rng.IntN(2) == 0 {
		members, gang = 2+m.rng.IntN(2), fmt.Sprint("gang-", m.taskCount)
		m.countEvent("a gang asks")
	}
	priority := priorityLevels[m.rng.IntN(len(priorityLevels))]
	policy := objects.PolicySent.With(objects.PolicyAllowPreemptSelf,
		m.rng.IntN(2) == 0).With(objects.PolicyAllowPreemptOther, m.rng.IntN(10) > 0)
	tags := map[string]string{}
	if m.rng.IntN(3) == 0 {
		tags[budgets.LabelTag+"app"] = "few"
	}
	requiredNode := objects.NodeID("")
	if m.rng.IntN(12) == 0 {
		requiredNode = m.pickNode(func(n *machine) bool { return !n.removed })
	}
	for range members {
		m.taskCount++
		size := 1 + m.rng.IntN(4)
		m.submit(app, task{size: size, lineage: fmt.Sprint("t", m.taskCount), ask: &objects.Ask{
			App: app, Amounts: cores(size), Priority: priority, Policy: policy,
			Details: objects.NewAskDetails(objects.AskDetails{TaskGroup: gang, Tags: tags, RequiredNode: requiredNode}),
		}})
	}
}

// removeTask removes an ended task. A victim may be resubmitted.
func (m *resourceManager) removeTask(x *task) {
	delete(m.tasks, x.ask.Key)
	if !preempting(x) {
		return
	}
	if m.faultsStopped || m.rng.IntN(10) < 7 {
		again := *x
		again.restarts++
		m.countEvent("a victim asks again")
		m.tracker.toResubmit = append(m.tracker.toResubmit, again)
	} else {
		m.countEvent("a victim never asks again")
	}
}

// deliver sends the confirmations that are due, in random order.
func (m *resourceManager) deliver() {
	var due []confirmation
	m.confirmations = slices.DeleteFunc(m.confirmations, func(l confirmation) bool {
		if l.due.After(m.now) {
			return false
		}
		due = append(due, l)
		return true
	})
	m.rng.Shuffle(len(due), func(i, j int) { due[i], due[j] = due[j], due[i] })
	for i, l := range due {
		if i > 0 && l.preemptionOrder < due[i-1].preemptionOrder {
			m.countEvent("confirmed out of order")
		}
		m.confirm(l.release)
	}
}

// confirm confirms a release. For an unknown task there must be no effect but the report.
func (m *resourceManager) confirm(release scheduler.Release) {
	m.t.Helper()
	x := m.tasks[release.Key]
	if x == nil || x.ask.App != release.App {
		m.confirmUnknown(release)
		return
	}
	confirms := release.Type != scheduler.Unspecified && release.Type != scheduler.StoppedByRM
	if confirms {
		m.removeTask(x) // there is no further effect
	}
	m.step(release)
	if !confirms && m.tasks[release.Key] != nil {
		m.fail("%s was released without an effect", release.Key)
	}
}

// confirmUnknown confirms an unknown allocation: the Core reports and counts it, and changes nothing.
func (m *resourceManager) confirmUnknown(release scheduler.Release) {
	m.t.Helper()
	_, asks, allocations := m.core.Partition().Counts()
	want := m.core.Preemptions().UnknownConfirmations
	if release.Type == scheduler.PreemptedByScheduler {
		want++
		m.countEvent("confirmed what is unknown")
	}
	m.expectedUnknown = release
	m.step(release)
	m.expectedUnknown = scheduler.Release{}
	if _, b, c := m.core.Partition().Counts(); b != asks || c != allocations {
		m.fail("the confirmation of %s, which is unknown, changed the accounting", release.Key)
	}
	if got := m.core.Preemptions().UnknownConfirmations; got != want {
		m.fail("%d confirmations of unknown work were counted, not %d", got, want)
	}
}
