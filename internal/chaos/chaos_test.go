package chaos

import (
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/testscale"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// stepsPerRun is how long a storm is.
const stepsPerRun = 100

// requiredEvents is what must happen in the storms together, each at least so often: a property of what
// never happens shows nothing.
var requiredEvents = []string{
	"a gang asks", "a node comes back", "a node drains, or does not any more", "a node has another size",
	"a node vanishes under a preemption", "a reload", "a running task is resized", "a task ends", "a victim asks again",
	"a victim ends by itself", "a victim never asks again", "again, as a more important one took the node",
	"again, as it has waited too long", "again, as its node has changed",
	"again, as it is another one", "an application is removed", "an ask is resized", "an ask that preempted is cancelled",
	"an ask that preempted is resized", "by right of pressure", "by right of guarantee",
	"by right of priority", "by right of quota", "by right of required node", "confirmed as something else", "confirmed at once",
	"confirmed for another application first", "confirmed late", "confirmed out of order", "confirmed twice",
	"confirmed what is unknown", "everything is said anew", "never confirmed", "preempted in the calm", "room goes round",
	"room goes round, and there is a pause", "somebody alone gives up its node", "somebody waits for a node",
	"who preempted gets another node", "who preempted gets the node",
}

// TestChaos lets everything go wrong and then nothing any more. The environment variables
// CANOPY_CHAOS_SEED and CANOPY_CHAOS_RUNS say with which storm it begins and how many they are; without
// the latter package testscale does.
func TestChaos(t *testing.T) {
	const shards = 8
	first, runs := envNumber(t, "CANOPY_CHAOS_SEED", 1), envNumber(t, "CANOPY_CHAOS_RUNS", uint64(testscale.Runs(200)))
	var mu sync.Mutex
	counts, most, chain, preemptions := map[string]int{}, 0, 0, 0
	t.Run("all", func(t *testing.T) {
		for shard := range uint64(shards) {
			t.Run("every eighth from seed "+strconv.FormatUint(first+shard, 10), func(t *testing.T) {
				t.Parallel()
				for i := shard; i < runs; i += shards {
					w := runChaos(t, first+i)
					mu.Lock()
					for what, n := range w.events {
						counts[what] += n
					}
					most, chain, preemptions = max(most, w.maxPreemptions), max(chain, w.longestChainSeen), max(preemptions, w.preemptionsAfterFaults)
					mu.Unlock()
				}
			})
		}
	})
	for _, what := range slices.Sorted(maps.Keys(counts)) {
		t.Logf("%6d %s", counts[what], what)
	}
	t.Logf("an ask preempted %d times at most; in the calm, a chain had %d links at most and there were %d preemptions at most", most, chain, preemptions)
	if runs < 100 || t.Failed() {
		return // too few for everything to happen
	}
	for _, what := range requiredEvents {
		assert.Assert(t, counts[what] >= 10, "%q happened %d times", what, counts[what])
	}
}

func envNumber(t *testing.T, variable string, fallback uint64) uint64 {
	text := os.Getenv(variable)
	if text == "" {
		return fallback
	}
	n, err := strconv.ParseUint(text, 10, 64)
	assert.NilError(t, err, variable)
	return n
}

func runChaos(t *testing.T, seed uint64) tracker {
	m := &resourceManager{
		t: t, seed: seed, rng: rand.New(rand.NewPCG(seed, 0)), now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
		nodes: map[objects.NodeID]*machine{}, apps: map[objects.AppID]objects.QueuePath{}, tasks: map[objects.AllocationKey]*task{}, tracker: newTracker(),
	}
	m.conf = randomSetting(m.rng)
	m.predicatesChange = m.rng.IntN(4) == 0
	var oracle scheduler.Oracle
	if m.predicatesChange {
		oracle = m
	}
	m.core = scheduler.New(m.conf.partition(t), oracle)
	m.injectFaults(stepsPerRun)
	m.quiesce()
	m.removeAllApplications()
	return m.tracker
}

// quiesce is the second part: the faults stop, and everybody who had to leave asks again. The
// manager acts when a confirmation is due or the Core wants to be woken, until neither is.
func (m *resourceManager) quiesce() {
	m.confirmations = nil
	for _, id := range slices.Sorted(maps.Keys(m.nodes)) {
		n := m.nodes[id]
		switch {
		case n.removed:
			m.nodes[id] = &machine{cores: nodeCores}
			m.step(scheduler.AddNode{Node: id, Total: cores(nodeCores), Schedulable: true})
		default:
			m.setCapacity(id, nodeCores)
			n.draining, n.foreign = false, 0
			m.step(scheduler.SetSchedulable{Node: id, Schedulable: true})
			m.step(scheduler.ReleaseForeign{Key: "f-" + objects.AllocationKey(id)})
		}
		m.tracker.nodeDisturbed(id)
	}
	s := randomSetting(m.rng)
	s.nominationTimeout, s.circuitBreaker = time.Minute, false // P10 holds without it
	m.reload(s)
	m.faultsStopped = true
	for _, key := range slices.Sorted(maps.Keys(m.tasks)) { // the last that were told
		if x := m.tasks[key]; preempting(x) && m.rng.IntN(4) > 0 {
			m.scheduleConfirmation(x)
		}
	}
	for range 5_000 {
		m.decide()
		at, wakes := m.core.NextDeadline()
		for _, l := range m.confirmations {
			if !wakes || l.due.Before(at) {
				at, wakes = l.due, true
			}
		}
		if len(m.confirmations) == 0 && (!wakes || at.After(m.now.Add(time.Hour))) {
			m.checkQuiescent()
			return
		}
		if at.After(m.now) {
			m.now = at
		}
		m.step(scheduler.Wake{})
		m.deliver()
		m.resubmitVictims()
	}
	m.fail("it does not come to rest: %d preemptions since the faults stopped", m.tracker.preemptionsAfterFaults)
}

// checkQuiescent holds when everybody has confirmed who ever will: nobody waits for a node any more.
func (m *resourceManager) checkQuiescent() {
	if n := m.core.Partition().Nominees(); len(n) > 0 {
		m.fail("%s still waits for node %s", n[0].Key(), m.core.Partition().Nomination(n[0]).ID())
	}
	if m.tracker.preemptionsAfterFaults > 0 {
		m.countEvent("preempted in the calm")
	}
	m.checkAccounting()
}

// removeAllApplications is the end: without applications nothing is left, of preemptions either.
func (m *resourceManager) removeAllApplications() {
	for _, id := range slices.Sorted(maps.Keys(m.apps)) {
		m.removeApplication(id)
	}
	if len(m.tasks) > 0 {
		m.fail("%d tasks have no application", len(m.tasks))
	}
	m.checkAccounting()
	if left := m.core.Partition().NodesInPreemption(); len(left) > 0 {
		m.fail("something is left on node %s", left[0].ID())
	}
}
