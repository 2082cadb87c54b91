package rmproxy

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/testing/fakerm"
)

// leafPriorityConfig is a configuration in which an ask of high priority preempts one of low priority.
const leafPriorityConfig = `
partitions:
  - name: default
    queues:
      - name: root
        submitacl: '*'
        queues:
          - name: a
            properties: {preemption.priority: leaf}
`

// newFullNodeRig is a rig whose RM has placed an allocation on a full node, and then lost its
// streams.
func newFullNodeRig(t *testing.T, opt testOptions) *rig {
	r := newBubbleRig(t, opt)
	r.ctx = t.Context()
	assert.NilError(t, r.register("rm", leafPriorityConfig))
	r.withNodeAndApp()
	x := r.openAllocationStream()
	low := fakerm.Ask("low", "app")
	low.ResourcePerAlloc = fakerm.Resource(100, 100)
	assert.NilError(t, x.Send(&si.AllocationRequest{Allocations: []*si.Allocation{low}}))
	receive(t, x, 1, (*si.AllocationResponse).GetNew)
	return r
}

// cancelStreams closes the connection below all streams, and opens another one.
func (r *rig) cancelStreams() {
	r.t.Helper()
	r.p.mu.Lock()
	s := r.p.current()
	r.p.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.streams {
		if l != nil {
			l.cancel(errors.New("the connection broke"))
		}
	}
}

func TestConnection_RMWithoutStreamsIsDisconnected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newFullNodeRig(t, testOptions{})
		state, ok := r.p.ConnectionStatus()
		assert.Assert(t, ok && state.Connected && state.Listening && state.ReplaceableAt.IsZero())
		assert.DeepEqual(t, state.Streams, []string{"NodeRequest", "ApplicationRequest", "AllocationRequest"})

		start := time.Now()
		r.cancelStreams()
		synctest.Wait()
		state, _ = r.p.ConnectionStatus()
		assert.Assert(t, state.Connected && !state.Listening, "within the grace period")
		<-time.After(disconnectGrace)
		synctest.Wait()
		state, _ = r.p.ConnectionStatus()
		assert.Assert(t, !state.Connected)
		assert.Equal(t, state.Since, start)
		assert.Equal(t, state.ReplaceableAt, start.Add(DefaultDisconnectedTimeout))
		assert.Equal(t, r.p.disconnects.Load(), uint64(1))
		assert.Equal(t, r.logs.FilterMessageSnippet("resource manager disconnected").Len(), 1)

		r.openNodeStream()
		synctest.Wait()
		state, _ = r.p.ConnectionStatus()
		assert.Assert(t, state.Connected && !state.Listening)
		assert.Equal(t, r.logs.FilterMessage("resource manager connected again").Len(), 1)
	})
}

// Without the allocation stream no victim is chosen, however long that lasts; the ask is decided
// as soon as the RM listens again.
func TestConnection_NothingIsPreemptedWithoutAllocationStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newFullNodeRig(t, testOptions{})
		r.cancelStreams()
		synctest.Wait()
		high := fakerm.Ask("high", "app")
		high.ResourcePerAlloc, high.Priority = fakerm.Resource(100, 100), 9
		high.PreemptionPolicy = &si.PreemptionPolicy{AllowPreemptOther: true}
		assert.NilError(t, r.p.current().handle(&si.AllocationRequest{Allocations: []*si.Allocation{high}}))
		<-time.After(time.Hour)
		synctest.Wait()
		l, _ := r.p.cluster.Partition("default")
		preemptions, err := l.Preemptions(r.ctx)
		assert.NilError(t, err)
		assert.Equal(t, preemptions.Total, uint64(0))

		x := r.openAllocationStream()
		released := receive(t, x, 1, (*si.AllocationResponse).GetReleased)
		assert.Equal(t, released[0].AllocationKey, "low")
	})
}

func TestConnection_DisconnectedRMIsReplacedAfterTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newFullNodeRig(t, testOptions{Limits: Limits{DisconnectedTimeout: time.Minute}})
		err := r.register("other", queues)
		assert.Equal(t, status.Code(err), codes.FailedPrecondition)
		assert.ErrorContains(t, err, "RM rm has been registered before, active partitions 1, and is connected")
		r.cancelStreams()
		synctest.Wait()
		err = r.register("other", queues)
		assert.ErrorContains(t, err, "it is disconnected, and can be replaced in 1m0s, or when an administrator releases it")
		<-time.After(50 * time.Second)
		assert.ErrorContains(t, r.register("other", queues), "replaced in 10s")
		<-time.After(10 * time.Second)
		assert.ErrorContains(t, r.register("other", "partitions: ["), "invalid configuration")
		assert.Equal(t, r.logs.FilterMessage("resource manager replaced").Len(), 0, "the registration was refused")
		assert.NilError(t, r.register("other", queues))
		assert.Equal(t, r.snapshot("default").Nodes.Len(), 0, "a new registration starts over")
		r.assertReplaced("rm", "other", "it was disconnected")
		assert.ErrorContains(t, r.register("rm", queues), "RM other has been registered before")
	})
}

// An RM that has half-closed its streams is replaced after 2 s: the registration of the other RM
// waits.
func TestConnection_FinishedRMIsReplacedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newBubbleRig(t, testOptions{})
		assert.NilError(t, r.register("rm", queues))
		n, x := r.openNodeStream(), r.openAllocationStream()
		synctest.Wait()
		assert.NilError(t, n.CloseSend())
		assertStreamFails(t, n, codes.Unknown, "EOF")
		assert.NilError(t, x.CloseSend())
		assertStreamFails(t, x, codes.Unknown, "EOF")
		start := time.Now()
		assert.NilError(t, r.register("other", queues))
		assert.Equal(t, time.Since(start), finishedGrace)
		r.assertReplaced("rm", "other", "it had ended its streams")
	})
}

func TestConnection_AdministratorReleasesRM(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newFullNodeRig(t, testOptions{})
		assert.ErrorIs(t, r.p.Release("other", true), ErrNotRegistered)
		assert.ErrorIs(t, r.p.Release("rm", false), ErrConnected)
		n := r.openNodeStream()
		synctest.Wait()
		assert.NilError(t, r.p.Release("rm", true))
		assertStreamFails(t, n, codes.Aborted, "released by an administrator")
		_, ok := r.p.ConnectionStatus()
		assert.Assert(t, !ok)
		assert.Equal(t, r.snapshot("default").Allocations, 1, "the state stays until the next registration")
		assert.NilError(t, r.register("other", queues))
		assert.Equal(t, r.snapshot("default").Allocations, 0)
		r.assertReplaced("rm", "other", "an administrator had released it")
	})
}

// An RM that registers and opens no stream becomes disconnected.
func TestConnection_RegistrationAloneIsNotAConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newBubbleRig(t, testOptions{})
		assert.NilError(t, r.register("rm", queues))
		<-time.After(disconnectGrace)
		synctest.Wait()
		state, ok := r.p.ConnectionStatus()
		assert.Assert(t, ok && !state.Connected && !state.ReplaceableAt.IsZero())
	})
}

// A new stream of the same kind replaces the old one while the RM stays listening, and the end of
// the old one has no effect.
func TestConnection_ReplacedStreamDoesNotDisconnect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newFullNodeRig(t, testOptions{})
		r.openAllocationStream()
		synctest.Wait()
		state, _ := r.p.ConnectionStatus()
		assert.Assert(t, state.Listening)
		assert.Equal(t, len(state.Streams), 3)
		assert.NilError(t, r.register("rm", queues))
		r.openAllocationStream()
		synctest.Wait()
		state, _ = r.p.ConnectionStatus()
		assert.Assert(t, state.Listening, "streams of the previous session end later")
		assert.DeepEqual(t, state.Streams, []string{"AllocationRequest"})
	})
}

func TestConnection_LinkedShimIsAlwaysConnected(t *testing.T) {
	d := newLinkedCore(t, &fakerm.Recorder{})
	state, ok := d.p.ConnectionStatus()
	assert.Assert(t, ok && state.InProcess && state.Connected && state.Listening)
	assert.ErrorIs(t, d.p.checkRegister("other"), ErrOtherRM)
}
