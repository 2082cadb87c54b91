package preemption_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/preemption"
)

// A case is a list of words. a<b: an ask of a takes the place of work in b; a<bc: in b and c.
// a>b: it gives up. A number is that many seconds that pass. After = is what becomes of the
// word before it: the circle that it closes.
func TestCycleDetector_ReportsClosedCycles(t *testing.T) {
	twice := configs.Churn{CircuitBreaker: true, Cycles: 2, Window: time.Minute, CoolDown: 10 * time.Second}
	for _, c := range []struct{ name, moves string }{
		{"1. two leaves take turns", "a<b b<a a<b b<a =a-b"},
		{"2. whoever begins, the circle has one name", "b<a a<b b<a a<b =a-b"},
		{"3. many at once are one time", "a<b a<b a<b b<a b<a a<b b<a =a-b"},
		{"4. one way is no circle", "a<b a<b a<b a<b 5 a<b 5 a<b"},
		{"5. once is not often", "a<b b<a a<b"},
		{"6. what was long ago does not count", "a<b 30 b<a 29 a<b 2 b<a"},
		{"7. but a little later it does", "a<b 30 b<a 29 a<b b<a =a-b"},
		{"8. three in a circle", "a<b b<c c<a a<b b<c c<a =a-c-b"},
		{"9. the shortest circle is named", "a<b b<c a<c c<a a<b b<c a<c c<a =a-c"},
		{"10. others beside do not matter", "a<b d<b b<a e<d a<b d<e b<a =a-b"},
		{"11. one leaf whose asks give up", "a<a a>a a<a a>a =a"},
		{"12. one leaf whose asks do not", "a<a a<a a<a a<a a<a"},
		{"13. who gives up gives it all back", "a<bc a>bc a<bc a>bc =a-b =a-c"},
		{"14. giving up and taking back make a circle as well", "a<b a>b a<b b<a =a-b"},
		{"15. counting begins anew", "a<b b<a a<b b<a =a-b a<b b<a a<b b<a =a-b"},
		{"16. of three leaves too", "a<b b<c c<a a<b b<c c<a =a-c-b a<b b<c c<a"},
		{"17. many that give up at once are one time", "a<b a<b a<b a>b a>b a>b"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var churn preemption.CycleDetector
			assert.Equal(t, len(churn.SetConfig(twice, epoch)), 0)
			now := epoch
			var closed []preemption.Cycle
			for _, word := range strings.Fields(c.moves) {
				var seconds int
				if want, is := strings.CutPrefix(word, "="); is {
					assert.Assert(t, len(closed) > 0, "nothing is closed before %s", word)
					assert.Equal(t, closed[0].String(), strings.ReplaceAll(want, "-", " -> ")+" -> a")
					closed = closed[1:]
					continue
				}
				assert.Equal(t, len(closed), 0, "before %s: %v", word, closed)
				if n, _ := fmt.Sscan(word, &seconds); n == 1 {
					now = now.Add(time.Duration(seconds) * time.Second)
					continue
				}
				preemptor, victimLeaves := objects.QueuePath(word[:1]), queuePaths(word[2:])
				if word[1] == '<' {
					closed = churn.RecordPreemption(preemptor, victimLeaves, now)
				} else {
					closed = churn.RecordGiveUp(preemptor, victimLeaves, now)
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
	var churn preemption.CycleDetector
	churn.SetConfig(rule, epoch)
	churn.RecordPreemption("a", queuePaths("b"), epoch)
	churn.RecordPreemption("b", queuePaths("c"), epoch)
	_, any := churn.NextCoolDownEnd()
	assert.Assert(t, !any && len(churn.CoolDowns()) == 0)
	assert.Equal(t, len(churn.RecordPreemption("c", queuePaths("a"), epoch)), 1)
	for _, pair := range []string{"ab", "ba", "bc", "cb", "ca", "ac"} {
		assert.Check(t, churn.CoolingDown(objects.QueuePath(pair[:1]), objects.QueuePath(pair[1:])), pair)
	}
	for _, pair := range []string{"aa", "ad", "da"} {
		assert.Check(t, !churn.CoolingDown(objects.QueuePath(pair[:1]), objects.QueuePath(pair[1:])), pair)
	}
	at, any := churn.NextCoolDownEnd()
	assert.Assert(t, any && at.Equal(epoch.Add(10*time.Second)))
	assert.Equal(t, len(churn.SetConfig(rule, at.Add(-1))), 0)
	assert.Equal(t, len(churn.SetConfig(rule, at)), 3)
	assert.Assert(t, churn.EndedCoolDowns() == 3 && !churn.CoolingDown("a", "b"))

	churn.RecordPreemption("a", queuePaths("a"), at)
	assert.Equal(t, len(churn.RecordGiveUp("a", queuePaths("a"), at)), 1)
	assert.Assert(t, churn.CoolingDown("a", "a") && !churn.CoolingDown("a", "b"))
	rule.CircuitBreaker = false
	assert.Equal(t, len(churn.SetConfig(rule, at)), 1, "without a breaker nothing is paused")
	churn.RecordPreemption("a", queuePaths("a"), at)
	assert.Equal(t, len(churn.RecordGiveUp("a", queuePaths("a"), at)), 1, "and what goes round is named all the same")
	assert.Equal(t, len(churn.CoolDowns()), 0)
}

// What is kept in mind is bounded by what happens within a window.
func TestCycleDetector_OldTransfersAreDropped(t *testing.T) {
	var churn, short preemption.CycleDetector
	rule := configs.Churn{CircuitBreaker: true, Cycles: 2, Window: time.Minute, CoolDown: time.Second}
	d := nodeCache(1)
	results := [2][]string{}
	for i := range 20000 {
		now := epoch.Add(time.Duration(i) * time.Second)
		churn.SetConfig(rule, now)
		short.SetConfig(rule, now)
		preemptor := objects.QueuePath(fmt.Sprint(d.IntN(40)))
		from := []objects.QueuePath{objects.QueuePath(fmt.Sprint(d.IntN(40)))}
		if d.oneIn(3) { // now and then the same few
			preemptor, from = pick(d, "x", objects.QueuePath("y")), []objects.QueuePath{pick(d, "x", objects.QueuePath("y"))}
		}
		results[0] = append(results[0], fmt.Sprint(churn.RecordPreemption(preemptor, from, now)))
		preemption.DropOldTransfers(&short, now)
		results[1] = append(results[1], fmt.Sprint(short.RecordPreemption(preemptor, from, now)))
		assert.Assert(t, preemption.TrackedTransfers(&churn) < 400, "after %d moves", i+1)
	}
	assert.Assert(t, slices.Equal(results[0], results[1]), "it depends on when old moves are forgotten")
	assert.Assert(t, slices.ContainsFunc(results[0], func(s string) bool { return strings.Contains(s, "->") }))
}

// Circles of leaves that come and go leave nothing behind.
func TestCycleDetector_ClosedCyclesAreDropped(t *testing.T) {
	var churn preemption.CycleDetector
	for i := range 5000 {
		now := epoch.Add(time.Duration(i) * time.Hour)
		churn.SetConfig(configs.Churn{CircuitBreaker: true, Cycles: 1, Window: time.Minute, CoolDown: time.Minute}, now)
		leaf := objects.QueuePath(fmt.Sprint("root.u", i))
		churn.RecordPreemption(leaf, []objects.QueuePath{leaf}, now)
		assert.Equal(t, len(churn.RecordGiveUp(leaf, []objects.QueuePath{leaf}, now)), 1)
		assert.Assert(t, preemption.TrackedTransfers(&churn) < 200, "after %d circles", i+1)
	}
}
