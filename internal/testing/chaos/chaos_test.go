package chaos

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/testing/testscale"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// stepsPerRun is the number of steps with faults of a chaos run.
const stepsPerRun = 100

// requiredEvents must each occur in the chaos runs together: an invariant is not tested by events that
// never occur.
var requiredEvents = []string{
	"a gang asks", "a node comes back", "a node drains, or does not any more", "a node has another size",
	"a node vanishes under a preemption", "a reload", "a running task is resized", "a task ends", "a victim asks again",
	"a victim ends by itself", "a victim never asks again", "again, as a more important one took the node",
	"again, as it has waited too long", "again, as its node has changed",
	"again, as it is another one", "an application is removed", "an ask is resized", "an ask that preempted is cancelled",
	"an ask that preempted is resized", "reason pressure", "reason guarantee",
	"reason priority", "reason quota", "reason required node", "confirmed as something else", "confirmed at once",
	"confirmed for another application first", "confirmed late", "confirmed out of order", "confirmed twice",
	"confirmed what is unknown", "registered again", "never confirmed", "preempted without faults", "a preemption cycle",
	"a preemption cycle with a cool-down", "the only pending ask gives up its nomination", "an ask is nominated",
	"a preemptor is placed on another node", "a preemptor is placed on its nominated node",
}

// TestChaos executes chaos runs: steps with faults, then none until the partition is idle. The
// environment variables CANOPY_CHAOS_SEED and CANOPY_CHAOS_RUNS set the first seed and the number of
// runs; package testscale sets the default number.
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
					most, chain, preemptions = max(most, w.maxPreemptions), max(chain, w.longestChainSeen),
						max(preemptions, w.preemptionsAfterFaults)
					mu.Unlock()
				}
			})
		}
	})
	for _, what := range slices.Sorted(maps.Keys(counts)) {
		t.Logf("%6d %s", counts[what], what)
	}
	t.Logf("an ask preempted %d times at most; without faults, a chain had %d links at most and there were %d "+
		"preemptions at most", most, chain, preemptions)
	if runs < 100 || t.Failed() {
		return // too few runs for every event
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
		nodes: map[objects.NodeID]*machine{}, apps: map[objects.AppID]objects.QueuePath{},
		tasks: map[objects.AllocationKey]*task{}, tracker: newTracker(),
	}
	m.conf = randomSetting(m.rng)
	m.predicatesChange = m.rng.IntN(4) == 0
	var oracle *objects.Oracle
	if m.predicatesChange {
		oracle = &objects.Oracle{Fits: m.Fits}
	}
	m.core = scheduler.New(m.conf.partition(t), oracle)
	m.injectFaults(stepsPerRun)
	m.quiesce()
	m.removeAllApplications()
	return m.tracker
}

// quiesce is the part without faults, in which every victim asks again. The manager acts when a
// confirmation is due or at a deadline of the Core, until there is neither.
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
	s.nominationTimeout, s.circuitBreaker = time.Minute, false // PRE-102 holds without it
	s.reservationTimeout = 2 * time.Hour                       // else one ends and is made again every hour
	m.reload(s)
	m.faultsStopped = true
	for _, key := range slices.Sorted(maps.Keys(m.tasks)) { // the last victims
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
	m.fail("it does not become idle: %d preemptions since the faults stopped", m.tracker.preemptionsAfterFaults)
}

// checkQuiescent checks that no ask is nominated after all confirmations, and that no ask with a reservation could be
// placed.
func (m *resourceManager) checkQuiescent() {
	if problem := placeableReservation(m.core.Partition()); problem != "" && !m.predicatesChange {
		m.fail("%s", problem)
	}
	if n := m.core.Partition().Nominees(); len(n) > 0 {
		m.fail("%s still waits for node %s", n[0].Key(), m.core.Partition().Nomination(n[0]).ID())
	}
	if m.tracker.preemptionsAfterFaults > 0 {
		m.countEvent("preempted without faults")
	}
	m.checkAccounting()
}

// placeableReservation is what is wrong with the reservations of a partition in which nothing is left to decide: one of
// an ask that could be placed, or too many; empty: nothing.
func placeableReservation(p *objects.Partition) string {
	unbound := 0
	for _, x := range p.Reservations().Asks() {
		if x.Ask().RequiredNode() == "" {
			unbound++
		}
		if _, blocked := x.Application().Constraints().FirstBlocking(x.Shape()); !blocked && p.Reservations().Fits(x) {
			return fmt.Sprintf("%s fits node %s, which it has reserved, and is not placed", x.Key(), p.Reservations().Of(x).ID())
		}
	}
	if unbound > max(1, objects.NodeCount(p)*p.Reservations().Settings().NodePercent/100) {
		return fmt.Sprintf("%d of %d nodes are reserved", unbound, objects.NodeCount(p))
	}
	return ""
}

// removeAllApplications removes all applications; nothing of preemptions may be left.
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
