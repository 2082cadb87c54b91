package rmproxy

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/server/wire"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// Both decoders read any bytes alike, a new fast decoder as well as a used one.
func FuzzDecodeAllocationRequest(f *testing.F) {
	for _, c := range unusualMessages {
		f.Add(c.in)
	}
	addSeeds(f, typicalRequest(1, 0), typicalRequest(2, 4), &si.AllocationRequest{
		RmID: "rm", Releases: &si.AllocationReleasesRequest{AllocationsToRelease: []*si.AllocationRelease{
			{PartitionName: "[rm]default", ApplicationID: "app", AllocationKey: "k", TerminationType: 2, Message: "m"},
		}},
	})
	warm := newRequest(allocationStream)
	f.Fuzz(func(t *testing.T, in []byte) {
		assertDecodedAsGenerated(t, warm, in)
		assertDecodedAsGenerated(t, newRequest(allocationStream), in)
		assertDecodedAsGenerated(t, warm, in)
	})
}

// The same for generated messages: most of them are valid, and are more deeply nested than
// mutated bytes.
func FuzzDecodeBuiltAllocationRequest(f *testing.F) {
	for seed := range uint64(50) {
		f.Add(seed)
	}
	warm := newRequest(allocationStream)
	f.Fuzz(func(t *testing.T, seed uint64) {
		r := messageBuilder{rand.New(rand.NewPCG(seed, 0))}
		for range 20 {
			for _, shape := range []fieldShapes{requestShape, legacyRequestShape} {
				in := r.message(shape)
				assertDecodedAsGenerated(t, warm, in)
				if len(in) > 0 {
					in[r.IntN(len(in))] ^= 1 << r.IntN(8)
					assertDecodedAsGenerated(t, warm, in[:r.IntN(len(in)+1)])
				}
			}
		}
	})
}

// messageBuilder makes messages from fields that are mostly valid.
type messageBuilder struct{ *rand.Rand }

// fieldShapes are the fields that a message may have: another message, a text or a number.
type fieldShapes map[protowire.Number]any

var (
	entryShape      = fieldShapes{1: "", 2: fieldShapes{1: 0}}
	releaseShape    = fieldShapes{1: "", 2: "", 4: 0, 5: "", 6: ""}
	allocationShape = fieldShapes{
		1: "", 2: fieldShapes{1: "", 2: ""}, 5: fieldShapes{1: entryShape}, 6: 0, 8: "", 9: "", 10: "", 11: "", 12: 0, 14: 0,
		15: fieldShapes{1: 0, 2: 0},
	}
	requestShape = fieldShapes{2: fieldShapes{1: releaseShape}, 3: "", 4: allocationShape}

	// The same in the interfaces 1.0 to 1.5. A priority is a message in 1.0 and a number later.
	legacyPriorityShape = fieldShapes{1: 0, 2: ""}
	legacyAskShape      = fieldShapes{
		1: "", 2: "", 3: "", 4: fieldShapes{1: entryShape}, 5: 0, 6: eitherShape{0, legacyPriorityShape}, 7: 0,
		8: fieldShapes{1: "", 2: ""},
		9: "", 10: 0, 11: 0, 12: fieldShapes{1: 0, 2: 0},
	}
	legacyAskReleaseShape = fieldShapes{1: "", 2: "", 3: "", 4: 0, 5: ""}
	legacyReleaseShape    = fieldShapes{1: "", 2: "", 3: "", 4: 0, 5: "", 6: "", 7: ""}
	legacyAllocationShape = fieldShapes{
		1: "", 2: fieldShapes{1: "", 2: ""}, 3: "", 5: fieldShapes{1: entryShape}, 6: eitherShape{0, legacyPriorityShape},
		7: "", 8: "", 9: "",
		10: "", 11: "", 12: 0, 13: "", 14: 0, 15: fieldShapes{1: 0, 2: 0},
	}
	legacyRequestShape = fieldShapes{
		1: legacyAskShape, 2: fieldShapes{1: legacyReleaseShape, 2: legacyAskReleaseShape}, 3: "", 4: legacyAllocationShape,
	}
)

// legacyNodesShape is a message about nodes in the interfaces 1.0 to 1.5.
var legacyNodesShape = fieldShapes{1: fieldShapes{
	1: "", 2: 0, 3: fieldShapes{1: "", 2: ""}, 4: fieldShapes{1: entryShape}, 5: fieldShapes{1: entryShape},
	6: legacyAllocationShape,
}, 2: ""}

// eitherShape is a field that has one of several shapes.
type eitherShape []any

func (r messageBuilder) message(s fieldShapes) []byte {
	var out []byte
	for range r.IntN(7) {
		n := protowire.Number(1 + r.IntN(16))
		what := s[n]
		if r.IntN(20) == 0 {
			what = nil
		}
		if either, ok := what.(eitherShape); ok {
			what = either[r.IntN(len(either))]
		}
		switch what := what.(type) {
		case fieldShapes:
			out = append(out, sub(n, r.message(what))...)
		case string:
			out = append(out, str(n, r.text())...)
		case int:
			out = append(out, num(n, r.number())...)
		default:
			if r.IntN(4) == 0 {
				out = append(out, r.misplacedField(n)...)
			}
		}
	}
	return out
}

func (r messageBuilder) text() string {
	texts := []string{"", "k", "m", "v", "app", "ü", "foreign", strings.Repeat("long", 70)}
	if r.IntN(200) == 0 {
		return "\xff"
	}
	return texts[r.IntN(len(texts))]
}

func (r messageBuilder) number() uint64 { return r.Uint64() >> r.IntN(64) }

// misplacedField is a field that is invalid in its place.
func (r messageBuilder) misplacedField(n protowire.Number) []byte {
	switch r.IntN(5) {
	case 0:
		return num(n, r.number())
	case 1:
		return str(n, r.text())
	case 2:
		return tagged(n, protowire.Fixed32Type, make([]byte, 4))
	case 3:
		return tagged(n, protowire.Fixed64Type, make([]byte, 8))
	}
	return group(n, num(1, 1), str(2, "x"))
}

// assertEncodedAsGenerated compares an encoding with the generated code: both refuse the effects,
// or both write the same bytes.
func assertEncodedAsGenerated(t *testing.T, s *session, m *wire.Response, batch []outboundEffect) {
	t.Helper()
	generated := s.allocationResponse(batch)
	want, generatedErr := proto.MarshalOptions{Deterministic: true}.Marshal(generated)
	s.encode(m, batch)
	got, fastErr := m.Bytes()
	assert.Equal(t, fastErr == nil, generatedErr == nil, "lean: %v, generated: %v", fastErr, generatedErr)
	if fastErr != nil {
		return
	}
	assert.Assert(t, bytes.Equal(got, want), "lean:      %x\ngenerated: %x", got, want)
	var decoded si.AllocationResponse
	assert.NilError(t, proto.Unmarshal(got, &decoded))
	assert.Assert(t, proto.Equal(&decoded, generated))
}

func FuzzEncodeAllocationResponse(f *testing.F) {
	f.Add(uint8(0), uint8(1), "k", "app", "n1", "default", "tg", int64(1<<40), int32(0), uint8(0xff))
	f.Add(uint8(1), uint8(3), "k", "app", "", "gpu", "why", int64(0), int32(4), uint8(0))
	f.Add(uint8(2), uint8(4), "k\xff", "app", "", "", strings.Repeat("ü", 100), int64(-1), int32(-1), uint8(3))
	f.Add(uint8(0), uint8(3), strings.Repeat("k", 127), "", strings.Repeat("n", 200), "", "", int64(-5), int32(0),
		uint8(4))
	f.Add(uint8(1), uint8(1), "k", "app", "", "gpu", "", int64(0), int32(-1), uint8(0))
	s, m := &session{rm: "rm"}, &wire.Response{}
	f.Fuzz(func(
		t *testing.T, list, n uint8, key, app, node, partition, text string, quantity int64, number int32, flags uint8,
	) {
		var batch []outboundEffect
		n %= 5 // more of them test nothing new
		for i := range n {
			key := objects.AllocationKey(key[:len(key)*int(i+1)/int(n)])
			var e scheduler.Effect
			switch list % 3 {
			case 0:
				names := map[string]resources.Quantity{"memory": resources.Quantity(quantity)}
				if node != "" {
					names[node] = resources.Quantity(quantity) >> (i % 64)
				}
				e = scheduler.Allocated{Binding: &scheduler.Binding{Node: objects.NodeID(node), Ask: &objects.Ask{
					Key: key, App: objects.AppID(app), Details: objects.NewAskDetails(objects.AskDetails{TaskGroup: text}),
					Amounts:     resources.FromMap(names),
					Placeholder: flags&1 > 0, Originator: flags&2 > 0, Priority: number,
					Policy: objects.PreemptionPolicy(flags >> 2 & 7),
				}}}
			case 1:
				e = scheduler.Released{
					Key: key, App: objects.AppID(app), Type: scheduler.Termination(number), Message: text,
				}
			case 2:
				e = scheduler.AskRejected{Key: key, App: objects.AppID(app), Reason: text}
			}
			batch = append(batch, outboundEffect{partition, e})
			partition += node[:min(len(node), 1)]
		}
		assertEncodedAsGenerated(t, s, m, batch)
		assertLegacyEncoded(t, m, batch)
	})
}

func TestFastCodec_LargestResponsesMatchGeneratedCode(t *testing.T) {
	s, m := &session{rm: strings.Repeat("m", maxID)}, &wire.Response{}
	for _, e := range effects() {
		if listOf(e).kind() == allocationStream {
			assertEncodedAsGenerated(t, s, m, []outboundEffect{{"default", e}, {"gpu", e}, {"", e}})
		}
	}
	assertEncodedAsGenerated(t, s, m, nil)
}

func TestFastCodec_ResponsesOfAllLengthsMatchGeneratedCode(t *testing.T) {
	s, m := &session{rm: "rm"}, &wire.Response{}
	for _, length := range []int{1 << 7, 1 << 14} { // where lengths take a byte more
		for n := length - 90; n < length+10; n++ {
			name := strings.Repeat("x", n)
			amounts := resources.FromMap(map[string]resources.Quantity{name: 1, "vcore": 1 << 62})
			assertEncodedAsGenerated(t, s, m, []outboundEffect{
				{"default",
					scheduler.Allocated{Binding: &scheduler.Binding{Ask: &objects.Ask{Key: "k",
						Details: objects.NewAskDetails(objects.AskDetails{TaskGroup: name}), Amounts: amounts}}}},
			})
			assertEncodedAsGenerated(t, s, m,
				[]outboundEffect{{"default", scheduler.AskRejected{App: objects.AppID(name), Reason: "r"}}})
		}
	}
}
