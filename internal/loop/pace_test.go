package loop_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/loop"
	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// Placements for a linked shim are made 32 at once, and on average as many a second as the mode says; commands are applied meanwhile.
// After a time without placements the next ones are made at once (RMI-82).
func TestPace_BoundsPlacementsPerSecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sink := &recordingSink{}
		c := loop.NewCluster(loop.Options{}, func(string) loop.Sink { return sink }, nil)
		defer c.End()
		assert.NilError(t, c.Configure(t.Context(), &configs.Config{Partitions: []configs.Partition{partition("default", "a")}}))
		assert.NilError(t, c.Reset(t.Context(), loop.Mode{Sync: true, PlacementsPerSecond: 64}, ""))
		l, _ := c.Partition("default")
		l.Send(node("n", 1000), app("app"))
		submit := func(prefix string, n int) {
			for i := range n {
				l.Send(ask(fmt.Sprint(prefix, i)))
			}
			synctest.Wait()
		}
		placed := func() int { return strings.Count(sink.text(), "allocated ") }
		submit("first", 100)
		assert.Equal(t, placed(), 32)
		assert.Assert(t, !l.Health().Idle, "decisions are due")
		for _, want := range []int{64, 96, 100} { // half a second pays for 32
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

// Without a bound, and over streams, everything is placed at once.
func TestPace_NoBound(t *testing.T) {
	for _, mode := range []loop.Mode{{Sync: true}, {PlacementsPerSecond: 1}} {
		synctest.Test(t, func(t *testing.T) {
			sink := &recordingSink{}
			c := loop.NewCluster(loop.Options{}, func(string) loop.Sink { return sink }, nil)
			defer c.End()
			assert.NilError(t, c.Configure(t.Context(), &configs.Config{Partitions: []configs.Partition{partition("default", "a")}}))
			assert.NilError(t, c.Reset(t.Context(), mode, ""))
			l, _ := c.Partition("default")
			l.Send(node("n", 1000), app("app"))
			for i := range 100 {
				l.Send(ask(fmt.Sprint("k", i)))
			}
			synctest.Wait()
			assert.Equal(t, strings.Count(sink.text(), "allocated "), 100)
		})
	}
}
