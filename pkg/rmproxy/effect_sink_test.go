package rmproxy

import (
	"context"
	"testing"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"
	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/server/wire"
	"github.com/canopy-scheduler/canopy/internal/testing/fakerm"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// undeliveredKeys are the keys in the outbox of the allocation stream.
func undeliveredKeys(s *session) string { return keysOf(notTaken(s.outboxes[allocationStream])) }

func rejected(key objects.AllocationKey) scheduler.Effect { return scheduler.AskRejected{Key: key} }

func newProxyWithSession(t *testing.T) (*Proxy, *session, *observer.ObservedLogs) {
	t.Helper()
	core, logs := observer.New(zapcore.DebugLevel)
	p := newTestProxy(testOptions{Log: zap.New(core)})
	t.Cleanup(p.stop)
	open := func() *session { return newSession(p, "rm") }
	assert.NilError(t, p.registerRemote(&si.RegisterResourceManagerRequest{RmID: "rm"}, open))
	return p, p.current(), logs
}

// newTestEffectSink returns a separate sink: the loop may be using its own.
func newTestEffectSink(p *Proxy) *effectSink {
	return &effectSink{p: p, partition: "default", log: p.log}
}

func TestEffectSink_EffectsBeforeResetAreDropped(t *testing.T) {
	p, s, _ := newProxyWithSession(t)
	sink := newTestEffectSink(p)
	sink.pendingResets.Store(2) // registered twice, and no PartitionReset has been delivered
	sink.Deliver([]scheduler.Effect{rejected("1")})
	sink.Deliver([]scheduler.Effect{rejected("2"), scheduler.PartitionReset{}, rejected("3")})
	assert.Equal(t, undeliveredKeys(s), "")
	sink.Deliver([]scheduler.Effect{rejected("4"), scheduler.PartitionReset{}, rejected("5")})
	sink.Deliver([]scheduler.Effect{rejected("6")})
	assert.Equal(t, undeliveredKeys(s), "5 6")
}

// Effects for a session that ends before their delivery do not reach the next session.
func TestEffectSink_EffectsDoNotReachALaterRegistration(t *testing.T) {
	p, old, _ := newProxyWithSession(t)
	sink := newTestEffectSink(p)
	again := func(zapcore.Entry) error {
		return p.registerRemote(&si.RegisterResourceManagerRequest{RmID: "rm"},
			func() *session { return newSession(p, "rm") })
	}
	core, logs := observer.New(zapcore.DebugLevel)
	sink.log = zap.New(zapcore.RegisterHooks(core, again))
	sink.Deliver([]scheduler.Effect{rejected("1"), scheduler.Refused{Subject: "this"}})
	assert.Equal(t, logs.FilterMessage("refused").Len(), 1)
	assert.Assert(t, p.current() != old)
	assert.Equal(t, undeliveredKeys(p.current()), "")
}

func TestEffectSink_ResetEmptiesTheOutboxes(t *testing.T) {
	p, s, _ := newProxyWithSession(t)
	sink := newTestEffectSink(p)
	s.deliver("other", []scheduler.Effect{rejected("1")})
	sink.Deliver([]scheduler.Effect{rejected("2")})
	sink.Deliver([]scheduler.Effect{rejected("3"), scheduler.PartitionReset{}, rejected("4")})
	assert.Equal(t, undeliveredKeys(s), "1 4", "only effects of this partition are dropped")
}

func TestEffectSink_RefusedCommandsAreLogged(t *testing.T) {
	p, s, logs := newProxyWithSession(t)
	newTestEffectSink(p).Deliver([]scheduler.Effect{scheduler.Refused{Subject: "this", Reason: "that"}, rejected("1")})
	assert.Equal(t, undeliveredKeys(s), "1")
	assert.Equal(t, logs.FilterMessage("refused").FilterField(zap.String("reason", "that")).Len(), 1)
}

// The RM ordered changes of nodes and queues and cancelled asks itself: they are not delivered.
func TestEffectSink_InternalEffectsAreNotDelivered(t *testing.T) {
	p, s, logs := newProxyWithSession(t)
	logs.TakeAll()
	newTestEffectSink(p).Deliver([]scheduler.Effect{scheduler.NodeChanged{Node: "n"},
		scheduler.QueueChanged{Queue: "root.a"}})
	newTestEffectSink(p).Deliver([]scheduler.Effect{scheduler.AskCancelled{Key: "k"}, rejected("1"),
		scheduler.NodeChanged{Node: "n"}})
	assert.Equal(t, undeliveredKeys(s), "1")
	assert.Equal(t, len(notTaken(s.outboxes[nodeStream])), 0)
	assert.Equal(t, logs.Len(), 0, "internal effects are not logged")
}

func TestEffectSink_WithoutRMEffectsAreLogged(t *testing.T) {
	core, logs := observer.New(zapcore.DebugLevel)
	p := newTestProxy(testOptions{Log: zap.New(core)})
	defer p.stop()
	p.effectSinks["default"].Deliver([]scheduler.Effect{rejected("1")})
	assert.Equal(t, logs.FilterMessageSnippet("without a resource manager").Len(), 1)
}

func TestSession_SendsNothingAfterClose(t *testing.T) {
	p, s, _ := newProxyWithSession(t)
	s.close(errReregistered)
	s.handle(&si.NodeRequest{Nodes: []*si.NodeInfo{fakerm.Node("late"), fakerm.Node("")}})
	l, ok := p.Cluster().Partition("default")
	assert.Assert(t, ok)
	view, err := l.Snapshot(context.Background())
	assert.NilError(t, err)
	assert.Equal(t, view.Nodes.Len(), 0)
	assert.Equal(t, len(notTaken(s.outboxes[nodeStream])), 0)
}

// Rejections by the API itself are passed on: those of nodes, since partitions reject asks (APP-48). Asks have a log
// line at level debug.
func TestOnAPIRejected_ReceivesRejectionsWithoutPartition(t *testing.T) {
	core, logs := observer.New(zapcore.DebugLevel)
	var answered []scheduler.Effect
	p := newTestProxy(testOptions{Log: zap.New(core),
		OnAPIRejected: func(e scheduler.Effect) { answered = append(answered, e) }})
	defer p.stop()
	assert.NilError(t, p.registerRemote(&si.RegisterResourceManagerRequest{RmID: "rm"}, func() *session {
		return newSession(p, "rm")
	}))
	allocation := func(key, partition, node string) wire.Allocation {
		return wire.Allocation{Key: key, App: "app", Partition: partition, Node: node}
	}
	assert.NilError(t, p.current().handleAllocations(&wire.AllocationRequest{Allocations: []wire.Allocation{
		allocation("k1", "none", ""), allocation("", "default", ""), allocation("k2", "default", ""),
		allocation("k3", "default", "n1"),
	}}))
	assert.Equal(t, len(answered), 0)
	assert.NilError(t, p.current().handleNodes(&si.NodeRequest{Nodes: []*si.NodeInfo{{Action: si.NodeInfo_CREATE}}}, nil))
	assert.Equal(t, len(answered), 1)
	assert.Equal(t, answered[0].(scheduler.NodeRejected).Reason, "node ID is empty")
	assert.Equal(t, logs.FilterMessage("ask received").FilterField(zap.String("key", "k2")).Len(), 1)
	assert.Equal(t, logs.FilterMessage("ask received").Len(), 1)
	assert.Equal(t, logs.FilterMessage("allocation reported").FilterField(zap.String("node", "n1")).Len(), 1)
}
