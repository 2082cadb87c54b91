package rmproxy

import (
	"testing"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"
	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/server/loop"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// allCommands is a command of each type that this package sends.
func allCommands() []scheduler.Command {
	ask := func(key string) *objects.Ask { return &objects.Ask{Key: objects.AllocationKey(key), App: "app"} }
	return []scheduler.Command{
		scheduler.AddNode{Node: "n1"}, scheduler.SetCapacity{Node: "n1"}, scheduler.SetSchedulable{Node: "n1"},
		scheduler.RemoveNode{Node: "n1"}, scheduler.AddApplication{App: "app"},
		scheduler.SubmitAsk{Ask: ask("k1")}, scheduler.SubmitAskWithClass{Ask: ask("k2")},
		scheduler.ReportAllocation{Ask: ask("k3"), Node: "n1"}, scheduler.Release{App: "app", Key: "k1"},
		scheduler.ReportForeign{Foreign: objects.Foreign{Key: "f1"}}, scheduler.ReleaseForeign{Key: "f1"},
		scheduler.RemoveApplication{App: "app"},
	}
}

// drainOutboxes empties the outboxes of a session.
func (s *session) drainOutboxes() (effects []string) {
	for _, box := range s.outboxes {
		for batch := box.takeBatch(); batch != nil; batch = box.takeBatch() {
			for _, x := range batch {
				effects = append(effects, x.effect.String())
			}
			box.delivered()
		}
	}
	return effects
}

// waitEnded waits until a loop that was stopped has ended.
func waitEnded(t *testing.T, l *loop.Loop) {
	t.Helper()
	var err error
	for err == nil {
		_, err = l.Snapshot(t.Context())
	}
	assert.ErrorIs(t, err, loop.ErrEnded)
}

// A message finds its partition, and the partition is removed before the commands are sent.
// Commands that the interface has an answer for are rejected, the others are logged.
func TestDispatch_CommandsForARemovedPartitionAreRejected(t *testing.T) {
	core, logs := observer.New(zapcore.WarnLevel)
	p := newTestProxy(testOptions{Log: zap.New(core)})
	defer p.stop()
	open := func() *session { return newSession(p, "rm") }
	assert.NilError(t, p.registerRemote(&si.RegisterResourceManagerRequest{RmID: "rm", Config: twoPartitions}, open))
	s := p.current()
	batch := &commandBatch{s: s}
	gpu := batch.forPartition("[rm]gpu")
	for _, cmd := range allCommands() {
		gpu.add(cmd)
	}
	assert.NilError(t, p.updateConfiguration(&si.UpdateConfigurationRequest{RmID: "rm", Config: queues}))
	waitEnded(t, gpu.loop)
	batch.send()
	assert.DeepEqual(t, s.drainOutboxes(), []string{
		"rejected node n1: failed to find partition gpu for node n1",
		"rejected node n1: failed to find partition gpu for node n1",
		"rejected node n1: failed to find partition gpu for node n1",
		"rejected node n1: failed to find partition gpu for node n1",
		"rejected application app: failed to add application app to partition gpu, partition doesn't exist",
		"rejected ask k1 (app): failed to find partition gpu, for application app and allocation k1",
		"rejected ask k2 (app): failed to find partition gpu, for application app and allocation k2",
		"rejected ask k3 (app): failed to find partition gpu, for application app and allocation k3",
		"rejected ask f1 (): failed to find partition gpu, for application  and allocation f1",
	})
	var refused []string
	for _, e := range logs.FilterMessage("refused").All() {
		refused = append(refused, e.ContextMap()["what"].(string)+": "+e.ContextMap()["reason"].(string))
	}
	assert.DeepEqual(t, refused, []string{
		"release of k1: unknown partition gpu",
		"release of f1: unknown partition gpu", "removal of application app: unknown partition gpu",
	})
}

// If the partition was created again meanwhile, the new one applies the commands.
func TestDispatch_CommandsForARecreatedPartitionAreApplied(t *testing.T) {
	p := newTestProxy(testOptions{})
	defer p.stop()
	open := func() *session { return newSession(p, "rm") }
	assert.NilError(t, p.registerRemote(&si.RegisterResourceManagerRequest{RmID: "rm", Config: twoPartitions}, open))
	s := p.current()
	batch := &commandBatch{s: s}
	gpu := batch.forPartition("gpu")
	gpu.add(scheduler.AddNode{Node: "n1"})
	for _, conf := range []string{queues, twoPartitions + " # again"} {
		assert.NilError(t, p.updateConfiguration(&si.UpdateConfigurationRequest{RmID: "rm", Config: conf}))
	}
	waitEnded(t, gpu.loop)
	batch.send()
	current, ok := p.cluster.Partition("gpu")
	assert.Assert(t, ok)
	view, err := current.Snapshot(t.Context())
	assert.NilError(t, err)
	assert.Equal(t, view.Nodes.Len(), 1)
}

// Every type of command has a rejection.
func TestDispatch_EveryCommandHasARejection(t *testing.T) {
	p := newTestProxy(testOptions{})
	open := func() *session { return newSession(p, "rm") }
	assert.NilError(t, p.registerRemote(&si.RegisterResourceManagerRequest{RmID: "rm", Config: queues}, open))
	s := p.current()
	l, ok := p.cluster.Partition("default")
	assert.Assert(t, ok)
	p.cluster.End()
	s.mu.Lock()
	s.dispatch("default", l, allCommands()) // the partition is listed and does not run: this must end
	s.mu.Unlock()
	assert.Equal(t, len(s.drainOutboxes()), 9)
	p.stop()
}
