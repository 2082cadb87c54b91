package loop_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/server/loop"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// unknownNodeRemoval is a command that has an effect and does not change the partition.
var unknownNodeRemoval = scheduler.RemoveNode{Node: "none"}

func TestShutdown_CommandsSentBeforeAreApplied(t *testing.T) {
	for _, opt := range []loop.Options{{}, {SyncDelivery: true}} {
		for range 50 { // the end of ctx and the commands come at the same time, and either may be seen first
			sink := &recordingSink{}
			l := loop.New(scheduler.New(partition("default", "a"), nil), sink, opt)
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			assert.Assert(t, l.Send(node("n1", 9), app("app"), ask("k1")))
			l.Run(ctx)
			assert.Assert(t, strings.Contains(sink.text(), "accepted application app"), sink.text())
			assert.Assert(t, !l.Send(node("n2", 1)), "the loop has ended")
			assert.Assert(t, l.Send(), "no commands")
		}
	}
}

// respondingSink is a Sink that sends a command whenever it gets effects.
type respondingSink struct {
	recordingSink
	respond func()
}

func (x *respondingSink) Deliver(effects []scheduler.Effect) {
	x.recordingSink.Deliver(effects)
	x.respond()
}

// A Sink may send commands when it gets the last effects.
func TestShutdown_CommandsOfTheSinkAreAppliedOrRefused(t *testing.T) {
	sink, accepted := &respondingSink{}, []bool{}
	l := loop.New(scheduler.New(partition("default", "a"), nil), sink, loop.Options{SyncDelivery: true})
	ctx, cancel := context.WithCancel(t.Context())
	sink.respond = func() {
		cancel()
		accepted = append(accepted, l.Send(unknownNodeRemoval))
	}
	l.Send(node("n1", 9))
	l.Run(ctx)
	assert.DeepEqual(t, accepted, []bool{true, false})
	assert.Equal(t, strings.Count(sink.text(), "unknown node none"), 1, sink.text())
}

// A partition is removed before a command of a caller that looked it up.
func TestCluster_CommandsToARemovedPartitionAreAppliedOrRefused(t *testing.T) {
	c, sinks := newTwoPartitionCluster(t, loop.Options{HighWater: 16})
	both, sent := c.Config(), 0
	for range 50 {
		assert.NilError(t, c.Configure(t.Context(), both))
		gpu, ok := c.Partition("gpu")
		assert.Assert(t, ok)
		begun := make(chan struct{}, 1)
		var sender sync.WaitGroup
		sender.Go(func() {
			for ok := true; ok; _ = gpu.Wait(t.Context()) {
				ok = gpu.Send(unknownNodeRemoval)
				if ok {
					sent++
				}
				select {
				case begun <- struct{}{}:
				default:
				}
			}
		})
		<-begun
		assert.NilError(t, c.Configure(t.Context(), configOf(partition("default", "a"))))
		sender.Wait()
	}
	c.End()
	assert.Equal(t, strings.Count(sinks["gpu"].text(), "unknown node none"), sent)
}

// Reload waits for a draining partition whose Sink does not return only until ctx ends, whatever
// else waits for it.
func TestReload_WaitForABlockedDrainedPartitionIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		blocked := &blockedSink{released: make(chan struct{})}
		c := loop.NewCluster(loop.Options{SyncDelivery: true}, func(p string) loop.Sink {
			if p == "gpu" {
				return blocked
			}
			return &recordingSink{}
		}, nil)
		both, one := configOf(partition("default", "a"), partition("gpu", "a")), configOf(partition("default", "a"))
		assert.NilError(t, c.Configure(t.Context(), both))
		gpu, _ := c.Partition("gpu")
		gpu.Send(scheduler.DrainPartition{}, unknownNodeRemoval) // it is drained then, and the delivery of its effect blocks
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		changed := make(chan error, 1)
		go func() { changed <- c.Configure(ctx, one) }()
		time.Sleep(time.Minute)
		synctest.Wait()
		assert.ErrorIs(t, <-changed, context.DeadlineExceeded)
		close(blocked.released)
		assert.NilError(t, c.Configure(t.Context(), one))
		synctest.Wait()
		assert.DeepEqual(t, c.Partitions(), []string{"default"})
		c.End()
	})
}
