package preemption_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/preemption"
)

var epoch = time.Unix(1_000_000_000, 0).UTC()

// The moves of a case are words (PRE-103, PRE-104). a<b: an ask of leaf a preempts in leaf b; a<bc: in b and c.
// a>b: the nomination of an ask of a that preempted in b is given up. A number: that many seconds pass. =a-b: the
// cycle that the word before closes.
func TestCycleDetector_ReportsClosedCycles(t *testing.T) {
	twice := configs.Churn{CircuitBreaker: true, Cycles: 2, Window: time.Minute, CoolDown: 10 * time.Second}
	for _, c := range []struct{ name, moves string }{
		{"1. two leaves preempt each other in turn", "a<b b<a a<b b<a =a-b"},
		{"2. a cycle begins with the first leaf in path order", "b<a a<b b<a a<b =a-b"},
		{"3. many moves at once are one round", "a<b a<b a<b b<a b<a a<b b<a =a-b"},
		{"4. moves in one direction are no cycle", "a<b a<b a<b a<b 5 a<b 5 a<b"},
		{"5. one round is too few", "a<b b<a a<b"},
		{"6. moves before the window do not count", "a<b 30 b<a 29 a<b 2 b<a"},
		{"7. moves within the window count", "a<b 30 b<a 29 a<b b<a =a-b"},
		{"8. a cycle of three leaves", "a<b b<c c<a a<b b<c c<a =a-c-b"},
		{"9. the shortest cycle is reported", "a<b b<c a<c c<a a<b b<c a<c c<a =a-c"},
		{"10. moves of other leaves do not matter", "a<b d<b b<a e<d a<b d<e b<a =a-b"},
		{"11. one leaf, nominations given up", "a<a a>a a<a a>a =a"},
		{"12. one leaf, no nomination given up", "a<a a<a a<a a<a a<a"},
		{"13. a nomination given up moves resources back to all leaves", "a<bc a>bc a<bc a>bc =a-b =a-c"},
		{"14. giving up and preempting back close a cycle too", "a<b a>b a<b b<a =a-b"},
		{"15. counting begins anew after a cycle", "a<b b<a a<b b<a =a-b a<b b<a a<b b<a =a-b"},
		{"16. counting begins anew after a cycle of three leaves", "a<b b<c c<a a<b b<c c<a =a-c-b a<b b<c c<a"},
		{"17. many nominations given up at once are one round", "a<b a<b a<b a>b a>b a>b"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var detector preemption.CycleDetector
			assert.Equal(t, len(detector.SetConfig(twice, epoch)), 0)
			now := epoch
			var closed []preemption.Cycle
			for _, word := range strings.Fields(c.moves) {
				var seconds int
				if want, is := strings.CutPrefix(word, "="); is {
					assert.Assert(t, len(closed) > 0, "no cycle is closed before %s", word)
					assert.Equal(t, closed[0].String(), strings.ReplaceAll(want, "-", " -> ")+" -> a")
					closed = closed[1:]
					continue
				}
				assert.Equal(t, len(closed), 0, "unexpected cycles before %s: %v", word, closed)
				if n, _ := fmt.Sscan(word, &seconds); n == 1 {
					now = now.Add(time.Duration(seconds) * time.Second)
					continue
				}
				preemptor, victimLeaves := objects.QueuePath(word[:1]), queuePaths(word[2:])
				if word[1] == '<' {
					closed = detector.RecordPreemption(preemptor, victimLeaves, now)
				} else {
					closed = detector.RecordGiveUp(preemptor, victimLeaves, now)
				}
			}
			assert.Equal(t, len(closed), 0, "%v", closed)
		})
	}
}

func queuePaths(letters string) (all []objects.QueuePath) {
	for _, l := range letters {
		all = append(all, objects.QueuePath(l))
	}
	return all
}

func TestCycleDetector_CoolsDownNeighboursOfACycle(t *testing.T) {
	rule := configs.Churn{CircuitBreaker: true, Cycles: 1, Window: time.Minute, CoolDown: 10 * time.Second}
	var detector preemption.CycleDetector
	detector.SetConfig(rule, epoch)
	detector.RecordPreemption("a", queuePaths("b"), epoch)
	detector.RecordPreemption("b", queuePaths("c"), epoch)
	_, any := detector.NextCoolDownEnd(epoch)
	assert.Assert(t, !any && len(detector.CoolDowns()) == 0)
	assert.Equal(t, len(detector.RecordPreemption("c", queuePaths("a"), epoch)), 1)
	for _, pair := range []string{"ab", "ba", "bc", "cb", "ca", "ac"} {
		assert.Check(t, detector.CoolingDown(objects.QueuePath(pair[:1]), objects.QueuePath(pair[1:])), pair)
	}
	for _, pair := range []string{"aa", "ad", "da"} {
		assert.Check(t, !detector.CoolingDown(objects.QueuePath(pair[:1]), objects.QueuePath(pair[1:])), pair)
	}
	at, any := detector.NextCoolDownEnd(epoch)
	assert.Assert(t, any && at.Equal(epoch.Add(10*time.Second)))
	_, any = detector.NextCoolDownEnd(at)
	assert.Assert(t, !any, "the cool-downs are over then, though nothing has ended them yet")
	assert.Equal(t, len(detector.SetConfig(rule, at.Add(-1))), 0)
	assert.Equal(t, len(detector.SetConfig(rule, at)), 3)
	assert.Assert(t, detector.EndedCoolDowns() == 3 && !detector.CoolingDown("a", "b"))

	detector.RecordPreemption("a", queuePaths("a"), at)
	assert.Equal(t, len(detector.RecordGiveUp("a", queuePaths("a"), at)), 1)
	assert.Assert(t, detector.CoolingDown("a", "a") && !detector.CoolingDown("a", "b"))
	detector.RecordPreemption("b", queuePaths("b"), at.Add(time.Second))
	detector.RecordGiveUp("b", queuePaths("b"), at.Add(time.Second))
	first, _ := detector.NextCoolDownEnd(at)
	later, _ := detector.NextCoolDownEnd(first)
	assert.Assert(t, first.Equal(at.Add(10*time.Second)) && later.Equal(at.Add(11*time.Second)),
		"one that is over hides no later one")
	assert.Equal(t, len(detector.SetConfig(rule, first)), 1)
	rule.CircuitBreaker = false
	assert.Equal(t, len(detector.SetConfig(rule, first)), 1, "without the circuit breaker the cool-down ends")
	detector.RecordPreemption("a", queuePaths("a"), first)
	assert.Equal(t, len(detector.RecordGiveUp("a", queuePaths("a"), first)), 1,
		"a cycle is reported without the circuit breaker too")
	assert.Equal(t, len(detector.CoolDowns()), 0)
}

// The memory is bounded by the transfers within a window, and dropping old ones changes no result (PRE-108).
func TestCycleDetector_OldTransfersAreDropped(t *testing.T) {
	var detector, pruned preemption.CycleDetector
	rule := configs.Churn{CircuitBreaker: true, Cycles: 2, Window: time.Minute, CoolDown: time.Second}
	d := rand.New(rand.NewPCG(1, 0))
	results := [2][]string{}
	for i := range 20000 {
		now := epoch.Add(time.Duration(i) * time.Second)
		detector.SetConfig(rule, now)
		pruned.SetConfig(rule, now)
		preemptor := objects.QueuePath(fmt.Sprint(d.IntN(40)))
		from := []objects.QueuePath{objects.QueuePath(fmt.Sprint(d.IntN(40)))}
		if d.IntN(3) == 0 { // frequent moves between two leaves
			leaves := []objects.QueuePath{"x", "y"}
			preemptor, from = leaves[d.IntN(2)], leaves[d.IntN(2):][:1]
		}
		results[0] = append(results[0], fmt.Sprint(detector.RecordPreemption(preemptor, from, now)))
		preemption.DropOldTransfers(&pruned, now)
		results[1] = append(results[1], fmt.Sprint(pruned.RecordPreemption(preemptor, from, now)))
		assert.Assert(t, preemption.TrackedTransfers(&detector) < 400, "too many transfers are kept after %d moves", i+1)
	}
	assert.Assert(t, slices.Equal(results[0], results[1]), "dropping old transfers changed the reported cycles")
	assert.Assert(t, slices.ContainsFunc(results[0], func(s string) bool { return strings.Contains(s, "->") }))
}

// Cycles of leaves that are created and removed leave no transfers behind (PRE-108).
func TestCycleDetector_ClosedCyclesAreDropped(t *testing.T) {
	var detector preemption.CycleDetector
	for i := range 5000 {
		now := epoch.Add(time.Duration(i) * time.Hour)
		detector.SetConfig(configs.Churn{CircuitBreaker: true, Cycles: 1, Window: time.Minute, CoolDown: time.Minute}, now)
		leaf := objects.QueuePath(fmt.Sprint("root.u", i))
		detector.RecordPreemption(leaf, []objects.QueuePath{leaf}, now)
		assert.Equal(t, len(detector.RecordGiveUp(leaf, []objects.QueuePath{leaf}, now)), 1)
		assert.Assert(t, preemption.TrackedTransfers(&detector) < 200, "too many transfers are kept after %d cycles", i+1)
	}
}
