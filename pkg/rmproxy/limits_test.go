package rmproxy

import (
	"bytes"
	"context"
	"fmt"
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
	"google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
	"gotest.tools/v3/assert"
)

// refuses sends bytes as the first message of a stream, and wants the stream to end like this.
func (r *rig) refuses(method string, in []byte, code codes.Code, text string) {
	r.t.Helper()
	err := r.say(method, in)
	assert.Equal(r.t, status.Code(err), code, "%v", err)
	assert.ErrorContains(r.t, err, text)
}

// empties are n empty allocations after an rmID.
func empties(rm string, n int) []byte { return append(str(3, rm), bytes.Repeat(sub(4), n)...) }

func TestLimits_LittleIsReadWhileNothingIsRegistered(t *testing.T) {
	r := newRig(t, Options{})
	r.refuses("UpdateAllocation", empties("rm", unregisteredBytes), codes.FailedPrecondition,
		"received AllocationRequest of 131076 bytes, but no resource manager is not registered")
	r.refuses("UpdateNode", append(bytes.Repeat(sub(1), 100), str(2, "rm")...), codes.FailedPrecondition, "not registered")
}

func TestLimits_WhoItIsComesBeforeWhatItSays(t *testing.T) {
	r := registered(t, Options{})
	in := empties("other", 4<<20)
	var err error
	allocated := allocates(func() { err = r.say("UpdateAllocation", in) })
	assert.Equal(t, status.Code(err), codes.FailedPrecondition, "%v", err)
	assert.ErrorContains(t, err, `RmID="other"`)
	// Decoded it would be gigabytes. The client and the way between them need room for it, too.
	assert.Assert(t, allocated < 8*uint64(len(in)), "%d bytes allocated for %d", allocated, len(in))
}

func TestLimits_ElementsAreCountedBeforeTheyAreMade(t *testing.T) {
	r := registered(t, Options{})
	for _, c := range []struct {
		method string
		in     []byte
	}{
		{"UpdateAllocation", empties("rm", 100_001)},
		{"UpdateAllocation", append(str(3, "rm"), sub(2, bytes.Repeat(sub(1), 100_001))...)},
		{"UpdateNode", append(bytes.Repeat(sub(1), 100_001), str(2, "rm")...)},
		{"UpdateApplication", append(bytes.Repeat(sub(1), 50_001), append(bytes.Repeat(sub(2), 50_000), str(3, "rm")...)...)},
	} {
		var err error
		allocated := allocates(func() { err = r.say(c.method, c.in) })
		assert.Equal(t, status.Code(err), codes.ResourceExhausted, "%v", err)
		assert.ErrorContains(t, err, "has 100001 nodes, applications, allocations and releases, at most 100000 are allowed")
		assert.Assert(t, allocated < 4<<20, "%s: %d bytes allocated", c.method, allocated)
	}
	small := registered(t, Options{Limits: Limits{MessageElements: 3}})
	small.refuses("UpdateAllocation", empties("rm", 4), codes.ResourceExhausted, "has 4 nodes")
}

func TestLimits_WhatDecodingCostsIsBounded(t *testing.T) {
	r := registered(t, Options{Limits: Limits{DecodeBytes: 1 << 20}})
	attributes := append(str(2, "rm"), sub(1, bytes.Repeat(sub(3, str(1, "a")), 20_000))...)
	r.refuses("UpdateNode", attributes, codes.ResourceExhausted, "bytes of memory, at most 1048576 are allowed")
}

func TestLimits_MessagesHaveALongestLength(t *testing.T) {
	r := registered(t, Options{Limits: Limits{MessageBytes: 100_000}})
	r.refuses("UpdateNode", sub(1, str(1, strings.Repeat("n", 100_000))), codes.ResourceExhausted, "at most 100000 are allowed")
}

func TestLimits_RegistrationsHaveALongestLength(t *testing.T) {
	r := newRig(t, Options{})
	_, err := r.client.RegisterResourceManager(r.ctx, &si.RegisterResourceManagerRequest{
		RmID: "rm", Config: strings.Repeat("#", r.p.reloads.MaxBytes()+maxRMFields),
	})
	assert.Equal(t, status.Code(err), codes.ResourceExhausted, "%v", err)
	assert.ErrorContains(t, err, "the registration has 10616")
	assert.NilError(t, r.register("rm", queues), "and the next one is taken")
}

func TestLimits_ARegistrationWithoutAMessageIsRefused(t *testing.T) {
	r := newRig(t, Options{})
	s, err := r.conn.NewStream(r.ctx, &grpc.StreamDesc{ClientStreams: true}, "/"+ServiceName+"/RegisterResourceManager")
	assert.NilError(t, err)
	assert.NilError(t, s.CloseSend())
	err = s.RecvMsg(&si.RegisterResourceManagerResponse{})
	assert.Equal(t, status.Code(err), codes.InvalidArgument, "%v", err)
}

func TestLimits_CompressedMessagesAreRefused(t *testing.T) {
	r := registered(t, Options{})
	s, err := r.client.UpdateNode(r.ctx, grpc.UseCompressor(gzip.Name))
	assert.NilError(t, err)
	assert.NilError(t, s.Send(&si.NodeRequest{RmID: "rm", Nodes: []*si.NodeInfo{nodeCreated(strings.Repeat("n", 1000))}}))
	fails(t, s, codes.Unimplemented, "compress")
}

// A message that needs more memory than others leave waits for them.
func TestLimits_DecodingWaitsForRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newBubbleRig(t, Options{})
		assert.NilError(t, r.register("rm", queues))
		assert.NilError(t, r.p.room.decoding.Acquire(r.ctx, DefaultDecodeBytes))
		many := &si.NodeRequest{RmID: "rm"}
		for i := range 1000 {
			many.Nodes = append(many.Nodes, nodeCreated(fmt.Sprint("n", i)))
		}
		n := r.nodes()
		assert.NilError(t, n.Send(many))
		<-time.After(20 * time.Second)
		assert.Equal(t, r.view("default").Nodes.Len(), 0)
		r.p.room.decoding.Release(DefaultDecodeBytes)
		hear(t, n, 1000, (*si.NodeResponse).GetAccepted)
		synctest.Wait()
		assert.Assert(t, r.p.room.decoding.TryAcquire(DefaultDecodeBytes), "what was used is given back")
	})
}

// What a large message holds is given back, whatever becomes of it.
func TestLimits_RoomIsGivenBack(t *testing.T) {
	r := registered(t, Options{})
	_ = r.say("UpdateAllocation", empties("other", 1<<20))
	_ = r.say("UpdateAllocation", empties("rm", 1<<20))
	_ = r.say("UpdateAllocation", empties("rm", 50_000), append(empties("rm", 50_000), 0x80))
	assert.NilError(t, r.register("rm", queues+strings.Repeat("#", 1<<20)))
	r.p.Close() // streams that are ended give back what they hold a moment later
	for _, room := range []struct {
		tryAcquire func(int64) bool
		all        int64
	}{
		{r.p.room.received.TryAcquire, 2 * DefaultMessageBytes}, {r.p.room.strangers.TryAcquire, DefaultMessageBytes},
		{r.p.room.decoding.TryAcquire, DefaultDecodeBytes}, {r.p.room.registering.TryAcquire, 1},
	} {
		assert.Assert(t, room.tryAcquire(room.all))
	}
}

// stuckConn is a connection that stops sending after so many bytes.
type stuckConn struct {
	net.Conn
	left *atomic.Int64
	over context.Context
}

func (c stuckConn) Write(b []byte) (int, error) {
	if c.left.Add(-int64(len(b))) < 0 {
		<-c.over.Done()
		return 0, net.ErrClosed
	}
	return c.Conn.Write(b)
}

// A message that is announced and does not come is not waited for.
func TestLimits_AMessageHasToArriveInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		left, over, listener := new(atomic.Int64), t.Context(), bufconn.Listen(1<<20)
		left.Store(1 << 30)
		conn, err := grpc.NewClient("passthrough:///bubble", grpc.WithTransportCredentials(insecure.NewCredentials()),
			grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
				c, err := listener.DialContext(ctx)
				return stuckConn{c, left, over}, err
			}))
		assert.NilError(t, err)
		r := rigOn(t, Options{}, listener, conn)
		assert.NilError(t, r.register("rm", queues))
		live, cancel := context.WithCancel(context.Background())
		defer cancel()
		n, err := r.client.UpdateNode(live)
		assert.NilError(t, err)
		synctest.Wait()
		left.Store(40_000)
		start := time.Now()
		assert.NilError(t, n.Send(&si.NodeRequest{RmID: "rm", Nodes: []*si.NodeInfo{nodeCreated(strings.Repeat("n", 1<<20))}}))
		fails(t, n, codes.DeadlineExceeded, "did not arrive within 31")
		assert.Equal(t, time.Since(start).Truncate(time.Second), arrival(1<<20).Truncate(time.Second))
	})
}

func TestStreams_AFirstMessageHasToCome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newBubbleRig(t, Options{})
		assert.NilError(t, r.register("rm", queues))
		r.ctx = t.Context()
		start := time.Now()
		silent, err := r.client.UpdateAllocation(r.ctx)
		assert.NilError(t, err)
		speaks := r.nodes()
		fails(t, silent, codes.DeadlineExceeded, "no first message came within 30s")
		assert.Equal(t, time.Since(start), DefaultFirstMessage)
		<-time.After(time.Hour)
		assert.NilError(t, speaks.Send(&si.NodeRequest{Nodes: []*si.NodeInfo{nodeCreated("n1")}}))
		hear(t, speaks, 1, (*si.NodeResponse).GetAccepted)
	})
}

// However many silent streams there are, one that speaks is served.
func TestStreams_TheOldestSilentStreamGivesWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newBubbleRig(t, Options{Limits: Limits{SilentStreams: 3}})
		assert.NilError(t, r.register("rm", queues))
		var silent []si.Scheduler_UpdateAllocationClient
		for i := range 10 {
			s, err := r.client.UpdateAllocation(r.ctx)
			assert.NilError(t, err)
			synctest.Wait() // streams that are opened together are served in any order
			silent = append(silent, s)
			if i >= 3 {
				fails(t, silent[i-3], codes.ResourceExhausted, "too many streams without a first message are open: at most 3")
			}
		}
		r.withNodeAndApp()
		synctest.Wait()
		r.p.mu.Lock()
		defer r.p.mu.Unlock()
		assert.Assert(t, len(r.p.silence.streams) <= 2, "others gave way to those that spoke")
		assert.Assert(t, r.p.silence.ended >= 8)
	})
}

// A stream belongs to the registration it was opened under.
func TestStreams_ALateSpeakerIsNotOfTheNewRegistration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newBubbleRig(t, Options{})
		before, err := r.client.UpdateAllocation(r.ctx)
		assert.NilError(t, err)
		synctest.Wait()
		assert.NilError(t, r.register("rm", queues))
		fails(t, before, codes.Aborted, "opened before the resource manager registered")
		older, err := r.client.UpdateAllocation(r.ctx)
		assert.NilError(t, err)
		synctest.Wait()
		assert.NilError(t, r.register("rm", queues))
		r.withNodeAndApp()
		ours := r.allocations()
		fails(t, older, codes.Aborted, "opened before the resource manager registered")
		assert.NilError(t, ours.Send(&si.AllocationRequest{Allocations: []*si.Allocation{newAsk("k", "app")}}))
		hear(t, ours, 1, (*si.AllocationResponse).GetNew)
	})
}

// The same for one that speaks while the new registration is put in force: that it was among the
// silent ones does not matter.
func TestStreams_AnEarlierRegistrationIsToldFromThisOne(t *testing.T) {
	r := registered(t, Options{})
	l := &line{p: r.p, kind: nodes, silent: &silent{registration: r.p.registrations}}
	assert.NilError(t, r.register("rm", queues))
	assert.ErrorIs(t, l.admit("rm"), errEarlier)
}

// A service that is a stream on our side is a call on theirs.
func TestServer_TheServiceIsTheOneOfTheInterface(t *testing.T) {
	p := New(Options{})
	defer p.Close()
	desc := p.service()
	var names []string
	for _, s := range desc.Streams {
		names = append(names, s.StreamName)
	}
	assert.DeepEqual(t, names, []string{"RegisterResourceManager", "UpdateAllocation", "UpdateApplication", "UpdateNode"})
	assert.Equal(t, len(si.Scheduler_ServiceDesc.Methods), 1, "the description of the interface is not changed")
}

func TestLimits_AnExtraConfigurationHasALongestLength(t *testing.T) {
	r := newRig(t, Options{})
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
