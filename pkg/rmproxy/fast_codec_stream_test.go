package rmproxy

import (
	"fmt"
	"testing"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/testing/fakerm"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// rawCodec is the codec of a client that sends arbitrary bytes.
type rawCodec struct{}

func (rawCodec) Name() string { return "proto" }

func (rawCodec) Marshal(v any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(v.([]byte))}, nil
}

func (rawCodec) Unmarshal(data mem.BufferSlice, v any) error {
	*v.(*[]byte) = data.Materialize()
	return nil
}

// sendRaw sends bytes as messages on a stream of a method, and returns the error with which it
// ended.
func (r *rig) sendRaw(method string, messages ...[]byte) error {
	r.t.Helper()
	desc := &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}
	s, err := r.conn.NewStream(r.ctx, desc, "/"+ServiceName+"/"+method, grpc.ForceCodecV2(rawCodec{}))
	assert.NilError(r.t, err)
	for _, m := range messages {
		assert.NilError(r.t, s.SendMsg(m))
	}
	for {
		var answer []byte
		if err := s.RecvMsg(&answer); err != nil {
			return err
		}
	}
}

func TestFastCodec_MalformedMessageEndsTheStreamLikeGeneratedCode(t *testing.T) {
	r := newRegisteredRig(t, testOptions{})
	r.withNodeAndApp()
	node, err := proto.Marshal(&si.NodeRequest{RmID: "rm"})
	assert.NilError(t, err)
	ask, err := proto.Marshal(&si.AllocationRequest{RmID: "rm", Allocations: []*si.Allocation{fakerm.Ask("k", "app")}})
	assert.NilError(t, err)
	first, err := proto.Marshal(&si.AllocationRequest{RmID: "rm"})
	assert.NilError(t, err)
	for _, broken := range [][]byte{{0x80}, {0, 0}, {4<<3 | 6}} {
		generated := r.sendRaw("UpdateNode", node, broken)
		fast := r.sendRaw("UpdateAllocation", first, append(ask, broken...))
		for _, err := range []error{generated, fast} {
			assert.Equal(t, status.Code(err), codes.InvalidArgument)
			assert.ErrorContains(t, err, "malformed message")
			assert.ErrorContains(t, err, "cannot parse invalid wire-format data")
		}
	}
	text := r.sendRaw("UpdateAllocation", first, str(3, "\xff"))
	assert.Equal(t, status.Code(text), codes.InvalidArgument)
	assert.ErrorContains(t, text, "invalid UTF-8")
	assert.Equal(t, r.snapshot("default").Allocations, 0, "no part of a malformed message is applied")
}

// The content of one message must not appear in the next, which is decoded into the same memory;
// the same holds for answers.
func TestFastCodec_ReusedMessageKeepsNothing(t *testing.T) {
	r := newRegisteredRig(t, testOptions{})
	r.withNodeAndApp()
	x := r.openAllocationStream()
	full := fakerm.Ask("full", "app")
	full.TaskGroupName, full.Placeholder, full.Originator, full.Priority = "tg", true, true, 9
	full.PreemptionPolicy = &si.PreemptionPolicy{AllowPreemptSelf: true, AllowPreemptOther: true}
	full.AllocationTags = map[string]string{"a": "b"}
	assert.NilError(t, x.Send(&si.AllocationRequest{Allocations: []*si.Allocation{full}}))
	want := fakerm.Ask("full", "app")
	want.TaskGroupName, want.Placeholder, want.Originator, want.NodeID = "tg", true, true, "n1"
	want.PreemptionPolicy = full.PreemptionPolicy
	assert.Assert(t, proto.Equal(receive(t, x, 1, (*si.AllocationResponse).GetNew)[0], want))

	assert.NilError(t, x.Send(&si.AllocationRequest{
		Allocations: []*si.Allocation{fakerm.Ask("plain", "app")},
		Releases: &si.AllocationReleasesRequest{AllocationsToRelease: []*si.AllocationRelease{
			{ApplicationID: "app", AllocationKey: "full"},
		}},
	}))
	var allocated []*si.Allocation
	var released []*si.AllocationRelease
	for len(allocated)+len(released) < 2 {
		m, err := x.Recv()
		assert.NilError(t, err)
		allocated, released = append(allocated, m.New...), append(released, m.Released...)
	}
	want = fakerm.Ask("plain", "app")
	want.NodeID = "n1"
	assert.Assert(t, proto.Equal(allocated[0], want), "%v", allocated[0])
	assert.Equal(t, released[0].AllocationKey, "full")
	assert.Equal(t, released[0].PartitionName, "[rm]default")
	remaining := r.snapshot("default").Root.Children.At(0).Applications.At(0).Allocations
	assert.Equal(t, remaining.Len(), 1)
	assert.Equal(t, remaining.At(0).Ask.Key, objects.AllocationKey("plain"))
	assert.Equal(t, len(remaining.At(0).Ask.Tags()), 0)
}

// The tags and names of asks stay valid after the message was handled.
func TestFastCodec_AsksOutliveTheirMessage(t *testing.T) {
	r := newRegisteredRig(t, testOptions{})
	r.withNodeAndApp()
	x := r.openAllocationStream()
	const n = 50
	for i := range n {
		ask := fakerm.Ask(fmt.Sprint("k", i), "app")
		ask.AllocationTags = map[string]string{"number": fmt.Sprint(i), fmt.Sprint("key", i): "value"}
		ask.ResourcePerAlloc = fakerm.Resource(1, int64(i+1000)) // more than the node has: they stay pending
		assert.NilError(t, x.Send(&si.AllocationRequest{Allocations: []*si.Allocation{ask, fakerm.Ask("", "")}}))
	}
	receive(t, x, n, (*si.AllocationResponse).GetRejectedAllocations)
	waiting := r.snapshot("default").Root.Children.At(0).Applications.At(0).Allocations
	assert.Equal(t, waiting.Len(), n)
	for w := range waiting.All() {
		var i int
		a := w.Ask
		_, err := fmt.Sscanf(string(a.Key), "k%d", &i)
		assert.NilError(t, err)
		assert.DeepEqual(t, a.Tags(), map[string]string{"number": fmt.Sprint(i), fmt.Sprint("key", i): "value"})
		assert.Equal(t, int64(a.Amounts.Get("vcore")), int64(i+1000))
	}
}

func TestFastCodec_ResponsesMatchInProcessResponses(t *testing.T) {
	s := &session{rm: "rm"}
	for _, batch := range responseBatches(3) {
		fast, err := newCodec().Marshal(s.encoder(allocationStream)(batch))
		assert.NilError(t, err)
		var decoded si.AllocationResponse
		assert.NilError(t, newCodec().Unmarshal(fast, &decoded))
		assert.Assert(t, proto.Equal(&decoded, s.message(batch)))
	}
	accepted := []outboundEffect{{"default", scheduler.NodeAccepted{Node: "n"}}}
	_, generated := s.encoder(nodeStream)(accepted).(*si.NodeResponse)
	assert.Assert(t, generated, "node messages use the generated code")
}
