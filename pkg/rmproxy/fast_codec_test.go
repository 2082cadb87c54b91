package rmproxy

import (
	"bytes"
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/server/wire"
	"github.com/canopy-scheduler/canopy/internal/testing/fakerm"
)

// assertDecodedAsGenerated compares a decoding with that of the protobuf library, which knows the messages of all
// versions of the interface, and without legacy fields also with the generated code: both refuse the bytes, or both
// read the same. ok: they were read.
func assertDecodedAsGenerated(t *testing.T, m *request, in []byte) (ok bool) {
	t.Helper()
	want, wantErr := referenceRequest(t, in)
	read := bytes.Clone(in)
	fastErr := m.decode(read)
	for i := range read {
		read[i] = 0xff // gRPC uses the buffer again
	}
	var generated si.AllocationRequest
	generatedErr := proto.Unmarshal(in, &generated)
	assert.Assert(t, generatedErr == nil || fastErr != nil, "%x\ngenerated: %v", in, generatedErr)
	hasReference := !errors.Is(wantErr, errNoReference)
	if hasReference {
		assert.Equal(t, fastErr == nil, wantErr == nil, "%x\nlean: %v\nreference: %v", in, fastErr, wantErr)
	}
	if fastErr != nil {
		return false
	}
	got := comparable(m.allocations)
	if hasReference {
		assert.Assert(t, reflect.DeepEqual(&got, want), "%x\nlean:      %+v\nreference: %+v", in, &got, want)
	}
	if got.Legacy {
		return true
	}
	want = (&session{}).fromProto(&generated)
	want.Unknown = len(generated.ProtoReflect().GetUnknown())+len(generated.GetReleases().ProtoReflect().GetUnknown()) > 0
	for i := range want.Allocations {
		if x := &want.Allocations[i]; len(x.Tags) == 0 {
			x.Tags = nil // the generated code makes an empty map for tags of a wrong type
		}
	}
	assert.Assert(t, reflect.DeepEqual(&got, want), "%x\nlean:      %+v\ngenerated: %+v", in, &got, want)
	return true
}

func tagged(num protowire.Number, typ protowire.Type, value []byte) []byte {
	return append(protowire.AppendTag(nil, num, typ), value...)
}

// sub is a field with nested fields, or with the bytes of a text.
func sub(num protowire.Number, fields ...[]byte) []byte {
	return tagged(num, protowire.BytesType, protowire.AppendBytes(nil, bytes.Join(fields, nil)))
}

func str(num protowire.Number, text string) []byte { return sub(num, []byte(text)) }

func num(n protowire.Number, value uint64) []byte {
	return tagged(n, protowire.VarintType, protowire.AppendVarint(nil, value))
}

func group(n protowire.Number, fields ...[]byte) []byte {
	in := append(bytes.Join(fields, nil), tagged(n, protowire.EndGroupType, nil)...)
	return tagged(n, protowire.StartGroupType, in)
}

// askOf and quantityOf are an allocation and an entry of its resource.
func askOf(fields ...[]byte) []byte { return sub(4, fields...) }

func quantityOf(name string, n uint64) []byte { return sub(1, str(1, name), sub(2, num(1, n))) }

// unusualMessages are messages that no client sends on purpose.
var unusualMessages = []struct {
	name    string
	in      []byte
	refused bool
}{
	{name: "empty message"},
	{name: "an empty allocation", in: askOf()},
	{name: "an empty release, and an empty list of releases", in: bytes.Join([][]byte{sub(2), sub(2, sub(1))}, nil)},
	{name: "fields in any order", in: askOf(num(6, 7), str(9, "app"), sub(5, quantityOf("m", 1)), str(1, "k"))},
	{name: "the last of many scalars counts", in: askOf(
		str(1, "a"), str(1, "b"), num(6, 1), num(6, 2), num(12, 1), num(12, 0), str(8, "n"), str(8, ""))},
	{name: "two RM IDs", in: bytes.Join([][]byte{str(3, "rm"), str(3, "mr")}, nil)},
	{name: "resources in pieces are merged", in: askOf(
		sub(5, quantityOf("m", 1), quantityOf("v", 1)), str(1, "k"), sub(5, quantityOf("m", 2)), sub(5))},
	{name: "the last entry of a name counts", in: askOf(sub(5, quantityOf("m", 1), quantityOf("m", 2)))},
	{name: "a quantity in pieces is merged", in: askOf(
		sub(5, sub(1, sub(2, num(1, 5)), str(1, "m"), sub(2))), sub(5, sub(1, sub(2, num(1, 5), num(1, 6)))))},
	{name: "a zero quantity replaces another one", in: askOf(
		sub(5, quantityOf("m", 1), sub(1, str(1, "m"))))},
	{name: "a resource without a name", in: askOf(sub(5, sub(1, sub(2, num(1, 1)))))},
	{name: "an empty entry", in: askOf(sub(5, sub(1)), sub(2))},
	{name: "a preemption policy in pieces is merged", in: askOf(sub(15, num(1, 1)), sub(15, num(2, 1)), sub(15))},
	{name: "releases in pieces are merged", in: bytes.Join([][]byte{
		sub(2, sub(1, str(6, "a"))), askOf(str(1, "k")), sub(2, sub(1, str(6, "b"), num(4, 3)))}, nil)},
	{name: "tags without key or value, and twice the same", in: askOf(
		sub(2, str(2, "v")), sub(2, str(1, "k")), sub(2, str(1, "k"), str(2, "w")), sub(2, str(1, "a"), str(1, "b")))},
	{name: "numbers that are too large are cut off", in: askOf(num(6, 1<<40|5), num(6, math.MaxUint64-6))},
	{name: "a priority below zero in five bytes", in: askOf(num(6, math.MaxUint32))},
	{name: "every number but zero is true", in: askOf(num(12, 2), num(14, 1<<63), sub(15, num(1, 256)))},
	{name: "an unknown termination type", in: sub(2, sub(1, num(4, 99)), sub(1, num(4, math.MaxUint64)))},
	{name: "a number in more bytes than it needs", in: askOf([]byte{6 << 3, 0x81, 0x80, 0x80, 0x00})},
	{name: "a length in more bytes than it needs", in: []byte{4<<3 | 2, 0x80, 0x80, 0x00}},
	{name: "a tag in more bytes than it needs", in: []byte{4<<3 | 2 | 0x80, 0x80, 0x00, 0x00}},
	{name: "a number of eleven bytes", in: askOf(append([]byte{6 << 3}, bytes.Repeat([]byte{0x80}, 10)...)),
		refused: true},
	{name: "a number of more than 64 bits", in: askOf([]byte{
		6 << 3, 255, 255, 255, 255, 255, 255, 255, 255, 255, 2}), refused: true},
	{name: "known numbers with other types are unknown", in: bytes.Join([][]byte{
		num(3, 1), num(4, 1), askOf(num(1, 1), sub(6, num(9, 1)), num(15, 1), num(5, 1), str(12, "\x01")),
		sub(2, num(1, 1), sub(1, str(4, "x"), num(6, 1)))}, nil)},
	{name: "tags of a wrong type are none", in: askOf(tagged(2, protowire.Fixed32Type, make([]byte, 4)), num(2, 1))},
	{name: "fixed numbers are no varints", in: askOf(
		tagged(6, protowire.Fixed32Type, make([]byte, 4)), tagged(12, protowire.Fixed64Type, make([]byte, 8)))},
	{name: "unknown fields in every message", in: bytes.Join([][]byte{
		askOf(num(99, 1), str(3, "uuid"), sub(5, num(9, 1), sub(1, num(3, 1), sub(2, num(2, 1)))), sub(15, num(3, 1)),
			sub(2, num(7, 1))), sub(2, sub(1, str(3, "uuid"), str(7, "id")))}, nil)},
	{name: "asks of an old interface", in: sub(1, str(1, "ask"))},
	{name: "releases of asks of an old interface", in: sub(2, sub(2, str(1, "ask")))},
	{name: "an ask of an old interface with all fields",
		in: sub(1, str(1, "k"), str(2, "app"), str(3, "default"), sub(4, quantityOf("cpu", 1)),
			num(5, 1), num(6, 7), num(7, 1000), sub(8, str(1, "t"), str(2, "v")), str(9, "tg"), num(10, 1), num(11, 1),
			sub(12, num(1, 1), num(2, 1)))},
	{name: "the class and the number of a priority of 1.0", in: bytes.Join([][]byte{
		sub(1, str(1, "a"), sub(6, num(1, 3), str(2, "high"))),
		sub(1, str(1, "b"), sub(6, str(2, "high"), num(1, 3)), num(6, 9)),
		sub(1, num(6, 9), sub(6)), askOf(sub(6, str(2, "high"))), askOf(sub(6, num(1, 0))),
		askOf(num(6, 9), sub(6, num(1, 2)))}, nil)},
	{name: "a priority of 1.0 that is cut", in: sub(1, sub(6, []byte{0x12, 5})), refused: true},
	{name: "a class that is not UTF-8", in: askOf(sub(6, str(2, "\xff"))), refused: true},
	{name: "the last UUID counts", in: bytes.Join([][]byte{askOf(str(3, "a"), str(3, "b")), askOf(str(3, "a"), str(3, "")),
		askOf(str(13, "a"), str(13, "")), askOf(str(3, ""), str(13, "")),
		sub(2, sub(1, str(3, "a"), str(3, ""), str(7, "b"), str(7, "")))}, nil)},
	{name: "a UUID that is not UTF-8", in: sub(2, sub(1, str(3, "\xff"))), refused: true},
	{name: "an allocationID that is not UTF-8", in: sub(2, sub(1, str(7, "\xff"))), refused: true},
	{name: "a queue name that is not UTF-8", in: askOf(str(7, "\xff")), refused: true},
	{name: "resources of an ask in parts",
		in: sub(1, sub(4, quantityOf("cpu", 1)), str(1, "k"), sub(4, quantityOf("cpu", 2), quantityOf("gpu", 1)))},
	{name: "the largest number of a field", in: num(protowire.MaxValidNumber, 1)},
	{name: "a number beyond it", in: num(protowire.MaxValidNumber+1, 1), refused: true},
	{name: "field number zero", in: []byte{0, 0}, refused: true},
	{name: "field number zero in an allocation", in: askOf([]byte{2, 0}), refused: true},
	{name: "groups are skipped",
		in: bytes.Join([][]byte{group(4, str(1, "k")), askOf(group(5, group(1, num(1, 1))))}, nil)},
	{name: "a group that does not end", in: tagged(4, protowire.StartGroupType, nil), refused: true},
	{name: "a group that ends as another", in: []byte{4<<3 | 3, 5<<3 | 4}, refused: true},
	{name: "an end of a group without a start", in: askOf(tagged(1, protowire.EndGroupType, nil)), refused: true},
	{name: "an unknown wire type", in: []byte{4<<3 | 6}, refused: true},
	{name: "an unknown wire type of a known field", in: askOf([]byte{1<<3 | 7}), refused: true},
	{name: "a length beyond the end", in: []byte{4<<3 | 2, 5, 1}, refused: true},
	{name: "a length above the maximum",
		in:      askOf(append([]byte{1<<3 | 2}, protowire.AppendVarint(nil, math.MaxUint64)...)),
		refused: true},
	{name: "an inner length beyond the outer end", in: append(askOf([]byte{1<<3 | 2, 3, 'k'}), "ey"...), refused: true},
	{name: "a name that is not UTF-8", in: askOf(str(9, "\xff")), refused: true},
	{name: "a long name that is not UTF-8", in: askOf(str(9, strings.Repeat("\xff", 300))), refused: true},
	{name: "a key that is not UTF-8", in: askOf(str(1, "\xc0\x80")), refused: true},
	{name: "an overwritten key that is not UTF-8", in: askOf(str(1, "\xff"), str(1, "k")), refused: true},
	{name: "a tag that is not UTF-8", in: askOf(sub(2, str(1, "\xed\xa0\x80"))), refused: true},
	{name: "a value of a tag that is not UTF-8", in: askOf(sub(2, str(2, "\xff"), str(2, "v"))), refused: true},
	{name: "a resource that is not UTF-8", in: askOf(sub(5, quantityOf("\xff", 1))), refused: true},
	{name: "an unused field that is not UTF-8", in: sub(2, sub(1, str(5, "\xff"))), refused: true},
	{name: "an unknown text need not be UTF-8", in: askOf(str(4, "\xff"))},
	{name: "an invalid piece of a resource before a valid one", in: askOf(
		sub(5, []byte{1<<3 | 2, 9}), sub(5, quantityOf("m", 1))), refused: true},
	{name: "an invalid piece of a resource after a valid one", in: askOf(
		sub(5, quantityOf("m", 1)), sub(5, []byte{1<<3 | 2, 9})), refused: true},
	{name: "an invalid quantity", in: askOf(sub(5, sub(1, sub(2, []byte{1 << 3, 0x80})))), refused: true},
	{name: "an invalid policy", in: askOf(sub(15, []byte{1 << 3})), refused: true},
}

func TestFastCodec_UnusualMessagesMatchGeneratedCode(t *testing.T) {
	warm := newRequest(allocationStream)
	for _, c := range unusualMessages {
		assert.Equal(t, !assertDecodedAsGenerated(t, newRequest(allocationStream), c.in), c.refused, c.name)
		for range 2 { // the second time all names are known
			assert.Equal(t, !assertDecodedAsGenerated(t, warm, c.in), c.refused, c.name)
		}
	}
}

func TestFastCodec_TruncatedMessagesMatchGeneratedCode(t *testing.T) {
	whole, err := proto.Marshal(typicalRequest(3, 4))
	assert.NilError(t, err)
	m, refused := newRequest(allocationStream), 0
	for n := range whole {
		if !assertDecodedAsGenerated(t, m, whole[:n]) {
			refused++
		}
	}
	assert.Assert(t, refused > len(whole)*9/10)
	assert.Assert(t, assertDecodedAsGenerated(t, m, whole))
}

func TestFastCodec_TooManyResourceNamesAreAnError(t *testing.T) {
	x := bigAsk("k")
	for _, name := range strings.Fields(strings.Repeat("x ", 300)) {
		x.ResourcePerAlloc.Resources[strings.Repeat(name, len(x.ResourcePerAlloc.Resources))] = &si.Quantity{Value: 1}
	}
	in, err := proto.Marshal(&si.AllocationRequest{Allocations: []*si.Allocation{x, fakerm.Ask("k2", "app")}})
	assert.NilError(t, err)
	m := newRequest(allocationStream)
	for range 2 {
		assert.Assert(t, assertDecodedAsGenerated(t, m, in))
		assert.ErrorContains(t, m.allocations.Allocations[0].AmountsErr, "more than 256")
		assert.NilError(t, m.allocations.Allocations[1].AmountsErr)
	}
}

func TestFastCodec_RepeatedNamesAreInterned(t *testing.T) {
	in, err := proto.Marshal(typicalRequest(200, 4))
	assert.NilError(t, err)
	m := newRequest(allocationStream)
	assert.NilError(t, m.decode(in))
	first := m.allocations.Allocations[0]
	assert.NilError(t, m.decode(in))
	again := m.allocations.Allocations[0]
	assert.Assert(t, sameText(first.App, again.App), "from message to message")
	assert.Assert(t, sameText(again.App, m.allocations.Allocations[10].App), "and within one")
	assert.Assert(t, !sameText(first.Key, again.Key), "a key belongs to its allocation")
}

func TestFastCodec_ResetReleasesContent(t *testing.T) {
	in, err := proto.Marshal(typicalRequest(10, 4))
	assert.NilError(t, err)
	m := newRequest(allocationStream)
	assert.NilError(t, m.decode(in))
	kept := m.allocations.Allocations[:1]
	m.reset()
	assert.Equal(t, len(m.allocations.Allocations)+len(m.allocations.Releases), 0)
	assert.Assert(t, reflect.DeepEqual(kept[0], wire.Allocation{}))
}
