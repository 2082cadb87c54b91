package rmproxy

import (
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"
	"gotest.tools/v3/assert"
	"pgregory.net/rapid"

	"github.com/canopy-scheduler/canopy/internal/server/wire"
	"github.com/canopy-scheduler/canopy/internal/testing/fakerm"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// legacySession is the session of an RM that uses an old interface.
func legacySession(rm string) *session {
	s := &session{rm: rm}
	s.legacy.used.Store(true)
	return s
}

// decodeResponse decodes an answer with the fields of all versions of the interface.
func decodeResponse(t require, b []byte) dynamicMessage {
	m := dynamicpb.NewMessage(allWithNumber.ByName("AllocationResponse"))
	if err := proto.Unmarshal(b, m); err != nil {
		t.Fatalf("%v", err)
	}
	return dynamicMessage{m}
}

// require is a test or a property.
type require interface {
	Fatalf(format string, args ...any)
}

// assertLegacyEncoded compares the answer to an old interface with that of 1.9: it has what that has, the key as
// the UUID besides, and rejected asks in a list of their own.
func assertLegacyEncoded(t *testing.T, m *wire.Response, batch []outboundEffect) {
	t.Helper()
	s := legacySession("rm")
	for i := range batch {
		if e, ok := batch[i].effect.(scheduler.AskRejected); ok {
			e.Reported = i%2 == 1
			batch[i].effect = e
		}
	}
	for _, reports := range []bool{false, true} {
		s.legacy.reports.Store(reports)
		want := s.allocationResponse(batch)
		s.encode(m, batch)
		b, err := m.Bytes()
		_, wantErr := proto.Marshal(want)
		assert.Equal(t, err == nil, wantErr == nil, "legacy: %v, generated: %v", err, wantErr)
		if err != nil {
			return
		}
		got := decodeResponse(t, b)
		for i, x := range got.list("new") {
			key := want.New[i].AllocationKey
			assert.Equal(t, x.text("UUID"), key)
			assert.Equal(t, x.text("allocationID"), key)
		}
		for i, x := range got.list("released") {
			key := want.Released[i].AllocationKey
			assert.Equal(t, x.text("UUID"), key)
			assert.Equal(t, x.text("allocationID"), key)
		}
		var known si.AllocationResponse
		got.as(t, &known)
		var asks, reported []*si.RejectedAllocation
		for i, x := range want.RejectedAllocations {
			if batch[i].effect.(scheduler.AskRejected).Reported && reports {
				reported = append(reported, x)
			} else {
				asks = append(asks, x)
			}
		}
		rejected := got.list("rejected")
		assert.Equal(t, len(rejected), len(asks))
		for i, x := range rejected {
			var as si.RejectedAllocation // the messages are alike
			x.as(t, &as)
			assert.Assert(t, proto.Equal(&as, asks[i]))
		}
		want.RejectedAllocations = reported
		stripUnknown(&known)
		assert.Assert(t, proto.Equal(&known, want), "%v\n%v", &known, want)
	}
}

func stripUnknown(m *si.AllocationResponse) {
	m.ProtoReflect().SetUnknown(nil)
	for _, x := range m.New {
		x.ProtoReflect().SetUnknown(nil)
	}
	for _, x := range m.Released {
		x.ProtoReflect().SetUnknown(nil)
	}
}

// Whatever its key is, an allocation can be released by the UUID that its answer has, in the field of each version.
func TestLegacy_UUIDNamesItsKey(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		key := rapid.StringN(1, 40, maxID).Draw(t, "key")
		m := &wire.Response{}
		legacySession("rm").encode(m,
			[]outboundEffect{{"default",
				scheduler.Allocated{Binding: &scheduler.Binding{Ask: &objects.Ask{Key: objects.AllocationKey(key), App: "app"},
					Node: "n"}}}})
		b, err := m.Bytes()
		if err != nil {
			t.Fatal(err)
		}
		answer := decodeResponse(t, b).list("new")[0]
		for field, number := range map[protoreflect.Name]protowire.Number{"UUID": 3, "allocationID": 7} {
			in := sub(2, sub(1, str(2, "app"), str(number, answer.text(field))))
			request := newRequest(allocationStream)
			if err := request.decode(in); err != nil {
				t.Fatal(err)
			}
			x := request.allocations.Releases[0]
			if err := legacyRelease(&x); err != nil || x.Key != key || !request.allocations.Legacy {
				t.Fatalf("%s: %+v, %v", field, x, err)
			}
		}
	})
}

// referenceNodes is what a message about nodes must be read as.
func referenceNodes(t *testing.T, in []byte) ([]wire.LegacyNode, error) {
	_, message, err := decodeBoth(in, "NodeRequest")
	if err != nil {
		return nil, err
	}
	var all []wire.LegacyNode
	for _, n := range message.list("nodes") {
		var node wire.LegacyNode
		node.HasOccupied = n.has("occupiedResource")
		if node.HasOccupied {
			var occupied si.Resource
			n.message("occupiedResource").as(t, &occupied)
			node.Occupied, node.OccupiedErr = amountsFromProto(&occupied)
		}
		// Existing allocations are read as those of an AllocationRequest.
		var request []byte
		for _, x := range n.list("existingAllocations") {
			b, err := proto.Marshal(x.Interface())
			assert.NilError(t, err)
			request = append(request, sub(4, b)...)
		}
		reference, err := referenceRequest(t, request)
		assert.NilError(t, err)
		node.Existing = reference.Allocations
		all = append(all, node)
	}
	return all, nil
}

// assertNodesDecoded compares a decoding with that of the protobuf library.
func assertNodesDecoded(t *testing.T, m *request, in []byte) {
	t.Helper()
	want, wantErr := referenceNodes(t, in)
	err := m.decode(in)
	if errors.Is(wantErr, errNoReference) {
		return
	}
	assert.Equal(t, err == nil, wantErr == nil, "%x\ncodec: %v\nreference: %v", in, err, wantErr)
	if err != nil {
		return
	}
	any := false
	for _, n := range want {
		any = any || n.HasOccupied || len(n.Existing) > 0
	}
	assert.Equal(t, m.legacyNodes != nil, any, "%x", in)
	if !any {
		return
	}
	assert.Equal(t, len(m.legacyNodes), len(m.nodes.Nodes))
	for i := range m.legacyNodes {
		m.legacyNodes[i].Existing = comparable(wire.AllocationRequest{Allocations: m.legacyNodes[i].Existing}).Allocations
	}
	assert.Assert(t, reflect.DeepEqual(m.legacyNodes, want), "%x\ncodec:     %+v\nreference: %+v", in, m.legacyNodes, want)
}

// Old fields of nodes are read as the protobuf library reads them, whatever the message has.
func FuzzDecodeBuiltNodeRequest(f *testing.F) {
	for seed := range uint64(50) {
		f.Add(seed)
	}
	warm := newRequest(nodeStream)
	f.Fuzz(func(t *testing.T, seed uint64) {
		r := messageBuilder{rand.New(rand.NewPCG(seed, 0))}
		for range 20 {
			in := r.message(legacyNodesShape)
			assertNodesDecoded(t, warm, in)
			assertNodesDecoded(t, newRequest(nodeStream), in)
			if len(in) > 0 {
				in[r.IntN(len(in))] ^= 1 << r.IntN(8)
				assertNodesDecoded(t, warm, in[:r.IntN(len(in)+1)])
			}
		}
	})
}

// A node is schedulable exactly while it is ready and not draining, in whatever order the messages come.
func TestLegacy_NodeIsSchedulableWhileReadyAndNotDraining(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var r nodeReadiness
		var draining, unready bool
		schedulable := true
		for _, step := range rapid.SliceOf(rapid.IntRange(0, 9)).Draw(t, "steps") {
			n := &si.NodeInfo{NodeID: "n", Attributes: map[string]string{}}
			n.Action = []si.NodeInfo_ActionFromRM{
				si.NodeInfo_CREATE, si.NodeInfo_CREATE_DRAIN, si.NodeInfo_UPDATE, si.NodeInfo_DRAIN_NODE,
				si.NodeInfo_DRAIN_TO_SCHEDULABLE,
			}[step%5]
			if step >= 5 {
				n.Attributes[readyAttribute] = "false"
			}
			switch n.Action { // what the action does to the node by itself
			case si.NodeInfo_CREATE, si.NodeInfo_CREATE_DRAIN:
				draining, unready = n.Action == si.NodeInfo_CREATE_DRAIN, step >= 5
				schedulable = !draining
			case si.NodeInfo_UPDATE:
				unready = step >= 5
			case si.NodeInfo_DRAIN_NODE:
				draining, schedulable = true, false
			case si.NodeInfo_DRAIN_TO_SCHEDULABLE:
				draining, schedulable = false, true
			}
			if now, changed := r.update(n); changed {
				schedulable = now
			}
			if schedulable != (!draining && !unready) {
				t.Fatalf("schedulable is %v: draining %v, unready %v", schedulable, draining, unready)
			}
			if kept := len(r.nodes) > 0; kept != (draining || unready) {
				t.Fatalf("kept is %v: draining %v, unready %v", kept, draining, unready)
			}
		}
		r.update(&si.NodeInfo{NodeID: "n", Action: si.NodeInfo_DECOMISSION})
		if len(r.nodes) > 0 {
			t.Fatalf("a removed node is kept")
		}
	})
}

// The update of a node by a shim of an old interface leaves the attributes, also before a field has told the interface:
// it has no attribute but whether the node is ready.
func TestLegacy_UpdateOfANodeLeavesItsAttributes(t *testing.T) {
	r := newRegisteredRig(t, testOptions{})
	n := r.openNodeStream()
	node := fakerm.Node("n1")
	node.Attributes = map[string]string{"zone": "a", readyAttribute: "true"}
	assert.NilError(t, n.Send(&si.NodeRequest{Nodes: []*si.NodeInfo{node}}))
	receive(t, n, 1, (*si.NodeResponse).GetAccepted)
	update := func(attributes map[string]string) map[string]string {
		t.Helper()
		m := &si.NodeInfo{NodeID: "n1", Action: si.NodeInfo_UPDATE, SchedulableResource: fakerm.Resource(50, 50),
			Attributes: attributes}
		assert.NilError(t, n.Send(&si.NodeRequest{Nodes: []*si.NodeInfo{m}}))
		roundTrip(t, n)
		for x := range r.snapshot("default").Nodes.All() {
			return x.Attributes
		}
		return nil
	}
	want := map[string]string{"zone": "a", readyAttribute: "true", "si/node-partition": "[rm]default"}
	assert.DeepEqual(t, update(nil), want)
	assert.DeepEqual(t, update(map[string]string{readyAttribute: "false"}), want)
	assert.DeepEqual(t, update(map[string]string{readyAttribute: "false", "si/node-partition": "default"}), want)
	r.p.current().legacy.used.Store(true)
	assert.DeepEqual(t, update(map[string]string{readyAttribute: "false", "si/hostname": "h"}), want)
	r.p.current().legacy.used.Store(false)
	assert.DeepEqual(t, update(map[string]string{"zone": "b"}),
		map[string]string{"zone": "b", "si/node-partition": "[rm]default"})
}

// Asks, releases and allocations of nodes of an old interface count as elements, and their cost is bounded.
func TestLimits_LegacyElementsAreCountedBeforeDecoding(t *testing.T) {
	for name, b := range map[string]decodeBomb{
		"asks":             {"", allocationStream, append(str(3, "rm"), repeatField(1, 40_000)...)},
		"releases of asks": {"", allocationStream, append(str(3, "rm"), sub(2, repeatField(2, 40_000))...)},
		"allocations":      {"", nodeStream, append(str(2, "rm"), sub(1, repeatField(6, 40_000))...)},
	} {
		t.Run(name, func(t *testing.T) {
			p := newTestProxy(testOptions{Limits: Limits{MessageElements: 30_000}})
			defer p.stop()
			_, err := p.decodeCost(b.bytes, requestShapes[b.kind])
			assert.ErrorIs(t, err, ErrTooLarge)
			assert.ErrorContains(t, err, "at most 30000 are allowed")
			p.opt.Limits.MessageElements, p.opt.Limits.DecodeBytes = math.MaxInt, 10<<20
			_, err = p.decodeCost(b.bytes, requestShapes[b.kind])
			assert.ErrorContains(t, err, "bytes of memory, at most 10485760 are allowed")
		})
	}
}

func repeatField(n protowire.Number, times int) []byte {
	return []byte(strings.Repeat(string(sub(n)), times))
}

// A message of an old interface that is malformed ends its stream.
func TestLegacy_MalformedFieldsEndTheStream(t *testing.T) {
	for _, in := range [][]byte{sub(1, str(1, "\xff")), sub(1, []byte{0x0a, 5}), sub(2, sub(2, str(3, "\xff"))),
		askOf(str(13, "\xff"))} {
		r := newRegisteredRig(t, testOptions{})
		stream := r.openAllocationStream()
		m := &si.AllocationRequest{}
		m.ProtoReflect().SetUnknown(in)
		assert.NilError(t, stream.Send(m))
		assertStreamFails(t, stream, codes.InvalidArgument, "malformed message")
	}
	r := newRegisteredRig(t, testOptions{})
	stream := r.openNodeStream()
	n := &si.NodeInfo{NodeID: "n"}
	n.ProtoReflect().SetUnknown(sub(6, str(1, "\xff")))
	assert.NilError(t, stream.Send(&si.NodeRequest{Nodes: []*si.NodeInfo{n}}))
	assertStreamFails(t, stream, codes.InvalidArgument, "malformed message")
}
