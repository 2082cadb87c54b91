package rmproxy

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/tap"
	"google.golang.org/grpc/test/bufconn"
	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/testing/fakerm"
)

// assertRefused sends bytes as the first message of a stream, and checks how the stream ends.
func (r *rig) assertRefused(method string, in []byte, code codes.Code, text string) {
	r.t.Helper()
	err := r.sendRaw(method, in)
	assert.Equal(r.t, status.Code(err), code, "%v", err)
	assert.ErrorContains(r.t, err, text)
}

// emptyAllocations is an rmID and n empty allocations.
func emptyAllocations(rm string, n int) []byte { return append(str(3, rm), bytes.Repeat(sub(4), n)...) }

func TestLimits_RMIDIsReadBeforeDecoding(t *testing.T) {
	r := newRegisteredRig(t, testOptions{})
	in := emptyAllocations("other", 3<<20)
	var err error
	allocated := bytesAllocated(func() { err = r.sendRaw("UpdateAllocation", in) })
	assert.Equal(t, status.Code(err), codes.FailedPrecondition, "%v", err)
	assert.ErrorContains(t, err, `RmID="other"`)
	// Decoded it would take gigabytes. The client and the transport need memory for it, too.
	assert.Assert(t, allocated < 8*uint64(len(in)), "%d bytes allocated for %d", allocated, len(in))
}

func TestLimits_ElementsAreCountedBeforeDecoding(t *testing.T) {
	r := newRegisteredRig(t, testOptions{})
	for _, c := range []struct {
		method string
		in     []byte
	}{
		{"UpdateAllocation", emptyAllocations("rm", 100_001)},
		{"UpdateAllocation", append(str(3, "rm"), sub(2, bytes.Repeat(sub(1), 100_001))...)},
		{"UpdateNode", append(bytes.Repeat(sub(1), 100_001), str(2, "rm")...)},
		{"UpdateApplication", append(bytes.Repeat(sub(1), 50_001), append(bytes.Repeat(sub(2), 50_000), str(3, "rm")...)...)},
	} {
		var err error
		allocated := bytesAllocated(func() { err = r.sendRaw(c.method, c.in) })
		assert.Equal(t, status.Code(err), codes.ResourceExhausted, "%v", err)
		assert.ErrorContains(t, err, "has 100001 nodes, applications, allocations and releases, at most 100000 are allowed")
		assert.Assert(t, allocated < 4<<20, "%s: %d bytes allocated", c.method, allocated)
	}
	small := newRegisteredRig(t, testOptions{Limits: Limits{MessageElements: 3}})
	small.assertRefused("UpdateAllocation", emptyAllocations("rm", 4), codes.ResourceExhausted, "has 4 nodes")
}

func TestLimits_DecodingCostIsBounded(t *testing.T) {
	r := newRegisteredRig(t, testOptions{Limits: Limits{DecodeBytes: 1 << 20}})
	attributes := append(str(2, "rm"), sub(1, bytes.Repeat(sub(3, str(1, "a")), 20_000))...)
	r.assertRefused("UpdateNode", attributes, codes.ResourceExhausted, "bytes of memory, at most 1048576 are allowed")
}

func TestLimits_MessageLengthIsBounded(t *testing.T) {
	r := newRegisteredRig(t, testOptions{Limits: Limits{MessageBytes: 100_000}})
	r.assertRefused("UpdateNode", sub(1, str(1, strings.Repeat("n", 100_000))), codes.ResourceExhausted,
		"at most 100000 are allowed")
}

func TestLimits_RegistrationLengthIsBounded(t *testing.T) {
	r := newRig(t, testOptions{})
	_, err := r.client.RegisterResourceManager(r.ctx, &si.RegisterResourceManagerRequest{
		RmID: "rm", Config: strings.Repeat("#", r.p.Reloads().MaxBytes()+maxRMFields),
	})
	assert.Equal(t, status.Code(err), codes.ResourceExhausted, "%v", err)
	assert.ErrorContains(t, err, "the registration has 10616")
	assert.NilError(t, r.register("rm", queues), "the next one is accepted")
}

func TestLimits_ARegistrationWithoutAMessageIsRefused(t *testing.T) {
	r := newRig(t, testOptions{})
	s, err := r.conn.NewStream(r.ctx, &grpc.StreamDesc{ClientStreams: true}, "/"+ServiceName+"/RegisterResourceManager")
	assert.NilError(t, err)
	assert.NilError(t, s.CloseSend())
	err = s.RecvMsg(&si.RegisterResourceManagerResponse{})
	assert.Equal(t, status.Code(err), codes.InvalidArgument, "%v", err)
}

// foreignCompressor compresses for a client; no server knows it.
type foreignCompressor struct{}

func (foreignCompressor) Type() string { return "foreign" }

func (foreignCompressor) Do(w io.Writer, p []byte) error {
	_, err := w.Write(p)
	return err
}

func TestLimits_CompressedMessagesAreRefused(t *testing.T) {
	r := newRegisteredRig(t, testOptions{})
	//lint:ignore SA1019 UseCompressor needs a compressor that the server in this process then knows as well
	compressor := grpc.WithCompressor(foreignCompressor{})
	conn, err := grpc.NewClient(r.conn.Target(), grpc.WithTransportCredentials(insecure.NewCredentials()), compressor)
	assert.NilError(t, err)
	defer conn.Close()
	s, err := si.NewSchedulerClient(conn).UpdateNode(r.ctx)
	assert.NilError(t, err)
	_ = s.Send(&si.NodeRequest{RmID: "rm", Nodes: []*si.NodeInfo{fakerm.Node("n")}}) // the stream may have ended
	assertStreamFails(t, s, codes.Unimplemented, "grpc-encoding")
}

// Calls of other services, which may have messages of the same length, are few.
func TestLimits_OtherCallsAreFew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newTestProxy(testOptions{})
		defer p.stop()
		other := &tap.Info{FullMethodName: "/grpc.health.v1.Health/Check"}
		var open []context.Context
		for range maxOtherCalls + 2 {
			ctx, err := p.noteArrival(t.Context(), other)
			assert.NilError(t, err)
			open = append(open, ctx)
		}
		ctx, err := p.noteArrival(t.Context(), &tap.Info{FullMethodName: "/" + ServiceName + "/UpdateNode"})
		assert.NilError(t, err)
		assert.NilError(t, ctx.Err())
		for i, ctx := range open {
			assert.Equal(t, ctx.Err() != nil, i < 2, "call %d: the oldest end", i)
		}
		assert.ErrorIs(t, context.Cause(open[0]), errTooManyOtherCalls)
		ctx, end := context.WithCancel(t.Context())
		_, err = p.noteArrival(ctx, other)
		assert.NilError(t, err)
		end()
		synctest.Wait()
		assert.Equal(t, len(p.otherCalls), maxOtherCalls-1, "a call that has ended is forgotten")
	})
}

// A message that needs more memory than is free waits.
func TestLimits_DecodingWaitsForMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newBubbleRig(t, testOptions{})
		assert.NilError(t, r.register("rm", queues))
		assert.NilError(t, r.p.memory.decoding.Acquire(r.ctx, DefaultDecodeBytes))
		many := &si.NodeRequest{RmID: "rm"}
		for i := range 1000 {
			many.Nodes = append(many.Nodes, fakerm.Node(fmt.Sprint("n", i)))
		}
		n := r.openNodeStream()
		assert.NilError(t, n.Send(many))
		<-time.After(20 * time.Second)
		assert.Equal(t, r.snapshot("default").Nodes.Len(), 0)
		r.p.memory.decoding.Release(DefaultDecodeBytes)
		receive(t, n, 1000, (*si.NodeResponse).GetAccepted)
		synctest.Wait()
		assert.Assert(t, r.p.memory.decoding.TryAcquire(DefaultDecodeBytes), "the memory is released")
	})
}

// The memory of a large message is released, whatever its result.
func TestLimits_MemoryIsReleased(t *testing.T) {
	r := newRegisteredRig(t, testOptions{})
	_ = r.sendRaw("UpdateAllocation", emptyAllocations("other", 1<<20))
	_ = r.sendRaw("UpdateAllocation", emptyAllocations("rm", 1<<20))
	_ = r.sendRaw("UpdateAllocation", emptyAllocations("rm", 50_000), append(emptyAllocations("rm", 50_000), 0x80))
	assert.NilError(t, r.register("rm", queues+strings.Repeat("#", 1<<20)))
	r.p.stop() // streams that have ended release their memory a moment later
	for _, budget := range []struct {
		tryAcquire func(int64) bool
		all        int64
	}{
		{r.p.memory.received.TryAcquire, 2 * DefaultMessageBytes}, {r.p.memory.unidentified.TryAcquire, DefaultMessageBytes},
		{r.p.memory.decoding.TryAcquire, DefaultDecodeBytes}, {r.p.memory.registering.TryAcquire, 1},
	} {
		assert.Assert(t, budget.tryAcquire(budget.all))
	}
}

// stallingConn is a connection that stops sending after so many bytes.
type stallingConn struct {
	net.Conn
	remaining *atomic.Int64
	ctx       context.Context
}

func (c stallingConn) Write(b []byte) (int, error) {
	if c.remaining.Add(-int64(len(b))) < 0 {
		<-c.ctx.Done()
		return 0, net.ErrClosed
	}
	return c.Conn.Write(b)
}

// A first message that does not arrive as a whole in time ends the stream.
func TestLimits_FirstMessageArrivesInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		remaining, testCtx, listener := new(atomic.Int64), t.Context(), bufconn.Listen(1<<20)
		remaining.Store(1 << 30)
		conn, err := grpc.NewClient("passthrough:///bubble", grpc.WithTransportCredentials(insecure.NewCredentials()),
			grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
				c, err := listener.DialContext(ctx)
				return stallingConn{c, remaining, testCtx}, err
			}))
		assert.NilError(t, err)
		r := rigOn(t, testOptions{}, listener, conn)
		assert.NilError(t, r.register("rm", queues))
		live, cancel := context.WithCancel(context.Background())
		defer cancel()
		n, err := r.client.UpdateNode(live)
		assert.NilError(t, err)
		synctest.Wait()
		remaining.Store(40_000)
		start := time.Now()
		assert.NilError(t,
			n.Send(&si.NodeRequest{RmID: "rm", Nodes: []*si.NodeInfo{fakerm.Node(strings.Repeat("n", 1<<20))}}))
		assertStreamFails(t, n, codes.DeadlineExceeded, "no first message came within 30s")
		assert.Equal(t, time.Since(start), DefaultFirstMessageTimeout)
	})
}

func TestStreams_FirstMessageTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newBubbleRig(t, testOptions{})
		assert.NilError(t, r.register("rm", queues))
		r.ctx = t.Context()
		start := time.Now()
		silent, err := r.client.UpdateAllocation(r.ctx)
		assert.NilError(t, err)
		active := r.openNodeStream()
		assertStreamFails(t, silent, codes.DeadlineExceeded, "no first message came within 30s")
		assert.Equal(t, time.Since(start), DefaultFirstMessageTimeout)
		<-time.After(time.Hour)
		assert.NilError(t, active.Send(&si.NodeRequest{Nodes: []*si.NodeInfo{fakerm.Node("n1")}}))
		receive(t, active, 1, (*si.NodeResponse).GetAccepted)
	})
}

// A stream with a first message is served, however many silent streams there are.
func TestStreams_OldestSilentStreamIsEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newBubbleRig(t, testOptions{Limits: Limits{SilentStreams: 3}})
		assert.NilError(t, r.register("rm", queues))
		var silent []si.Scheduler_UpdateAllocationClient
		for i := range 10 {
			s, err := r.client.UpdateAllocation(r.ctx)
			assert.NilError(t, err)
			synctest.Wait() // streams that are opened together are served in any order
			silent = append(silent, s)
			if i >= 3 {
				assertStreamFails(t, silent[i-3], codes.ResourceExhausted,
					"too many streams without a first message are open: at most 3")
			}
		}
		r.withNodeAndApp()
		synctest.Wait()
		r.p.mu.Lock()
		defer r.p.mu.Unlock()
		assert.Assert(t, len(r.p.silent.streams) <= 2, "older silent streams were ended")
		assert.Assert(t, r.p.silent.ended >= 8)
	})
}

// A stream belongs to the registration under which it was opened.
func TestStreams_OpenedBeforeRegistrationAreEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newBubbleRig(t, testOptions{})
		before, err := r.client.UpdateAllocation(r.ctx)
		assert.NilError(t, err)
		synctest.Wait()
		assert.NilError(t, r.register("rm", queues))
		assertStreamFails(t, before, codes.Aborted, "opened before the resource manager registered")
		older, err := r.client.UpdateAllocation(r.ctx)
		assert.NilError(t, err)
		synctest.Wait()
		assert.NilError(t, r.register("rm", queues))
		r.withNodeAndApp()
		current := r.openAllocationStream()
		assertStreamFails(t, older, codes.Aborted, "opened before the resource manager registered")
		assert.NilError(t, current.Send(&si.AllocationRequest{Allocations: []*si.Allocation{fakerm.Ask("k", "app")}}))
		receive(t, current, 1, (*si.AllocationResponse).GetNew)
	})
}

// The same for a stream whose first message arrives during the new registration, when it is not a
// silent stream any more.
func TestStreams_OpenedUnderAnEarlierRegistrationAreRefused(t *testing.T) {
	r := newRegisteredRig(t, testOptions{})
	l := &rmStream{p: r.p, kind: nodeStream, silentEntry: &silentStream{registration: r.p.registrationCount.Load()}}
	assert.NilError(t, r.register("rm", queues))
	assert.ErrorIs(t, l.identify("rm"), errOpenedBeforeRegistration)
}

// A registration that is sent right after a stream, on the same connection, may be served first. The stream ends all
// the same: nothing that was sent before a registration counts after it.
func TestStreams_RegistrationOvertakesNoStream(t *testing.T) {
	r := newRegisteredRig(t, testOptions{})
	for range 200 {
		before, err := r.client.UpdateNode(r.ctx)
		assert.NilError(t, err)
		_ = before.Send(&si.NodeRequest{RmID: "rm", Nodes: []*si.NodeInfo{fakerm.Node("n1")}}) // the stream may have ended
		assert.NilError(t, r.register("rm", queues))
		for err == nil { // perhaps until the answer of before the registration
			_, err = before.Recv()
		}
		// Aborted, or FailedPrecondition if the message was read during the registration
		assert.ErrorContains(t, err, "registered")
		assert.Equal(t, r.snapshot("default").Nodes.Len(), 0)
	}
}

// RegisterResourceManager is a stream in the server and a call in the interface.
func TestServer_ServiceMatchesTheInterface(t *testing.T) {
	p := newTestProxy(testOptions{})
	defer p.stop()
	desc := p.service()
	var names []string
	for _, s := range desc.Streams {
		names = append(names, s.StreamName)
	}
	assert.DeepEqual(t, names, []string{"RegisterResourceManager", "UpdateAllocation", "UpdateApplication", "UpdateNode"})
	assert.Equal(t, len(si.Scheduler_ServiceDesc.Methods), 1, "the description of the interface is not changed")
}

func TestLimits_ExtraConfigurationLengthIsBounded(t *testing.T) {
	r := newRig(t, testOptions{})
	_, err := r.client.RegisterResourceManager(r.ctx, &si.RegisterResourceManagerRequest{
		RmID: "rm", Config: queues, ExtraConfig: map[string]string{"key": strings.Repeat("x", 1<<20)},
	})
	assert.Equal(t, status.Code(err), codes.InvalidArgument, "%v", err)
	assert.ErrorContains(t, err, "extra configuration has 1048579 bytes in 1 entries, at most 1048576 are allowed")
	_, err = r.client.RegisterResourceManager(r.ctx, &si.RegisterResourceManagerRequest{
		RmID: "rm", Config: queues, BuildInfo: map[string]string{"key": strings.Repeat("x", 64<<10)},
	})
	assert.Equal(t, status.Code(err), codes.InvalidArgument, "%v", err)
	assert.ErrorContains(t, err, "build information have 65539 bytes, at most 65536 are allowed")
	assert.NilError(t, r.register("rm", queues))
}
