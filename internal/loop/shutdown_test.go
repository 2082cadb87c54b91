package loop_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/loop"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// unknownNodeRemoval is a command that is always answered, and leaves a partition as it is.
var unknownNodeRemoval = scheduler.RemoveNode{Node: "none"}

func TestShutdown_CommandsSentBeforeAreApplied(t *testing.T) {
	for _, opt := range []loop.Options{{}, {SyncDelivery: true}} {
		for range 50 { // the end and the mail are there at the same time, and either may be seen first
			sink := &recordingSink{}
			l := loop.New(scheduler.New(partition("default", "a"), nil), sink, opt)
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			assert.Assert(t, l.Send(node("n1", 9), app("app"), ask("k1")))
			l.Run(ctx)
			assert.Assert(t, strings.Contains(sink.text(), "accepted application app"), sink.text())
			assert.Assert(t, !l.Send(node("n2", 1)), "nobody takes it any more")
			assert.Assert(t, l.Send(), "nothing is not lost")
		}
	}
}

// respondingSink is a Sink that says something whenever it hears anything.
type respondingSink struct {
	recordingSink
	respond func()
}

func (x *respondingSink) Deliver(effects []scheduler.Effect) {
	x.recordingSink.Deliver(effects)
	x.respond()
}

// A Sink that hears the last news may still have something to say.
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

// A partition goes while somebody who looked it up before sends to it.
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
				if ok = gpu.Send(unknownNodeRemoval); ok {
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

// A partition that is to go, and whose Sink does not return, is waited for only as long as
// patience lasts, whoever was waiting for it before.
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
		gpu.Send(scheduler.DrainPartition{}, unknownNodeRemoval) // it is empty then, and what it has to say keeps it busy
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
