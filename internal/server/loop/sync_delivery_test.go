package loop_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/server/loop"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// slowRM is a resource manager that takes 30 s for each placement, and records whether a
// predicate is called before the delivery.
type slowRM struct {
	recordingSink
	busy         atomic.Bool
	queriedEarly atomic.Bool
}

func (r *slowRM) Deliver(effects []scheduler.Effect) {
	for _, e := range effects {
		if _, ok := e.(scheduler.Allocated); ok {
			r.busy.Store(true)
			<-time.After(30 * time.Second) // virtual time
			r.busy.Store(false)
		}
	}
	r.recordingSink.Deliver(effects)
}

func (r *slowRM) Fits(objects.AllocationKey, objects.NodeID) bool {
	if r.busy.Load() {
		r.queriedEarly.Store(true)
	}
	return true
}

func TestSyncDelivery_AllocationIsDeliveredBeforeTheNextPredicate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rm := &slowRM{}
		l, stop := run(t, rm, &objects.Oracle{Fits: rm.Fits}, loop.Options{SyncDelivery: true})
		l.Send(node("n1", 1), app("app"), ask("k1"), ask("k2"))
		synctest.Wait()
		assert.Assert(t, rm.busy.Load(), "the resource manager should be busy with k1 now")

		before := time.Now()
		_, err := l.Call(t.Context(), node("n2", 1))
		assert.NilError(t, err)
		assert.Equal(t, time.Since(before), 30*time.Second,
			"commands are applied as soon as k1 has been delivered, and not before")

		<-time.After(2 * time.Minute)
		synctest.Wait()
		stop()
		assert.Assert(t, !rm.queriedEarly.Load(), "the predicate was called before the last placement was delivered")
		assert.Equal(t, rm.text(), "accepted node n1; accepted application app; application app is Accepted; "+
			"application app is Running; allocated k1 (app) on n1; accepted node n2; allocated k2 (app) on n2")
	})
}

// placementResponder is a Sink that sends a command for each placement.
type placementResponder struct {
	recordingSink
	respond func(scheduler.Effect)
}

func (b *placementResponder) Deliver(effects []scheduler.Effect) {
	b.recordingSink.Deliver(effects)
	for _, e := range effects {
		if _, ok := e.(scheduler.Allocated); ok {
			b.respond(e)
		}
	}
}

func TestSyncDelivery_CommandsAreAppliedBetweenTwoDecisions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sink := &placementResponder{}
		l, stop := run(t, sink, nil, loop.Options{SyncDelivery: true})
		sink.respond = func(scheduler.Effect) { l.Send(scheduler.RemoveApplication{App: "app"}) }
		l.Send(node("n1", 9), app("app"), ask("k1"), ask("k2"))
		synctest.Wait()
		stop()
		assert.Equal(t, sink.text(), "accepted node n1; accepted application app; application app is Accepted; "+
			"application app is Running; allocated k1 (app) on n1; cancelled ask k2 (app): application app was removed; "+
			"released k1 (app), stopped by rm: application app was removed; "+
			"application app is Completing; application app is Completed")
	})
}

// A client that answers every effect must not keep the Core from decisions.
func TestSyncDelivery_EndlessCommandsDoNotStopDecisions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sink := &countedResponder{}
		l, stop := run(t, sink, nil, loop.Options{SyncDelivery: true})
		sink.respond = func(n int) { l.Send(node(fmt.Sprint("n", n), 1)) }
		l.Send(app("app"), ask("k1"), node("n0", 1))
		synctest.Wait()
		stop()
		before, _, ok := strings.Cut(sink.text(), "allocated k1 (app) on n0")
		assert.Assert(t, ok, sink.text())
		assert.Equal(t, strings.Count(before, "accepted node"), 1)
		assert.Equal(t, strings.Count(sink.text(), "accepted node"), 100)
	})
}

// countedResponder is a Sink that sends a command for each effect, and counts.
type countedResponder struct {
	recordingSink
	responses int
	respond   func(n int)
}

func (c *countedResponder) Deliver(effects []scheduler.Effect) {
	c.recordingSink.Deliver(effects)
	if c.responses < 99 {
		c.responses++
		c.respond(c.responses)
	}
}

func TestSyncDelivery_EndsBetweenTwoDecisions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sink := &placementResponder{}
		l := loop.New(scheduler.New(partition("default", "a"), nil), sink, loop.Options{SyncDelivery: true})
		ctx, cancel := context.WithCancel(context.Background())
		sink.respond = func(scheduler.Effect) { cancel() }
		l.Send(node("n1", 9), app("app"), ask("k1"), ask("k2"))
		l.Run(ctx)
		assert.Assert(t, strings.HasSuffix(sink.text(), "allocated k1 (app) on n1"), sink.text())
		_, err := l.Call(t.Context(), node("n2", 1))
		assert.ErrorIs(t, err, loop.ErrEnded)
	})
}

// The effects that Call returns belong to the caller, whatever is decided and delivered
// afterwards.
func TestCall_ReturnsACopyOfTheEffects(t *testing.T) {
	for _, first := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			sink := &recordingSink{}
			l, stop := run(t, sink, nil, loop.Options{SyncDelivery: first})
			defer stop()
			effects, err := l.Call(t.Context(), node("n1", 9), app("app"))
			assert.NilError(t, err)
			l.Send(ask("k1"), ask("k2"), node("n2", 9), node("n3", 9))
			synctest.Wait()
			assert.Equal(t, len(effects), 2)
			assert.Equal(t, effects[0].String(), "accepted node n1")
			assert.Equal(t, effects[1].String(), "accepted application app")
			assert.Assert(t, strings.HasPrefix(sink.text(), "accepted node n1; accepted application app; "))
		})
	}
}

// switchableOracle refuses everything until it is switched.
type switchableOracle struct{ accepts atomic.Bool }

func (m *switchableOracle) Fits(objects.AllocationKey, objects.NodeID) bool { return m.accepts.Load() }

func TestSyncDelivery_RejectedAskIsRetriedAfterBackOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rm, sink := &switchableOracle{}, &recordingSink{}
		l, stop := run(t, sink, &objects.Oracle{Fits: rm.Fits}, loop.Options{SyncDelivery: true})
		defer stop()
		l.Send(node("n1", 1), app("app"), ask("k1"))
		synctest.Wait()
		explanation, err := l.Explain(t.Context(), "k1")
		assert.NilError(t, err)
		assert.Equal(t, explanation.String(),
			"the resource manager rejects every node with sufficient free resources; nodes: 1 fitting")

		rm.accepts.Store(true)
		<-time.After(time.Second)
		synctest.Wait()
		assert.Assert(t, strings.HasSuffix(sink.text(), "allocated k1 (app) on n1"), sink.text())
	})
}
