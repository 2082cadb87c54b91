package rmproxy

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/tap"
	"google.golang.org/protobuf/types/known/durationpb"
	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/server/durations"
	"github.com/canopy-scheduler/canopy/internal/server/forecast"
	"github.com/canopy-scheduler/canopy/internal/testing/fakerm"
	"github.com/canopy-scheduler/canopy/pkg/hints"
	"github.com/canopy-scheduler/canopy/pkg/hints/canopyv1"
	"github.com/canopy-scheduler/canopy/pkg/lifecycle"
)

// boundedQueues has a leaf that allows two asks more than the node takes.
const boundedQueues = `
partitions:
  - name: default
    queues: [{name: root, submitacl: '*', queues: [{name: a, properties: {preemption.priority: leaf},
      resources: {max: {vcore: 120m}}}]}]
  - name: gpu
    queues: [{name: root, submitacl: '*', queues: [{name: a}]}]
`

// hintRig is a rig with a node that takes ten asks and an application, on virtual time.
type hintRig struct {
	*rig
	allocations si.Scheduler_UpdateAllocationClient
}

func newHintRig(t *testing.T, opt testOptions) *hintRig {
	t.Helper()
	r := newBubbleRig(t, opt)
	r.ctx = t.Context()
	assert.NilError(t, r.register("rm", boundedQueues))
	r.withNodeAndApp()
	h := &hintRig{r, r.openAllocationStream()}
	go discard(h.allocations)
	return h
}

// discard reads a stream until it ends.
func discard(s si.Scheduler_UpdateAllocationClient) {
	for {
		if _, err := s.Recv(); err != nil {
			return
		}
	}
}

// ask submits asks, and waits until their states are evaluated.
func (r *hintRig) ask(asks ...*si.Allocation) {
	r.t.Helper()
	assert.NilError(r.t, r.allocations.Send(&si.AllocationRequest{Allocations: asks}))
	r.settle()
}

func (r *hintRig) askKeys(keys ...string) {
	r.t.Helper()
	var asks []*si.Allocation
	for _, key := range keys {
		asks = append(asks, fakerm.Ask(key, "app"))
	}
	r.ask(asks...)
}

// release ends an ask or an allocation, and waits until states are evaluated.
func (r *hintRig) release(key string) {
	r.t.Helper()
	assert.NilError(r.t, r.allocations.Send(&si.AllocationRequest{Releases: &si.AllocationReleasesRequest{
		AllocationsToRelease: []*si.AllocationRelease{{ApplicationID: "app", AllocationKey: key,
			TerminationType: si.TerminationType_STOPPED_BY_RM}}}}))
	r.settle()
}

func (r *hintRig) settle() {
	time.Sleep(5 * time.Second)
	synctest.Wait()
}

// hintStream is an open stream of hints. Its responses are read all the time.
type hintStream struct {
	t         *testing.T
	responses chan *canopyv1.WaitingStatesResponse
	err       error // why it has ended, after responses is closed
}

func (r *rig) openHints(m *canopyv1.WaitingStatesRequest) *hintStream {
	r.t.Helper()
	m.RmId = "rm"
	s, err := canopyv1.NewHintsClient(r.conn).WaitingStates(r.ctx, m)
	assert.NilError(r.t, err)
	h := &hintStream{t: r.t, responses: make(chan *canopyv1.WaitingStatesResponse, 1000)}
	go func() {
		defer close(h.responses)
		for {
			m, err := s.Recv()
			if err != nil {
				h.err = err
				return
			}
			h.responses <- m
		}
	}()
	return h
}

// want compares all that has been received since, as a line for each state, without what explanations say.
func (h *hintStream) want(lines ...string) {
	h.t.Helper()
	var got []string
	for _, x := range h.received() {
		got = append(got, strings.TrimSpace(fmt.Sprintf("%s/%s of %s %s %s %s", x.Partition, x.AllocationKey,
			x.ApplicationId, strings.TrimPrefix(x.State.String(), "STATE_"), x.Reason, x.NominatedNode)))
	}
	slices.Sort(got)
	assert.DeepEqual(h.t, got, lines)
}

// received returns all states that have been received since.
func (h *hintStream) received() (states []*canopyv1.WaitingState) {
	synctest.Wait()
	for {
		select {
		case m, ok := <-h.responses:
			if !ok {
				return states
			}
			states = append(states, m.WaitingStates...)
		default:
			return states
		}
	}
}

// wantEnd reads until the stream ends, and checks the status.
func (h *hintStream) wantEnd(code codes.Code, text string) {
	h.t.Helper()
	for range h.responses { // until it is closed
	}
	assert.Equal(h.t, status.Code(h.err), code, "%v", h.err)
	assert.ErrorContains(h.t, h.err, text)
}

// First come the states that there are, then each change; the end of an ask is one. Partitions may have the same keys.
// Before a stream is opened, and after it has ended, nothing is kept for it.
func TestHints_StatesThenChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newHintRig(t, testOptions{})
		r.askKeys(keys("k", 14)...)
		assert.Assert(t, r.p.current().waiting.Load() == nil)
		h := r.openHints(&canopyv1.WaitingStatesRequest{})
		synctest.Wait()
		first := <-h.responses
		assert.Assert(t, first.InitialComplete)
		assert.Equal(t, len(first.WaitingStates), 4)
		h.responses <- first
		h.want("default/k10 of app FAILED", "default/k11 of app FAILED", "default/k12 of app SKIPPED noQueueHeadroom",
			"default/k13 of app SKIPPED noQueueHeadroom")

		other := fakerm.App("app", "root.a")
		other.PartitionName = "gpu"
		assert.NilError(t, r.openApplicationStream().Send(&si.ApplicationRequest{New: []*si.AddApplicationRequest{other}}))
		synctest.Wait()
		same := fakerm.Ask("k10", "app")
		same.PartitionName = "gpu"
		r.ask(same)
		h.want("gpu/k10 of app FAILED")

		r.release("k00") // k10 is placed, so the max allows one more
		h.want("default/k10 of app NONE", "default/k12 of app FAILED")
		r.release("k13")
		h.want("default/k13 of app NONE")
		r.release("k12")
		r.release("k11")
		h.want("default/k11 of app NONE", "default/k12 of app NONE")

		// another stream replaces it, and begins anew
		next := r.openHints(&canopyv1.WaitingStatesRequest{})
		h.wantEnd(codes.Aborted, "a newer stream of the same kind was opened")
		synctest.Wait()
		next.want("gpu/k10 of app FAILED")
		assert.NilError(t, r.register("rm", boundedQueues))
		next.wantEnd(codes.Aborted, "the resource manager has re-registered")
		assert.Assert(t, r.p.current().waiting.Load() == nil)

		// without an ask, too, the initial states have an end
		last := r.openHints(&canopyv1.WaitingStatesRequest{})
		synctest.Wait()
		assert.Assert(t, (<-last.responses).InitialComplete)
		r.p.stop()
		last.wantEnd(codes.Unavailable, "the scheduler is stopping")
	})
}

// An ask has the node on which its victims end, also one without a state, and on a stream that was opened later. A
// reservation has no victims (RMI-89).
func TestHints_NominatedNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newHintRig(t, testOptions{})
		var victims []*si.Allocation
		for _, key := range keys("k", 10) {
			victim := fakerm.Ask(key, "app")
			victim.PreemptionPolicy = &si.PreemptionPolicy{AllowPreemptSelf: true}
			victims = append(victims, victim)
		}
		r.ask(victims...)
		h := r.openHints(&canopyv1.WaitingStatesRequest{})
		h.want()
		urgent := fakerm.Ask("urgent", "app")
		urgent.Priority, urgent.PreemptionPolicy = 1, &si.PreemptionPolicy{AllowPreemptOther: true}
		r.ask(urgent)
		h.want("default/urgent of app NONE  n1")
		r.askKeys("waits")
		time.Sleep(time.Minute)
		h.want("default/waits of app FAILED") // it has reserved the node

		h = r.openHints(&canopyv1.WaitingStatesRequest{})
		h.want("default/urgent of app NONE  n1", "default/waits of app FAILED")
		for _, key := range keys("k", 10) {
			r.release(key) // one of them is the victim
		}
		h.want("default/urgent of app NONE", "default/waits of app NONE")
	})
}

// When the client goes, nothing is kept for it any more.
func TestHints_NothingIsLeftOfAStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newHintRig(t, testOptions{})
		ctx, cancel := context.WithCancel(t.Context())
		_, err := canopyv1.NewHintsClient(r.conn).WaitingStates(ctx, &canopyv1.WaitingStatesRequest{RmId: "rm",
			Explain: true})
		assert.NilError(t, err)
		synctest.Wait()
		assert.Assert(t, r.p.current().waiting.Load() != nil)
		state, _ := r.p.ConnectionStatus()
		assert.DeepEqual(t, state.Streams, []string{"NodeRequest", "ApplicationRequest", "AllocationRequest"})
		cancel()
		synctest.Wait()
		assert.Assert(t, r.p.current().waiting.Load() == nil)
	})
}

func TestHints_RefusedRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newBubbleRig(t, testOptions{})
		refused := func(m *canopyv1.WaitingStatesRequest, code codes.Code, text string) {
			t.Helper()
			s, err := canopyv1.NewHintsClient(r.conn).WaitingStates(r.ctx, m)
			assert.NilError(t, err)
			_, err = s.Recv()
			assert.Equal(t, status.Code(err), code, "%v", err)
			assert.ErrorContains(t, err, text)
		}
		refused(&canopyv1.WaitingStatesRequest{RmId: "rm"}, codes.FailedPrecondition,
			`received WaitingStatesRequest, but RmID="rm" not registered`)
		assert.NilError(t, r.register("rm", queues))
		refused(&canopyv1.WaitingStatesRequest{RmId: "other"}, codes.FailedPrecondition, `RmID="other" not registered`)
		refused(&canopyv1.WaitingStatesRequest{}, codes.InvalidArgument, "rm_id is empty")
		for _, c := range []struct {
			refresh *durationpb.Duration
			explain bool
			text    string
		}{
			{durationpb.New(10*time.Second - 1), true, "refresh is 9.999999999s: must be 0 or at least 10s"},
			{durationpb.New(-time.Hour), true, "refresh is -1h0m0s: must be 0 or at least 10s"},
			{&durationpb.Duration{Seconds: 1, Nanos: -1}, true, "refresh is malformed"},
			{durationpb.New(time.Minute), false, "refresh needs explain"},
		} {
			refused(&canopyv1.WaitingStatesRequest{RmId: "rm", Refresh: c.refresh, Explain: c.explain}, codes.InvalidArgument,
				c.text)
		}
		h := r.openHints(&canopyv1.WaitingStatesRequest{Refresh: &durationpb.Duration{}})
		synctest.Wait()
		assert.Assert(t, (<-h.responses).InitialComplete)
	})
}

// A linked shim has a callback.
func TestHints_ALinkedShimHasNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newLinkedCore(t, &fakerm.Recorder{})
		err := d.p.WatchWaitingStates(t.Context(), "rm", func(hints.Watch) error { panic("there is no stream") })
		assert.Equal(t, status.Code(err), codes.FailedPrecondition)
		assert.ErrorContains(t, err, "RM rm is registered in process")
	})
}

// Explanations follow the states: a reason also of a FAILED ask, a text, the place in selection order, and when it is
// expected to start, once that is known. A refresh sends only what has changed.
func TestHints_Explanations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := forecast.NewForecaster("", nil)
		opt := testOptions{Hints: hints.Options{Forecasts: f, Lifetimes: lifecycle.Lifetimes{Completing: time.Hour,
			Completed: time.Hour, Rejected: time.Hour, MaxEnded: 1}}}
		opt.OnEffects = f.OnEffects
		r := newHintRig(t, opt)
		r.askKeys(keys("k", 10)...)
		h := r.openHints(&canopyv1.WaitingStatesRequest{Explain: true, Refresh: durationpb.New(time.Minute)})
		r.askKeys("first", "second")
		got := h.received()
		assert.Equal(t, got[0].AllocationKey, "first")
		assert.Equal(t, got[0].Message+got[0].Reason, "", "the state is not kept until the explanation is made")
		last := func(key string) (x *canopyv1.WaitingState) {
			for _, m := range got {
				if m.AllocationKey == key {
					x = m
				}
			}
			return x
		}
		for i, key := range []string{"first", "second"} {
			x := last(key)
			assert.Equal(t, x.State, canopyv1.WaitingState_STATE_FAILED)
			assert.Equal(t, x.Reason, "noClusterHeadroom")
			assert.Equal(t, x.Message,
				"the cluster has memory 0 of 100, vcore 0 of 100m left, and it asks for memory 10, vcore 10m")
			var ranks []string
			for _, l := range x.Rank {
				ranks = append(ranks, fmt.Sprintf("%s in %s: %d of %d", l.Kind, l.In, l.Position, l.Of))
			}
			assert.DeepEqual(t, ranks, []string{"queues in root: 1 of 1", "applications in root.a: 1 of 1",
				fmt.Sprintf("asks in app: %d of 2", i+1)})
			assert.Equal(t, x.ExpectedStart.Unknown, "notEnoughHistory")
			assert.Assert(t, x.ExpectedStart.P50 == nil && !x.ExpectedStart.MadeAt.AsTime().IsZero())
		}

		time.Sleep(10 * time.Minute)
		got = h.received() // the first has reserved the node meanwhile
		assert.Assert(t, len(got) > 0 && last("second") == nil, "%v", got)
		assert.Equal(t, last("first").Reason, "waitsForReservedNode")
		time.Sleep(10 * time.Minute)
		assert.Equal(t, len(h.received()), 0, "nothing has changed")
		for i := range durations.MinEnded { // each has run for longer than the one before, and its place is taken again
			r.release(fmt.Sprintf("k%02d", i))
			r.askKeys(fmt.Sprintf("m%02d", i))
		}
		h.received()
		r.askKeys("last")
		time.Sleep(time.Minute)
		got = h.received()
		start := last("last").ExpectedStart
		assert.Equal(t, start.Unknown, "")
		assert.Assert(t, !start.P10.AsTime().After(start.P50.AsTime()) && start.P50.AsTime().After(start.MadeAt.AsTime()))
	})
}

// A client that does not read costs a state for each ask, holds up no decision, and is ended.
func TestHints_AClientThatDoesNotReadIsEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newHintRig(t, testOptions{})
		s, err := canopyv1.NewHintsClient(r.conn).WaitingStates(r.ctx, &canopyv1.WaitingStatesRequest{RmId: "rm"})
		assert.NilError(t, err)
		synctest.Wait()
		states := r.p.current().waiting.Load()
		long := strings.Repeat("k", 1000)
		for round := range 20 { // of 100 asks
			var asks []string
			for i := range 100 {
				asks = append(asks, fmt.Sprintf("%s%d-%d", long, round, i))
			}
			r.askKeys(asks...)
			states.mu.Lock()
			assert.Assert(t, len(states.byAsk)+len(states.told) <= 2*100*(round+1))
			assert.Assert(t, len(states.order) <= 2*len(states.byAsk)+64)
			states.mu.Unlock()
			assert.Equal(t, r.snapshot("default").Asks, 100*(round+1)-10, "decisions go on")
		}
		time.Sleep(DefaultUndeliveredTimeout)
		synctest.Wait()
		assert.Assert(t, r.p.current().waiting.Load() == nil)
		for err == nil {
			_, err = s.Recv()
		}
		assert.Equal(t, status.Code(err), codes.ResourceExhausted, "%v", err)
		assert.ErrorContains(t, err, "does not read its answers: waiting states were not read for 1m0s")
	})
}

// Calls of other services end the oldest of them, but no stream that was accepted.
func TestHints_OtherCallsDoNotEndTheStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newHintRig(t, testOptions{})
		h := r.openHints(&canopyv1.WaitingStatesRequest{})
		synctest.Wait()
		<-h.responses
		for range maxOtherCalls + 1 {
			_, err := r.p.noteArrival(t.Context(), &tap.Info{FullMethodName: "/grpc.health.v1.Health/Watch"})
			assert.NilError(t, err)
		}
		r.askKeys(keys("k", 11)...)
		h.want("default/k10 of app FAILED")

		// a request that does not come is no stream of the RM
		_, err := r.conn.NewStream(r.ctx, &grpc.StreamDesc{ServerStreams: true}, "/"+hints.ServiceName+"/WaitingStates")
		assert.NilError(t, err)
		synctest.Wait()
		assert.Equal(t, len(r.p.otherCalls), maxOtherCalls)
	})
}

// A fault ends the stream, not the process.
func TestHints_PanicEndsTheStream(t *testing.T) {
	r := newRegisteredRig(t, testOptions{})
	err := r.p.WatchWaitingStates(t.Context(), "rm", func(hints.Watch) error { panic("a fault") })
	assert.Equal(t, status.Code(err), codes.Internal)
	assert.Equal(t, r.logs.FilterMessage("panic in a stream").Len(), 1)
}
