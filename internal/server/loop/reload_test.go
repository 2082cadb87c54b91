package loop_test

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/server/loop"
	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

func configOf(partitions ...configs.Partition) *configs.Config {
	return &configs.Config{Partitions: partitions}
}

// newTwoPartitionCluster is a cluster of two partitions, default and gpu, with the effects of
// each.
func newTwoPartitionCluster(t *testing.T, opt loop.Options) (c *loop.Cluster, sinks map[string]*recordingSink) {
	t.Helper()
	sinks = map[string]*recordingSink{"default": {}, "gpu": {}}
	c = loop.NewCluster(opt, func(p string) loop.Sink { return sinks[p] }, nil)
	assert.NilError(t, c.Configure(t.Context(), configOf(partition("default", "a"), partition("gpu", "a"))))
	return c, sinks
}

func callPartition(t *testing.T, c *loop.Cluster, name string, cmds ...scheduler.Command) {
	t.Helper()
	l, ok := c.Partition(name)
	assert.Assert(t, ok, "there is no partition %s", name)
	_, err := l.Call(t.Context(), cmds...)
	assert.NilError(t, err)
}

// snapshotsOf are the snapshots of all partitions.
func snapshotsOf(t *testing.T, c *loop.Cluster) map[string]*scheduler.Snapshot {
	t.Helper()
	all := map[string]*scheduler.Snapshot{}
	for _, name := range c.Partitions() {
		l, ok := c.Partition(name)
		assert.Assert(t, ok)
		s, err := l.Snapshot(t.Context())
		assert.NilError(t, err)
		timeless := *s
		timeless.At, timeless.StateSince = time.Time{}, time.Time{}
		all[name] = &timeless
	}
	return all
}

func sameState(got, want map[string]*scheduler.Snapshot) bool {
	return reflect.DeepEqual(got, want)
}

// leafBecomesParent is a partition whose leaf a has become a parent.
func leafBecomesParent(name string) configs.Partition {
	p := partition(name, "a", "b")
	p.Root.Children[0].Parent = true
	p.Root.Children[0].Children = []configs.Queue{{Name: "below"}}
	return p
}

func TestReload_RefusedByOnePartitionChangesNone(t *testing.T) {
	c, _ := newTwoPartitionCluster(t, loop.Options{})
	defer c.End()
	callPartition(t, c, "default", node("n1", 2), app("app"), ask("k1"))
	callPartition(t, c, "gpu", app("app"), app("other"))
	callPartition(t, c, "default") // all decisions have been made
	was, before := c.Config(), snapshotsOf(t, c)

	err := c.Configure(t.Context(),
		configOf(partition("default", "a", "b"), leafBecomesParent("gpu"), partition("new", "a")))
	assert.ErrorContains(t, err, "partition gpu: queue changes its type: leaf root.a cannot become a parent: "+
		"it holds 2 applications: app, other")
	assert.Assert(t, sameState(snapshotsOf(t, c), before), "a refused configuration changed a partition")
	assert.Assert(t, c.Config() == was)

	// All objections of all partitions are in the error.
	err = c.Configure(t.Context(), configOf(leafBecomesParent("default"), leafBecomesParent("gpu")))
	assert.ErrorContains(t, err, "partition default: queue changes its type")
	assert.ErrorContains(t, err, "partition gpu: queue changes its type")
	assert.Assert(t, sameState(snapshotsOf(t, c), before))
}

func TestReload_OmittedPartitionDrainsAndIsRemoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, sinks := newTwoPartitionCluster(t, loop.Options{})
		defer c.End()
		callPartition(t, c, "gpu", node("n1", 2), app("app"))
		only := configOf(partition("default", "a", "b"))
		assert.NilError(t, c.Configure(t.Context(), only))
		assert.Assert(t, c.Config() == only)
		assert.DeepEqual(t, c.Partitions(), []string{"default", "gpu"})
		assert.Assert(t, snapshotsOf(t, c)["gpu"].Draining)

		callPartition(t, c, "gpu", node("n2", 1), scheduler.AddApplication{App: "late", Queue: "root.a"}, ask("k1"))
		synctest.Wait()
		assert.Equal(t, sinks["gpu"].text(), "accepted node n1; accepted application app; "+
			"rejected node n2: partition gpu is being removed; "+
			"rejected application late: partition gpu is being removed; application app is Accepted; "+
			"application app is Running; allocated k1 (app) on n1")

		callPartition(t, c, "gpu", scheduler.RemoveApplication{App: "app"})
		synctest.Wait()
		assert.DeepEqual(t, c.Partitions(), []string{"default", "gpu"})
		gpu, _ := c.Partition("gpu")
		gpu.Send(scheduler.RemoveNode{Node: "n1"}, node("n3", 1))
		synctest.Wait()
		assert.DeepEqual(t, c.Partitions(), []string{"default"})
		_, err := gpu.Call(t.Context(), node("n4", 1))
		assert.ErrorIs(t, err, loop.ErrEnded)
	})
}

func TestReload_EmptyPartitionIsRemovedAtOnceAndMayReturn(t *testing.T) {
	c, sinks := newTwoPartitionCluster(t, loop.Options{})
	defer c.End()
	both, one := c.Config(), configOf(partition("default", "a"))
	for range 3 {
		assert.NilError(t, c.Configure(t.Context(), one))
		assert.DeepEqual(t, c.Partitions(), []string{"default"})
		assert.NilError(t, c.Configure(t.Context(), both))
		assert.DeepEqual(t, c.Partitions(), []string{"default", "gpu"})
		callPartition(t, c, "gpu", node("n1", 1), scheduler.RemoveNode{Node: "n1"})
	}
	c.End()
	assert.Equal(t, sinks["gpu"].text(), "accepted node n1; node n1 was removed; allocations on it: 0; "+
		"accepted node n1; node n1 was removed; allocations on it: 0; accepted node n1; node n1 was removed; allocations "+
		"on it: 0")
}

func TestReload_DrainingPartitionIsRestored(t *testing.T) {
	c, _ := newTwoPartitionCluster(t, loop.Options{})
	defer c.End()
	callPartition(t, c, "gpu", node("n1", 1), app("app"))
	before := snapshotsOf(t, c)
	both := c.Config()
	assert.NilError(t, c.Configure(t.Context(), configOf(partition("default", "a"))))
	assert.NilError(t, c.Configure(t.Context(), both))
	assert.Assert(t, sameState(snapshotsOf(t, c), before), "the restored partition differs")
	callPartition(t, c, "gpu", scheduler.RemoveApplication{App: "app"}, scheduler.RemoveNode{Node: "n1"})
	callPartition(t, c, "gpu", node("n2", 1))
}

func TestReset_RemovesADrainingPartition(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := newTwoPartitionCluster(t, loop.Options{})
		defer c.End()
		callPartition(t, c, "gpu", node("n1", 1), app("app"))
		assert.NilError(t, c.Configure(t.Context(), configOf(partition("default", "a"))))
		assert.NilError(t, c.Reset(t.Context(), loop.Mode{}, ""))
		synctest.Wait()
		assert.DeepEqual(t, c.Partitions(), []string{"default"})
	})
}

// A partition that is removed may have many effects for a slow Sink: other partitions do not wait
// for them, and a new partition of the same name delivers nothing before them.
func TestReload_DoesNotWaitForDeliveryOfARemovedPartition(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := &blockedSink{released: make(chan struct{})}
		c := loop.NewCluster(loop.Options{}, func(p string) loop.Sink {
			if p == "gpu" {
				return slow
			}
			return &recordingSink{}
		}, nil)
		both, one := configOf(partition("default", "a"), partition("gpu", "a")), configOf(partition("default", "a"))
		assert.NilError(t, c.Configure(t.Context(), both))
		callPartition(t, c, "gpu", node("n1", 1), scheduler.RemoveNode{Node: "n1"})
		synctest.Wait()
		assert.NilError(t, c.Configure(t.Context(), one))
		assert.DeepEqual(t, c.Partitions(), []string{"default"})
		callPartition(t, c, "default", node("n1", 1))

		assert.NilError(t, c.Configure(t.Context(), both))
		gpu, _ := c.Partition("gpu")
		gpu.Send(node("n2", 1))
		synctest.Wait()
		close(slow.released)
		synctest.Wait()
		assert.Equal(t, slow.text(), "accepted node n1; node n1 was removed; allocations on it: 0; accepted node n2")
		c.End()
	})
}

// A shim that does not return from a callback keeps its partition from the barrier. The other
// partitions go on unchanged when ctx ends.
func TestReload_WaitForABlockedPartitionIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		blocked := &blockedSink{released: make(chan struct{})}
		c := loop.NewCluster(loop.Options{SyncDelivery: true}, func(p string) loop.Sink {
			if p == "gpu" {
				return blocked
			}
			return &recordingSink{}
		}, nil)
		defer c.End()
		assert.NilError(t, c.Configure(t.Context(), configOf(partition("default", "a"), partition("gpu", "a"))))
		gpu, _ := c.Partition("gpu")
		gpu.Send(node("n1", 1))
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		paused, err := c.Reload(ctx, configOf(partition("default", "a", "b"), partition("gpu", "a", "b")))
		assert.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Equal(t, paused, time.Minute, "default was paused for as long")
		callPartition(t, c, "default", node("n1", 1))

		close(blocked.released)
		synctest.Wait()
		for name, s := range snapshotsOf(t, c) {
			assert.Equal(t, s.Root.Children.Len(), 1, "partition %s changed although the change was given up", name)
			assert.Equal(t, s.Nodes.Len(), 1)
		}
	})
}

func TestReload_IsAbortedByEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		blocked := &blockedSink{released: make(chan struct{})}
		c := loop.NewCluster(loop.Options{SyncDelivery: true}, func(string) loop.Sink { return blocked }, nil)
		assert.NilError(t, c.Configure(t.Context(), configOf(partition("default", "a"))))
		l, _ := c.Partition("default")
		l.Send(node("n1", 1))
		synctest.Wait()
		refused := make(chan error, 1)
		go func() { refused <- c.Configure(context.Background(), configOf(partition("default", "b"))) }()
		synctest.Wait()
		go c.End()
		assert.ErrorIs(t, <-refused, loop.ErrEnded)
		close(blocked.released)
		c.End()
		assert.ErrorIs(t, c.Configure(t.Context(), configOf(partition("default", "b"))), loop.ErrEnded)
	})
}

// A snapshot during a reload shows the state before it or after it, in all partitions alike, and
// no command is lost.
func TestReload_UnderLoad(t *testing.T) {
	c, sinks := newTwoPartitionCluster(t, loop.Options{})
	defer c.End()
	small := c.Config()
	large := configOf(partition("default", "a", "b"), partition("gpu", "a", "b"))
	const asks = 400
	var load sync.WaitGroup
	for _, name := range []string{"default", "gpu"} {
		l, _ := c.Partition(name)
		l.Send(node("n1", asks), app("app"))
		load.Go(func() {
			for i := range asks {
				l.Send(ask(fmt.Sprint("k", i)))
			}
		})
	}
	for range 20 {
		for _, conf := range []*configs.Config{large, small} {
			assert.NilError(t, c.Configure(t.Context(), conf))
			for name, s := range snapshotsOf(t, c) {
				assert.Equal(t, s.Root.Children.Len(), len(conf.Partitions[0].Root.Children), name)
			}
		}
	}
	load.Wait()
	for _, name := range []string{"default", "gpu"} {
		l, _ := c.Partition(name)
		for {
			s, err := l.Snapshot(t.Context())
			assert.NilError(t, err)
			if s.Allocations == asks {
				break
			}
		}
		assert.NilError(t, l.Check(t.Context()))
	}
	c.End()
	const reloaded = "queue root.b: removed" // at any time: the partitions share nothing but the reloads
	for _, sink := range sinks {
		before := len(sink.recorded)
		sink.recorded = slices.DeleteFunc(sink.recorded, func(said string) bool { return said == reloaded })
		assert.Equal(t, before-len(sink.recorded), 20)
	}
	assert.Equal(t, sinks["gpu"].text(), sinks["default"].text())
}
