package loop_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/server/loop"
	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/lifecycle"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/policies"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func vcores(n int64) resources.Amounts {
	return resources.FromMap(map[string]resources.Quantity{"vcore": resources.Quantity(n)})
}

func partition(name string, leaves ...string) configs.Partition {
	p := configs.Partition{Name: name, Root: configs.Queue{Name: "root", Parent: true, SubmitACL: security.Everyone()},
		NodeSortPolicy: policies.DefaultNodeSortPolicy()}
	for _, leaf := range leaves {
		p.Root.Children = append(p.Root.Children, configs.Queue{Name: leaf})
	}
	return p
}

func node(id string, n int64) scheduler.Command {
	return scheduler.AddNode{Node: objects.NodeID(id), Total: vcores(n), Schedulable: true}
}

func app(id string) scheduler.Command {
	return scheduler.AddApplication{App: objects.AppID(id), User: security.User{Name: "ann"}, Queue: "root.a"}
}

func ask(key string) scheduler.Command {
	return scheduler.SubmitAsk{Ask: &objects.Ask{Key: objects.AllocationKey(key), App: "app", Amounts: vcores(1)}}
}

// recordingSink is a Sink that records effects.
type recordingSink struct {
	mu       sync.Mutex
	recorded []string
}

func (m *recordingSink) Deliver(effects []scheduler.Effect) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, e := range effects {
		m.recorded = append(m.recorded, e.String())
	}
}

func (m *recordingSink) text() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return strings.Join(m.recorded, "; ")
}

// run starts a loop that is stopped when the test ends.
func run(t *testing.T, sink loop.Sink, oracle *objects.Oracle, opt loop.Options) (l *loop.Loop, stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	l = loop.New(scheduler.New(partition("default", "a"), oracle), sink, opt)
	done := make(chan struct{})
	go func() { defer close(done); l.Run(ctx) }()
	return l, func() { cancel(); <-done }
}

// blockedSink is a Sink that blocks until it is opened.
type blockedSink struct {
	recordingSink
	released chan struct{}
}

func (g *blockedSink) Deliver(effects []scheduler.Effect) {
	<-g.released
	g.recordingSink.Deliver(effects)
}

func TestAsyncDelivery_SlowSinkDelaysDecisionsNotCommands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sink := &blockedSink{released: make(chan struct{})}
		l, stop := run(t, sink, nil, loop.Options{DecisionBatch: 1, MaxUndelivered: 5})
		l.Send(node("n1", 100), app("app"))
		for i := range 50 {
			l.Send(ask(fmt.Sprint("k", i)))
		}
		synctest.Wait()
		s, err := l.Snapshot(t.Context())
		assert.NilError(t, err, "a reader had to wait")
		assert.Assert(t, s.Allocations < 10, "%d decisions ran ahead of a sink that takes nothing", s.Allocations)
		assert.Equal(t, s.Allocations+s.Asks, 50)

		close(sink.released)
		synctest.Wait()
		s, err = l.Snapshot(t.Context())
		assert.NilError(t, err)
		assert.Equal(t, s.Allocations, 50)
		stop()
	})
}

func TestSend_CommandsAreAppliedWithoutDecisionsBetween(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sink := &recordingSink{}
		l, stop := run(t, sink, nil, loop.Options{})
		l.Send(app("app"), ask("k1"), scheduler.RemoveApplication{App: "app"}, node("n1", 1))
		synctest.Wait()
		stop()
		assert.Equal(t, sink.text(), "accepted application app; application app is Accepted; "+
			"cancelled ask k1 (app): application app was removed; application app is Completing; application app is "+
			"Completed; accepted node n1",
			"something was decided in the middle of a message")
	})
}

func TestWait_BlocksWhileTheMailboxIsFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := loop.New(scheduler.New(partition("default", "a"), nil), &recordingSink{}, loop.Options{HighWater: 3})
		l.Send(node("n1", 1), node("n2", 1))
		assert.NilError(t, l.Wait(t.Context()), "the mailbox is not full")
		l.Send(node("n3", 1))
		assert.Equal(t, l.Depth(), 3)
		waited := make(chan error)
		go func() { waited <- l.Wait(t.Context()) }()
		synctest.Wait()
		select {
		case <-waited:
			t.Fatal("the mailbox is full and is not emptied")
		default:
		}
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan struct{})
		go func() { defer close(done); l.Run(ctx) }()
		assert.NilError(t, <-waited)
		assert.Equal(t, l.Depth(), 0)
		cancel()
		<-done
	})
}

func TestCall_FailsAfterTheEnd(t *testing.T) {
	l, stop := run(t, &recordingSink{}, nil, loop.Options{})
	stop()
	_, err := l.Call(t.Context(), node("n1", 1))
	assert.ErrorIs(t, err, loop.ErrEnded)
	_, err = l.Snapshot(t.Context())
	assert.ErrorIs(t, err, loop.ErrEnded)
}

func TestShutdown_EffectsAreDelivered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sink := &blockedSink{released: make(chan struct{})}
		l, stop := run(t, sink, nil, loop.Options{})
		l.Send(node("n1", 1))
		synctest.Wait()
		l.Send(node("n2", 1))
		synctest.Wait()
		go close(sink.released)
		stop()
		assert.Equal(t, sink.text(), "accepted node n1; accepted node n2")
	})
}

func TestClock_NeverGoesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var clock atomic.Int64
		clock.Store(1000)
		now := func() time.Time { return time.Unix(clock.Load(), 0) }
		l, stop := run(t, &recordingSink{}, nil, loop.Options{Now: now})
		defer stop()
		_, err := l.Call(t.Context(), app("first"))
		assert.NilError(t, err)
		clock.Store(500)
		_, err = l.Call(t.Context(), app("second"))
		assert.NilError(t, err)
		s, err := l.Snapshot(t.Context())
		assert.NilError(t, err)
		for a := range s.Root.Children.At(0).Applications.All() {
			assert.Equal(t, a.Submitted.Unix(), int64(1000), "application %s", a.ID)
		}
	})
}

func TestSnapshot_ReadersOfAnUnchangedStateShareOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, stop := run(t, &recordingSink{}, nil, loop.Options{})
		defer stop()
		one, err := l.Snapshot(t.Context())
		assert.NilError(t, err)
		two, err := l.Snapshot(t.Context())
		assert.NilError(t, err)
		assert.Assert(t, one == two, "two snapshots of the same state")
		l.Send(node("n1", 1))
		three, err := l.Snapshot(t.Context())
		assert.NilError(t, err)
		assert.Equal(t, three.Nodes.Len(), 1)
		assert.Equal(t, one.Nodes.Len(), 0, "a snapshot has changed")
		assert.NilError(t, l.Check(t.Context()))
	})
}

func TestDeadline_WakesTheCore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		conf := partition("default", "a")
		conf.Root.Children[0].AppSort = policies.StateAware
		conf.Root.Children[0].PrioritySort = policies.PriorityIgnored
		sink := &recordingSink{}
		l := loop.New(scheduler.New(conf, nil), sink, loop.Options{})
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan struct{})
		go func() { defer close(done); l.Run(ctx) }()
		l.Send(node("n1", 5), app("app"), app("next"), ask("k1"))
		l.Send(scheduler.SubmitAsk{Ask: &objects.Ask{Key: "later", App: "next", Amounts: vcores(1)}})
		synctest.Wait()
		assert.Assert(t, !strings.Contains(sink.text(), "later"), "two applications started at once")
		<-time.After(policies.RampTime)
		synctest.Wait()
		assert.Assert(t, strings.HasSuffix(sink.text(), "allocated later (next) on n1"), sink.text())
		cancel()
		<-done
	})
}

func TestCluster_PartitionsAreIndependent(t *testing.T) {
	sinks := map[string]*recordingSink{"default": {}, "gpu": {}}
	c := loop.NewCluster(loop.Options{}, func(p string) loop.Sink { return sinks[p] }, nil)
	defer c.End()
	ctx := t.Context()
	both := &configs.Config{Partitions: []configs.Partition{partition("default", "a"), partition("gpu", "a")}}
	assert.NilError(t, c.Configure(ctx, both))
	assert.DeepEqual(t, c.Partitions(), []string{"default", "gpu"})
	gpu, ok := c.Partition("gpu")
	assert.Assert(t, ok)
	_, err := gpu.Call(ctx, node("n1", 1))
	assert.NilError(t, err)
	other, _ := c.Partition("default")
	s, err := other.Snapshot(ctx)
	assert.NilError(t, err)
	assert.Equal(t, s.Nodes.Len(), 0)
}

// halfSpeedClock is a clock that runs at half the speed of the timers.
func halfSpeedClock() func() time.Time {
	began := time.Now()
	return func() time.Time { return began.Add(time.Since(began) / 2) }
}

// The clock may be slower than the timer, or be set back: then the timer is set again.
func TestDeadline_TimerThatFiresEarlyIsReset(t *testing.T) {
	for _, first := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			sink := &recordingSink{}
			l, stop := run(t, sink, nil, loop.Options{SyncDelivery: first, Now: halfSpeedClock()})
			l.Send(app("app"), ask("k1"), scheduler.Release{App: "app", Key: "k1"})
			<-time.After(59 * time.Second)
			synctest.Wait()
			assert.Assert(t, strings.HasSuffix(sink.text(), "application app is Completing"), sink.text())
			<-time.After(2 * time.Second)
			synctest.Wait()
			stop()
			assert.Assert(t, strings.HasSuffix(sink.text(), "application app is Completed"), sink.text())
		})
	}
}

// The next deadline may be earlier than the one that the timer is set to, or there may be none.
func TestDeadline_TimerFollowsTheDeadlines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sink := &recordingSink{}
		c := loop.NewCluster(loop.Options{Lifetimes: &lifecycle.Lifetimes{Completing: time.Minute, MaxEnded: 9,
			Completed: time.Hour}},
			func(string) loop.Sink { return sink }, nil)
		defer c.End()
		assert.NilError(t,
			c.Configure(t.Context(), &configs.Config{Partitions: []configs.Partition{partition("default", "a")}}))
		l, _ := c.Partition("default")
		idle := func(id string) {
			l.Send(app(id), scheduler.SubmitAsk{Ask: &objects.Ask{Key: "k", App: objects.AppID(id), Amounts: vcores(1)}},
				scheduler.Release{App: objects.AppID(id), Key: "k"})
			synctest.Wait()
		}
		assertDelivered := func(after time.Duration, want string) {
			t.Helper()
			before := sink.text()
			<-time.After(after)
			synctest.Wait()
			assert.Equal(t, strings.TrimPrefix(sink.text(), before), want)
		}
		idle("one")
		assertDelivered(59*time.Second, "")
		assertDelivered(time.Second, "; application one is Completed")
		assertDelivered(30*time.Minute, "")
		idle("two")
		assertDelivered(time.Minute, "; application two is Completed")
		assertDelivered(28*time.Minute, "")
		assertDelivered(time.Minute, "; application one is Expired")
		assertDelivered(31*time.Minute, "; application two is Expired")
	})
}

// An expiration in a decision may have no effect, and must not be in the next snapshot.
func TestSnapshot_OmitsWhatExpiredInADecision(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := loop.NewCluster(loop.Options{SyncDelivery: true,
			Lifetimes: &lifecycle.Lifetimes{Rejected: 20 * time.Second, MaxEnded: 9}},
			func(string) loop.Sink { return &slowRM{} }, nil)
		defer c.End()
		assert.NilError(t,
			c.Configure(t.Context(), &configs.Config{Partitions: []configs.Partition{partition("default", "a")}}))
		l, _ := c.Partition("default")
		rejected := func() int {
			s, err := l.Snapshot(context.Background())
			assert.Check(t, err)
			return s.Rejected.Len()
		}
		l.Send(scheduler.AddApplication{App: "x", Queue: "root.none"}, node("n1", 1), app("app"), ask("k1"), ask("k2"))
		synctest.Wait()
		assert.Equal(t, rejected(), 1, "read after the delivery of k1, and before it is known that k2 is infeasible")
		synctest.Wait()
		assert.Equal(t, rejected(), 0)
	})
}

// Each command has effects, so a blocked Sink makes the senders of commands wait.
func TestWait_BlocksWhileTheSinkIsBlocked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sink := &blockedSink{released: make(chan struct{})}
		l, stop := run(t, sink, nil, loop.Options{MaxUndelivered: 4})
		defer stop()
		for i := range 16 {
			l.Send(node(fmt.Sprint("n", i), 1))
		}
		synctest.Wait()
		waits := make(chan error, 1)
		go func() { waits <- l.Wait(t.Context()) }()
		synctest.Wait()
		assert.Equal(t, len(waits), 0)
		close(sink.released)
		assert.NilError(t, <-waits)
	})
}

// Nothing is decided while the RM does not listen, nor in partitions that are created meanwhile.
func TestCluster_NewPartitionsKnowWhetherTheRMListens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := loop.NewCluster(loop.Options{}, func(string) loop.Sink { return new(recordingSink) }, nil)
		defer c.End()
		c.SetListening(false)
		assert.NilError(t,
			c.Configure(t.Context(), &configs.Config{Partitions: []configs.Partition{partition("default", "a")}}))
		l, _ := c.Partition("default")
		l.Send(node("n1", 100), app("app"), ask("k"))
		synctest.Wait()
		placed := func() int {
			s, err := l.Snapshot(t.Context())
			assert.NilError(t, err)
			return s.Allocations
		}
		assert.Equal(t, placed(), 0)
		c.SetListening(true)
		synctest.Wait()
		assert.Equal(t, placed(), 1)
		c.SetListening(true)
		assert.Equal(t, placed(), 1)
	})
}
