package loop_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/server/loop"
	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/explain"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// limitedLoop is a loop with room for 1,000 asks; submit sends some, and placed is how many were placed so far.
func limitedLoop(t *testing.T, mode loop.Mode) (l *loop.Loop, submit func(prefix string, n int), placed func() int) {
	t.Helper()
	return limitedLoopWith(t, loop.Options{}, mode)
}

func limitedLoopWith(t *testing.T, o loop.Options, mode loop.Mode) (l *loop.Loop, submit func(prefix string, n int),
	placed func() int) {
	t.Helper()
	sink := &recordingSink{}
	c := loop.NewCluster(o, func(string) loop.Sink { return sink }, nil)
	t.Cleanup(c.End)
	assert.NilError(t,
		c.Configure(t.Context(), &configs.Config{Partitions: []configs.Partition{partition("default", "a")}}))
	assert.NilError(t, c.Reset(t.Context(), mode, ""))
	l, _ = c.Partition("default")
	l.Send(node("n", 1000), app("app"))
	submit = func(prefix string, n int) {
		for i := range n {
			l.Send(ask(fmt.Sprint(prefix, i)))
		}
		synctest.Wait()
	}
	return l, submit, func() int { return strings.Count(sink.text(), "allocated ") }
}

// Placements for a linked shim are made 32 at once, and on average as many a second as the mode says; commands are
// applied meanwhile. After a time without placements the next ones are made at once (RMI-82).
func TestPlacementRate_LimitsPlacementsPerSecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, submit, placed := limitedLoop(t, loop.Mode{Sync: true, PlacementsPerSecond: 64})
		submit("first", 100)
		assert.Equal(t, placed(), 32)
		assert.Assert(t, !l.Health().Idle, "decisions are due")
		for _, want := range []int{64, 96, 100} { // the bucket is full again after half a second
			before := placed()
			time.Sleep(499 * time.Millisecond)
			l.Send(scheduler.Release{App: "app", Key: "none"})
			synctest.Wait()
			assert.Equal(t, placed(), before, "before the half second is over")
			time.Sleep(time.Millisecond)
			synctest.Wait()
			assert.Equal(t, placed(), want)
		}
		assert.Assert(t, l.Health().Idle)
		time.Sleep(time.Minute)
		submit("later", 40)
		assert.Equal(t, placed(), 132, "no more than at any other time")
	})
}

// Without a limit, and over streams, everything is placed at once.
func TestPlacementRate_NoLimit(t *testing.T) {
	for _, mode := range []loop.Mode{{Sync: true}, {PlacementsPerSecond: 1}} {
		synctest.Test(t, func(t *testing.T) {
			_, submit, placed := limitedLoop(t, mode)
			submit("k", 100)
			assert.Equal(t, placed(), 100)
		})
	}
}

// The explanation of an ask that waits for the rate limit names it, and with no limit in its way it does not (EXP-19).
func TestExplain_NamesTheRateLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, submit, placed := limitedLoop(t, loop.Mode{Sync: true, PlacementsPerSecond: 64})
		submit("k", 40)
		assert.Equal(t, placed(), 32)
		e, err := l.ExplainWithVictims(t.Context(), "k39")
		assert.NilError(t, err)
		assert.Equal(t, e.String(), "it waits for its turn; the rate limit of placements allows none before "+
			time.Now().Add(time.Second/2).UTC().Format("2006-01-02T15:04:05.000Z"))
		assert.Equal(t, e.Gates[1].Kind, explain.PlacementRate)
		time.Sleep(time.Second)
		l.Send(scheduler.SubmitAsk{Ask: &objects.Ask{Key: "large", App: "app", Amounts: vcores(2000)}})
		synctest.Wait()
		e, err = l.Explain(t.Context(), "large")
		assert.NilError(t, err)
		assert.Assert(t, !strings.Contains(e.String(), "rate limit"), e.String())
	})
}

// A clock that is set back by ten minutes does not stop placements for ten minutes: time goes on at half its speed
// (ORD-63).
func TestClock_SetBackGoesOnAtHalfItsSpeed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ahead atomic.Int64
		clock := func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
		l, submit, placed := limitedLoopWith(t, loop.Options{Now: clock}, loop.Mode{Sync: true, PlacementsPerSecond: 64})
		ahead.Store(int64(10 * time.Minute))
		submit("first", 100)
		assert.Equal(t, placed(), 32)
		ahead.Store(0)
		l.Send(scheduler.Release{App: "app", Key: "none"}) // has the clock read
		synctest.Wait()
		// the bucket is full again after half a second of the Core, which is a second
		for _, want := range []int{64, 96, 100} {
			before := placed()
			time.Sleep(900 * time.Millisecond)
			synctest.Wait()
			assert.Equal(t, placed(), before, "before the second is over")
			time.Sleep(101 * time.Millisecond)
			synctest.Wait()
			assert.Equal(t, placed(), want)
		}
		time.Sleep(20 * time.Minute) // the clock has caught up
		l.Send(ask("last"))
		synctest.Wait()
		submitted := l.Health().Progress
		assert.Assert(t, !submitted.After(time.Now()), "the Core is at %v, and the clock at %v", submitted, time.Now())
	})
}
