package rmproxy

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"gotest.tools/v3/assert"
)

// preempting is a configuration in which an ask of high priority preempts one of low priority.
const preempting = `
partitions:
  - name: default
    queues:
      - name: root
        submitacl: '*'
        queues:
          - name: a
            properties: {preemption.priority: leaf}
`

// gone is a rig whose RM has placed work on a full node, and then lost its streams.
func gone(t *testing.T, opt Options) *rig {
	r := newBubbleRig(t, opt)
	r.ctx = t.Context()
	assert.NilError(t, r.register("rm", preempting))
	r.withNodeAndApp()
	x := r.allocations()
	low := newAsk("low", "app")
	low.ResourcePerAlloc = someOf(100, 100)
	assert.NilError(t, x.Send(&si.AllocationRequest{Allocations: []*si.Allocation{low}}))
	hear(t, x, 1, (*si.AllocationResponse).GetNew)
	return r
}

// hangUp cuts the connection under all streams, and makes another one.
func (r *rig) hangUp() {
	r.t.Helper()
	r.p.mu.Lock()
	s := r.p.current()
	r.p.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.lines {
		if l != nil {
			l.cut(errTooSlow)
		}
	}
}

func TestPresence_AnRMWithoutStreamsIsDisconnected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := gone(t, Options{})
		is, ok := r.p.Presence()
		assert.Assert(t, ok && is.Connected && is.Listening && is.Replaceable.IsZero())
		assert.DeepEqual(t, is.Streams, []string{"NodeRequest", "ApplicationRequest", "AllocationRequest"})

		start := time.Now()
		r.hangUp()
		synctest.Wait()
		is, _ = r.p.Presence()
		assert.Assert(t, is.Connected && !is.Listening, "for a moment it may come back")
		<-time.After(graceConnected)
		synctest.Wait()
		is, _ = r.p.Presence()
		assert.Assert(t, !is.Connected)
		assert.Equal(t, is.Since, start)
		assert.Equal(t, is.Replaceable, start.Add(DefaultDisconnected))
		assert.Equal(t, r.p.disconnects.Load(), uint64(1))
		assert.Equal(t, r.logs.FilterMessageSnippet("resource manager disconnected").Len(), 1)

		r.nodes()
		synctest.Wait()
		is, _ = r.p.Presence()
		assert.Assert(t, is.Connected && !is.Listening)
		assert.Equal(t, r.logs.FilterMessage("resource manager connected again").Len(), 1)
	})
}

// A victim would not be told, so none is chosen, however long that lasts; and what waits is
// decided as soon as the RM listens again.
func TestPresence_NothingIsPreemptedWhileTheRMDoesNotListen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := gone(t, Options{})
		r.hangUp()
		synctest.Wait()
		high := newAsk("high", "app")
		high.ResourcePerAlloc, high.Priority = someOf(100, 100), 9
		high.PreemptionPolicy = &si.PreemptionPolicy{AllowPreemptOther: true}
		assert.NilError(t, r.p.current().take(&si.AllocationRequest{Allocations: []*si.Allocation{high}}))
		<-time.After(time.Hour)
		synctest.Wait()
		l, _ := r.p.cluster.Partition("default")
		told, err := l.Preemptions(r.ctx)
		assert.NilError(t, err)
		assert.Equal(t, told.Made, uint64(0))

		x := r.allocations()
		gone := hear(t, x, 1, (*si.AllocationResponse).GetReleased)
		assert.Equal(t, gone[0].AllocationKey, "low")
	})
}

func TestPresence_AnotherRMMayReplaceOneThatIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := gone(t, Options{Limits: Limits{Disconnected: time.Minute}})
		err := r.register("other", queues)
		assert.Equal(t, status.Code(err), codes.FailedPrecondition)
		assert.ErrorContains(t, err, "RM rm has been registered before, active partitions 1, and is connected")
		r.hangUp()
		synctest.Wait()
		err = r.register("other", queues)
		assert.ErrorContains(t, err, "it is disconnected, and can be replaced in 1m0s, or when an administrator releases it")
		<-time.After(50 * time.Second)
		assert.ErrorContains(t, r.register("other", queues), "replaced in 10s")
		<-time.After(10 * time.Second)
		assert.NilError(t, r.register("other", queues))
		assert.Equal(t, r.view("default").Nodes.Len(), 0, "it starts over")
		assert.Equal(t, r.logs.FilterMessage("resource manager replaced: it was disconnected").Len(), 1)
		assert.ErrorContains(t, r.register("rm", queues), "RM other has been registered before")
	})
}

// One that has ended its streams in order is replaced at once: the other waits for a moment only.
func TestPresence_AnRMThatHasFinishedIsReplacedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newBubbleRig(t, Options{})
		assert.NilError(t, r.register("rm", queues))
		n, x := r.nodes(), r.allocations()
		synctest.Wait()
		assert.NilError(t, n.CloseSend())
		fails(t, n, codes.Unknown, "EOF")
		assert.NilError(t, x.CloseSend())
		fails(t, x, codes.Unknown, "EOF")
		start := time.Now()
		assert.NilError(t, r.register("other", queues))
		assert.Equal(t, time.Since(start), graceLeft)
	})
}

func TestPresence_AnAdministratorReleasesAnRM(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := gone(t, Options{})
		assert.ErrorIs(t, r.p.Release("other", true), ErrNotRegistered)
		assert.ErrorIs(t, r.p.Release("rm", false), ErrConnected)
		n := r.nodes()
		synctest.Wait()
		assert.NilError(t, r.p.Release("rm", true))
		fails(t, n, codes.Aborted, "released by an administrator")
		_, ok := r.p.Presence()
		assert.Assert(t, !ok)
		assert.Equal(t, r.view("default").Allocations, 1, "what it had stays until another registers")
		assert.NilError(t, r.register("other", queues))
		assert.Equal(t, r.view("default").Allocations, 0)
	})
}

// A registration that opens no stream is one of an RM that is gone.
func TestPresence_ARegistrationAloneIsNotAConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newBubbleRig(t, Options{})
		assert.NilError(t, r.register("rm", queues))
		<-time.After(graceConnected)
		synctest.Wait()
		is, ok := r.p.Presence()
		assert.Assert(t, ok && !is.Connected && !is.Replaceable.IsZero())
	})
}

// A new stream of the same kind takes over without a moment in which the RM does not listen, and
// the one that it replaces leaves no trace when it ends.
func TestPresence_AReplacedStreamDoesNotDisconnect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := gone(t, Options{})
		r.allocations()
		synctest.Wait()
		is, _ := r.p.Presence()
		assert.Assert(t, is.Listening)
		assert.Equal(t, len(is.Streams), 3)
		assert.NilError(t, r.register("rm", queues))
		r.allocations()
		synctest.Wait()
		is, _ = r.p.Presence()
		assert.Assert(t, is.Listening, "streams of the former session end later")
		assert.DeepEqual(t, is.Streams, []string{"AllocationRequest"})
	})
}

func TestPresence_ALinkedShimIsAlwaysConnected(t *testing.T) {
	d := link(t, &shim{})
	is, ok := d.p.Presence()
	assert.Assert(t, ok && is.InProcess && is.Connected && is.Listening)
	assert.ErrorIs(t, d.p.mayRegister("other"), ErrOtherRM)
}
