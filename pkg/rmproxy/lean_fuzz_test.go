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

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// Any bytes mean the same to both decoders, to one that has just begun as to one that
// has read much before.
func FuzzDecodeAllocationRequest(f *testing.F) {
	for _, c := range oddities {
		f.Add(c.in)
	}
	seeds(f, realRequest(1, 0), realRequest(2, 4), &si.AllocationRequest{
		RmID: "rm", Releases: &si.AllocationReleasesRequest{AllocationsToRelease: []*si.AllocationRelease{
			{PartitionName: "[rm]default", ApplicationID: "app", AllocationKey: "k", TerminationType: 2, Message: "m"},
		}},
	})
	warm := newLeanRequest()
	f.Fuzz(func(t *testing.T, in []byte) {
		meansTheSame(t, warm, in)
		meansTheSame(t, newLeanRequest(), in)
		meansTheSame(t, warm, in)
	})
}

// The same for messages that are built rather than found: most of them are understood,
// and go deeper than what mutation makes of bytes.
func FuzzDecodeBuiltAllocationRequest(f *testing.F) {
	for seed := range uint64(50) {
		f.Add(seed)
	}
	warm := newLeanRequest()
	f.Fuzz(func(t *testing.T, seed uint64) {
		r := builder{rand.New(rand.NewPCG(seed, 0))}
		for range 20 {
			in := r.message(request4)
			meansTheSame(t, warm, in)
			if len(in) > 0 {
				in[r.IntN(len(in))] ^= 1 << r.IntN(8)
				meansTheSame(t, warm, in[:r.IntN(len(in)+1)])
			}
		}
	})
}

// builder makes messages out of fields that are mostly where and what they should be.
type builder struct{ *rand.Rand }

// shape is what a field of a message may be: a shape of its own, a text or a number.
type shape map[protowire.Number]any

var (
	entry4   = shape{1: "", 2: shape{1: 0}}
	release4 = shape{1: "", 2: "", 4: 0, 5: "", 6: ""}
	ask4     = shape{
		1: "", 2: shape{1: "", 2: ""}, 5: shape{1: entry4}, 6: 0, 8: "", 9: "", 10: "", 11: "", 12: 0, 14: 0,
		15: shape{1: 0, 2: 0},
	}
	request4 = shape{2: shape{1: release4}, 3: "", 4: ask4}
)

func (r builder) message(s shape) []byte {
	var out []byte
	for range r.IntN(7) {
		n := protowire.Number(1 + r.IntN(16))
		what := s[n]
		if r.IntN(20) == 0 {
			what = nil
		}
		switch what := what.(type) {
		case shape:
			out = append(out, sub(n, r.message(what))...)
		case string:
			out = append(out, str(n, r.text())...)
		case int:
			out = append(out, num(n, r.number())...)
		default:
			if r.IntN(4) == 0 {
				out = append(out, r.stray(n)...)
			}
		}
	}
	return out
}

func (r builder) text() string {
	texts := []string{"", "k", "m", "v", "app", "ü", "foreign", strings.Repeat("long", 70)}
	if r.IntN(200) == 0 {
		return "\xff"
	}
	return texts[r.IntN(len(texts))]
}

func (r builder) number() uint64 { return r.Uint64() >> r.IntN(64) }

// stray is a field that does not belong where it is.
func (r builder) stray(n protowire.Number) []byte {
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

// saysTheSame holds an encoding against the generated code: both refuse the effects,
// or both write the same bytes.
func saysTheSame(t *testing.T, s *session, m *leanResponse, batch []saying) {
	t.Helper()
	theirs := s.allocationResponse(batch)
	want, theirErr := proto.MarshalOptions{Deterministic: true}.Marshal(theirs)
	m.say(s, batch)
	got, ourErr := proto.Marshal(m)
	assert.Equal(t, ourErr == nil, theirErr == nil, "lean: %v, generated: %v", ourErr, theirErr)
	if ourErr != nil {
		return
	}
	assert.Assert(t, bytes.Equal(got, want), "lean:      %x\ngenerated: %x", got, want)
	assert.Equal(t, proto.Size(m), len(got))
	var heard si.AllocationResponse
	assert.NilError(t, proto.Unmarshal(got, &heard))
	assert.Assert(t, proto.Equal(&heard, theirs))
}

func FuzzEncodeAllocationResponse(f *testing.F) {
	f.Add(uint8(0), uint8(1), "k", "app", "n1", "default", "tg", int64(1<<40), int32(0), uint8(0xff))
	f.Add(uint8(1), uint8(3), "k", "app", "", "gpu", "why", int64(0), int32(4), uint8(0))
	f.Add(uint8(2), uint8(4), "k\xff", "app", "", "", strings.Repeat("ü", 100), int64(-1), int32(-1), uint8(3))
	f.Add(uint8(0), uint8(3), strings.Repeat("k", 127), "", strings.Repeat("n", 200), "", "", int64(-5), int32(0), uint8(4))
	f.Add(uint8(1), uint8(1), "k", "app", "", "gpu", "", int64(0), int32(-1), uint8(0))
	s, m := &session{rm: "rm"}, newLeanResponse()
	f.Fuzz(func(
		t *testing.T, list, n uint8, key, app, node, partition, text string, quantity int64, number int32, flags uint8,
	) {
		var batch []saying
		n %= 5 // more of the same is seldom news
		for i := range n {
			key := objects.AllocationKey(key[:len(key)*int(i+1)/int(n)])
			var e scheduler.Effect
			switch list % 3 {
			case 0:
				names := map[string]resources.Quantity{"memory": resources.Quantity(quantity)}
				if node != "" {
					names[node] = resources.Quantity(quantity) >> (i % 64)
				}
				e = scheduler.Allocated{Node: objects.NodeID(node), Ask: &objects.Ask{
					Key: key, App: objects.AppID(app), TaskGroup: text, Amounts: resources.FromMap(names),
					Placeholder: flags&1 > 0, Originator: flags&2 > 0, Priority: number,
					Policy: objects.PreemptionPolicy(flags >> 2 & 7),
				}}
			case 1:
				e = scheduler.Released{
					Key: key, App: objects.AppID(app), Type: scheduler.Termination(number), Message: text,
				}
			case 2:
				e = scheduler.AskRejected{Key: key, App: objects.AppID(app), Reason: text}
			}
			batch = append(batch, saying{partition, e})
			partition += node[:min(len(node), 1)]
		}
		saysTheSame(t, s, m, batch)
	})
}

func TestTheLargestAnswersAreEncodedTheSame(t *testing.T) {
	s, m := &session{rm: strings.Repeat("m", maxID)}, newLeanResponse()
	for _, e := range effects() {
		if listOf(e).kind() == allocations {
			saysTheSame(t, s, m, []saying{{"default", e}, {"gpu", e}, {"", e}})
		}
	}
	saysTheSame(t, s, m, nil)
}

func TestAnswersOfEveryLengthAreEncodedTheSame(t *testing.T) {
	s, m := &session{rm: "rm"}, newLeanResponse()
	for _, around := range []int{1 << 7, 1 << 14} { // where lengths take a byte more
		for n := around - 90; n < around+10; n++ {
			name := strings.Repeat("x", n)
			amounts := resources.FromMap(map[string]resources.Quantity{name: 1, "vcore": 1 << 62})
			saysTheSame(t, s, m, []saying{
				{"default", scheduler.Allocated{Ask: &objects.Ask{Key: "k", TaskGroup: name, Amounts: amounts}}},
			})
			saysTheSame(t, s, m, []saying{{"default", scheduler.AskRejected{App: objects.AppID(name), Reason: "r"}}})
		}
	}
}
