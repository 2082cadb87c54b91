package rmproxy

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"
	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/server/wire"
)

// measuredMessages are the messages that are measured before they are decoded, in the interface 1.9 and with the
// fields of all versions.
func measuredMessages() map[string]proto.Message {
	return map[string]proto.Message{
		"nodes": &si.NodeRequest{}, "applications": &si.ApplicationRequest{}, "allocations": &si.AllocationRequest{},
		"registration": &si.RegisterResourceManagerRequest{},
		"all nodes":    ofAllVersions("NodeRequest"), "all allocations": ofAllVersions("AllocationRequest"),
	}
}

// unmarshalAny decodes a message; see errNoReference.
func unmarshalAny(in []byte, m proto.Message) (err error) {
	defer func() {
		if recover() != nil {
			err = errNoReference
		}
	}()
	return proto.Unmarshal(in, m)
}

func ofAllVersions(name protoreflect.Name) proto.Message {
	return dynamicpb.NewMessage(allWithMessage.ByName(name))
}

// elementsIn counts the messages in the lists of a decoded message.
func elementsIn(m protoreflect.Message) (n int) {
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case f.Kind() != protoreflect.MessageKind || f.IsMap():
		case f.IsList():
			n += v.List().Len()
			for i := range v.List().Len() {
				n += elementsIn(v.List().Get(i).Message())
			}
		default:
			n += elementsIn(v.Message())
		}
		return true
	})
	return n
}

// assertMeasured compares what Measure and RM find without decoding with the decoded message.
func assertMeasured(t *testing.T, m proto.Message, in []byte) {
	t.Helper()
	shape := shapeOf(m)
	if _, ofAllVersions := m.(*dynamicpb.Message); ofAllVersions {
		k := map[protoreflect.Name]streamKind{"NodeRequest": nodeStream, "AllocationRequest": allocationStream}
		described := shape
		shape = requestShapes[k[m.ProtoReflect().Descriptor().Name()]]
		assertCostsAtLeast(t, shape, described, in)
	}
	size, err := shape.Measure(in, noYield)
	rm, rmErr := shape.RM(in, noYield)
	if unmarshalAny(in, m) != nil {
		return // decoding refuses more: invalid UTF-8, deep nesting
	}
	assert.NilError(t, err, "%T %x", m, in)
	assert.NilError(t, rmErr, "%T %x", m, in)
	assert.Equal(t, size.Elements, elementsIn(m.ProtoReflect()), "%T %x", m, in)
	fields := m.ProtoReflect()
	assert.Equal(t, string(rm), fields.Get(fields.Descriptor().Fields().ByName("rmID")).String(), "%T %x", m, in)
	empty, err := shape.Measure(nil, noYield)
	assert.NilError(t, err)
	assert.Assert(t, size.Cost-empty.Cost <= wire.WorstCost*len(in), "%T %x costs %d", m, in, size.Cost)
}

// assertCostsAtLeast compares a shape with that of a description of the same message.
func assertCostsAtLeast(t *testing.T, shape, described *wire.Shape, in []byte) {
	t.Helper()
	got, err := shape.Measure(in, noYield)
	want, wantErr := described.Measure(in, noYield)
	assert.Equal(t, err == nil, wantErr == nil, "%x: %v, described: %v", in, err, wantErr)
	assert.Equal(t, got.Elements, want.Elements, "%x", in)
	assert.Assert(t, got.Cost >= want.Cost, "%x costs %d, described: %d", in, got.Cost, want.Cost)
}

// Any bytes can be measured, and the result agrees with decoding.
func FuzzMeasure(f *testing.F) {
	for _, c := range unusualMessages {
		f.Add(c.in)
	}
	for _, b := range decodeBombs(50) {
		f.Add(b.bytes)
	}
	f.Add([]byte(strings.Repeat("\x0b", 20_000))) // nested groups
	f.Fuzz(func(t *testing.T, in []byte) {
		for _, m := range measuredMessages() {
			assertMeasured(t, m, in)
		}
	})
}

// The same for messages that are mostly valid.
func FuzzMeasureBuilt(f *testing.F) {
	for seed := range uint64(50) {
		f.Add(seed)
	}
	nodes := fieldShapes{1: fieldShapes{1: "", 2: 0, 3: fieldShapes{1: "", 2: ""}, 4: fieldShapes{1: entryShape}}, 2: ""}
	apps := fieldShapes{
		1: fieldShapes{1: "", 2: "", 3: "", 4: fieldShapes{1: "", 2: ""}, 5: fieldShapes{1: "", 2: ""}, 6: 0,
			7: fieldShapes{1: entryShape}, 8: ""},
		2: fieldShapes{1: "", 2: ""}, 3: "",
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		r := messageBuilder{rand.New(rand.NewPCG(seed, 0))}
		for range 20 {
			assertMeasured(t, &si.AllocationRequest{}, r.message(requestShape))
			assertMeasured(t, &si.NodeRequest{}, r.message(nodes))
			assertMeasured(t, &si.ApplicationRequest{}, r.message(apps))
			assertMeasured(t, ofAllVersions("AllocationRequest"), r.message(legacyRequestShape))
			assertMeasured(t, ofAllVersions("NodeRequest"), r.message(legacyNodesShape))
		}
	})
}

// decodeBomb is a message that is short on the wire and large when it is decoded.
type decodeBomb struct {
	name  string
	kind  streamKind
	bytes []byte
}

// decodeBombs are messages of n entries each, of every kind of entry that a message can have.
func decodeBombs(n int) []decodeBomb {
	repeated := func(field protowire.Number, each ...[]byte) []byte { return bytes.Repeat(sub(field, each...), n) }
	distinct := func(field protowire.Number, value []byte) (out []byte) {
		for i := range n {
			out = append(out, sub(field, str(1, fmt.Sprintf("%06d", i)), value)...)
		}
		return out
	}
	return []decodeBomb{
		{"empty nodes", nodeStream, repeated(1)},
		{"nodes with an attribute each", nodeStream, repeated(1, sub(3))},
		{"a node with many attributes", nodeStream, sub(1, distinct(3, str(2, "v")))},
		{"a node with one attribute many times", nodeStream, sub(1, repeated(3))},
		{"a node with many resources", nodeStream, sub(1, sub(4, distinct(1, sub(2, num(1, 1)))))},
		{"nodes with a resource each", nodeStream, repeated(1, sub(4, sub(1)))},
		{"empty applications", applicationStream, repeated(1)},
		{"removals", applicationStream, repeated(2)},
		{"groups of a user", applicationStream, sub(1, sub(4, bytes.Repeat(str(2, ""), n)))},
		{"tags of an application", applicationStream, sub(1, distinct(5, nil))},
		{"empty allocations", allocationStream, repeated(4)},
		{"allocations with a tag each", allocationStream, repeated(4, sub(2))},
		{"allocations with a resource each", allocationStream, repeated(4, sub(5, sub(1)))},
		{"an allocation with many tags", allocationStream, sub(4, distinct(2, str(2, "v")))},
		{"an allocation with one tag many times", allocationStream, sub(4, repeated(2))},
		{"an allocation with many resources", allocationStream, sub(4, sub(5, distinct(1, sub(2, num(1, 1)))))},
		{"releases", allocationStream, sub(2, repeated(1))},
		{"unknown fields", allocationStream, repeated(9)},
		{"empty asks of an old interface", allocationStream, repeated(1)},
		{"asks of an old interface with a tag each", allocationStream, repeated(1, sub(8))},
		{"asks of an old interface with a resource each", allocationStream, repeated(1, sub(4, sub(1)))},
		{"asks of an old interface with a priority each", allocationStream, repeated(1, sub(6, str(2, "")))},
		{"an ask of an old interface with many tags", allocationStream, sub(1, distinct(8, str(2, "v")))},
		{"releases of asks", allocationStream, sub(2, repeated(2))},
		{"releases by UUID", allocationStream, sub(2, repeated(1, str(7, "u")))},
		{"allocations with a UUID each", allocationStream, repeated(4, str(3, "u"))},
		{"allocations with a priority of 1.0 each", allocationStream, repeated(4, sub(6))},
		{"nodes with an occupied resource each", nodeStream, repeated(1, sub(5))},
		{"a node with occupied resources in many parts", nodeStream, sub(1, repeated(5))},
		{"nodes with an existing allocation each", nodeStream, repeated(1, sub(6))},
		{"a node with many existing allocations", nodeStream, sub(1, repeated(6))},
	}
}

// The cost of a message is at least what decoding and handling it allocates, garbage included.
func TestMeasure_CostCoversWhatDecodingAllocates(t *testing.T) {
	for _, b := range decodeBombs(20_000) {
		t.Run(b.name, func(t *testing.T) {
			p := newTestProxy(testOptions{})
			defer p.stop()
			assert.NilError(t, p.registerRemote(&si.RegisterResourceManagerRequest{RmID: "rm", Config: queues},
				func() *session { return newSession(p, "rm") }))
			in := &messageReader{p: p, ctx: t.Context()}
			m := newRequest(b.kind)
			m.wireDecoder() // one for all messages of a stream
			size, err := requestShapes[b.kind].Measure(b.bytes, noYield)
			assert.NilError(t, err)
			allocated := bytesAllocated(func() {
				_, err := in.acquireDecoding(b.bytes, requestShapes[b.kind])
				assert.NilError(t, err)
				assert.NilError(t, m.decode(b.bytes))
			})
			assert.Assert(t, allocated <= uint64(size.Cost), "decoding %d bytes allocates %d, said to cost %d",
				len(b.bytes), allocated, size.Cost)
		})
	}
}

// bytesAllocated is how many bytes f allocates.
func bytesAllocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

func noYield() {}

// Both walks over a message of a million fields yield regularly.
func TestMeasure_LongMessagesAreReadWithPauses(t *testing.T) {
	b := bytes.Repeat([]byte{4<<3 | 2, 0}, 1<<20) // empty allocations
	shape := requestShapes[allocationStream]
	pauses := 0
	yield := func() { pauses++ }
	_, err := shape.RM(b, yield)
	assert.NilError(t, err)
	assert.Assert(t, pauses >= 100, "%d", pauses)
	pauses = 0
	size, err := shape.Measure(b, yield)
	assert.NilError(t, err)
	assert.Equal(t, size.Elements, 1<<20)
	assert.Assert(t, pauses >= 100, "%d", pauses)
}

// Only long messages need a CPU slot.
func TestMeasure_LongMessagesAreReadInSlots(t *testing.T) {
	assert.Assert(t, acquireCPUSlot(make([]byte, smallMessage)) == nil)
	slot := acquireCPUSlot(make([]byte, smallMessage+1))
	assert.Assert(t, slot != nil)
	slot.Release()
}
