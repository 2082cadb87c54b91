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
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// A partition serves a resource manager with streams, then a linked shim, then one with streams: each
// gets the effects of its own time once, and only the shim is asked for predicates (RMI-10, RMI-60). A
// partition that is created later has the mode of the last registration.
func TestReset_ChangesTheModeOfAllPartitions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rm := &slowRM{}
		var asked atomic.Int64
		oracle := func(string) *objects.Oracle {
			return &objects.Oracle{Fits: func(ask objects.AllocationKey, node objects.NodeID) bool {
				asked.Add(1)
				return rm.Fits(ask, node)
			}}
		}
		c := loop.NewCluster(loop.Options{}, func(string) loop.Sink { return rm }, nil)
		defer c.End()
		assert.NilError(t,
			c.Configure(t.Context(), &configs.Config{Partitions: []configs.Partition{partition("default", "a")}}))

		for i, mode := range []loop.Mode{{}, {Sync: true, Oracle: oracle}, {Sync: true, Oracle: oracle}, {}} {
			assert.NilError(t, c.Reset(t.Context(), mode, ""))
			asked.Store(0)
			rm.forget()
			l, _ := c.Partition("default")
			rm.placesTwo(t, l)
			assert.Equal(t, asked.Load() > 0, mode.Oracle != nil, "registration %d", i)
			assert.Equal(t, strings.Count(rm.text(), "allocated k"), 2, "registration %d: %s", i, rm.text())
			assert.Assert(t, !rm.queriedEarly.Load(),
				"registration %d: a predicate was asked before the last placement was delivered", i)
			assert.NilError(t, l.Check(t.Context()))
		}

		assert.NilError(t, c.Reset(t.Context(), loop.Mode{Sync: true, Oracle: oracle}, ""))
		assert.NilError(t,
			c.Configure(t.Context(),
				&configs.Config{Partitions: []configs.Partition{partition("default", "a"), partition("later", "a")}}))
		asked.Store(0)
		l, _ := c.Partition("later")
		rm.placesTwo(t, l)
		assert.Equal(t, asked.Load(), int64(2))
		assert.Assert(t, !rm.queriedEarly.Load(), "the partition that was created later does not deliver each decision first")
	})
}

// placesTwo submits two asks. The node of the second one comes while the placement of the first one is
// delivered.
func (r *slowRM) placesTwo(t *testing.T, l *loop.Loop) {
	t.Helper()
	l.Send(node("n1", 1), app("app"), ask("k1"), ask("k2"))
	synctest.Wait()
	assert.Assert(t, r.busy.Load(), "the resource manager should be busy with k1 now")
	l.Send(node("n2", 1))
	start := time.Now()
	for !l.Health().Idle || r.busy.Load() {
		<-time.After(time.Second) // virtual time
		synctest.Wait()
		assert.Assert(t, time.Since(start) < time.Hour)
	}
}

// forget drops what was recorded.
func (r *slowRM) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.recorded = nil
}

// The effects that wait for a slow Sink when the mode changes are delivered, in order, and none of them
// twice.
func TestReset_UndeliveredEffectsAreDeliveredBeforeTheModeChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rm := &slowRM{}
		c := loop.NewCluster(loop.Options{}, func(string) loop.Sink { return rm }, nil)
		assert.NilError(t,
			c.Configure(t.Context(), &configs.Config{Partitions: []configs.Partition{partition("default", "a")}}))
		l, _ := c.Partition("default")
		l.Send(node("n", 9), app("app"), ask("k1"), ask("k2"))
		synctest.Wait() // the Sink takes a minute for the two placements
		assert.NilError(t, c.Reset(t.Context(), loop.Mode{Sync: true}, ""))
		l.Send(node("later", 1))
		<-time.After(2 * time.Minute)
		synctest.Wait()
		assert.Equal(t, rm.text(), "accepted node n; accepted application app; application app is Accepted; "+
			"application app is Running; allocated k1 (app) on n; allocated k2 (app) on n; "+
			fmt.Sprint(scheduler.PartitionReset{})+"; accepted node later")
		c.End()
	})
}
