package rmproxy

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"google.golang.org/protobuf/proto"
	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/server/wire"
	"github.com/canopy-scheduler/canopy/pkg/lifecycle"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// effects has one of each effect that is delivered to an RM, of the maximum size.
func effects() []scheduler.Effect {
	id, long := strings.Repeat("x", maxID), strings.Repeat("r", 10*maxReason)
	names := map[string]resources.Quantity{}
	for i := range resources.MaxNames {
		names[fmt.Sprintf("%s%04d", strings.Repeat("n", maxID-4), i)] = resources.Quantity(1<<62 + i)
	}
	return []scheduler.Effect{
		scheduler.NodeAccepted{Node: objects.NodeID(id)},
		scheduler.NodeRejected{Node: objects.NodeID(id), Reason: long},
		scheduler.ApplicationAccepted{App: objects.AppID(id)},
		scheduler.ApplicationRejected{App: objects.AppID(id), Reason: long},
		scheduler.ApplicationUpdated{App: objects.AppID(id), State: lifecycle.Accepted},
		scheduler.AskRejected{App: objects.AppID(id), Key: objects.AllocationKey(id), Reason: long},
		scheduler.Allocated{Binding: &scheduler.Binding{Node: objects.NodeID(id), Ask: &objects.Ask{
			Key: objects.AllocationKey(id), App: objects.AppID(id), Details: &objects.AskDetails{TaskGroup: id},
			Placeholder: true, Originator: true,
			Amounts: resources.FromMap(names),
			Policy:  objects.PolicySent | objects.PolicyAllowPreemptSelf | objects.PolicyAllowPreemptOther,
		}}},
		scheduler.Released{App: objects.AppID(id), Key: objects.AllocationKey(id), Type: 4, Message: long},
	}
}

// The list of all types of effects is read from the source.
func TestOutbound_EveryEffectHasAMessage(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "../scheduler/effect.go", nil, 0)
	assert.NilError(t, err)
	var want []string
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Name.Name == "effect" {
			want = append(want, f.Recv.List[0].Type.(*ast.Ident).Name)
		}
	}
	slices.Sort(want)
	got := []string{"AskTimedOut", "PartitionReset", "Refused"} // delivered by the effect sink, the first as a release
	for _, e := range effects() {
		got = append(got, strings.TrimPrefix(fmt.Sprintf("%T", e), "scheduler."))
		listOf(e) // does not panic
	}
	slices.Sort(got)
	assert.DeepEqual(t, got, want)
}

func TestWireSize_IsAnUpperBound(t *testing.T) {
	s := &session{rm: strings.Repeat("m", maxID)}
	for _, e := range effects() {
		m := s.message([]outboundEffect{{strings.Repeat("p", maxID-2), e}})
		assert.Assert(t, proto.Size(m) <= wireSize(e), "%T: %d bytes, weight %d", e, proto.Size(m), wireSize(e))
		if listOf(e).kind() == allocationStream {
			legacy := &wire.Response{}
			legacySession(s.rm).encode(legacy, []outboundEffect{{strings.Repeat("p", maxID-2), e}})
			b, err := legacy.Bytes()
			assert.NilError(t, err)
			assert.Assert(t, len(b) <= wireSize(e), "%T: %d bytes, weight %d", e, len(b), wireSize(e))
		}
		assert.Assert(t, wireSize(e) <= maxBytes)
		_, err := proto.Marshal(m)
		assert.NilError(t, err)
	}
}

func TestReason_IsBoundedAndValidUTF8(t *testing.T) {
	assert.Equal(t, reason("as it is"), "as it is")
	assert.Equal(t, reason("a\xffb"), "a?b")
	got := reason(strings.Repeat("ü", maxReason))
	assert.Assert(t, len(got) <= maxReason && utf8.ValidString(got))
	assert.Assert(t, strings.HasSuffix(got, ellipsis))
}

// putRejections puts rejections of asks into an outbox.
func (b *outbox) putRejections(partition string, keys ...objects.AllocationKey) {
	for _, k := range keys {
		b.put(partition, rejected(k))
	}
}

// notTaken are the effects that are neither delivered nor in flight.
func notTaken(b *outbox) []outboundEffect { return b.effects[b.head+b.inFlight:] }

func keysOf(batch []outboundEffect) string {
	var keys []string
	for _, s := range batch {
		keys = append(keys, string(s.effect.(scheduler.AskRejected).Key))
	}
	return strings.Join(keys, " ")
}

func TestOutbox_FailedBatchIsTakenAgain(t *testing.T) {
	b := newOutbox()
	b.putRejections("p", "1", "2")
	assert.Equal(t, keysOf(b.takeBatch()), "1 2")
	b.putRejections("p", "3")
	b.failed()
	assert.Equal(t, keysOf(b.takeBatch()), "1 2 3")
	b.delivered()
	assert.Assert(t, b.takeBatch() == nil)
	assert.Equal(t, b.bytesIn, b.bytesOut)
}

func TestOutbox_DropsEffectsOfAPartition(t *testing.T) {
	b := newOutbox()
	b.putRejections("p", "1")
	b.putRejections("q", "2")
	batch := b.takeBatch()
	b.putRejections("p", "3")
	b.putRejections("q", "4")
	b.drop("p")
	assert.Equal(t, keysOf(batch), "1 2", "the batch in flight is unchanged")
	b.failed()
	assert.Equal(t, keysOf(b.takeBatch()), "2 4")
	b.delivered()
	assert.Equal(t, b.bytesIn, b.bytesOut)
}

func TestOutbox_BatchHoldsOneList(t *testing.T) {
	b := newOutbox()
	ask := &objects.Ask{Key: "k"}
	b.put("p", scheduler.Released{Key: "k"}, scheduler.Allocated{Binding: &scheduler.Binding{Ask: ask}},
		scheduler.Allocated{Binding: &scheduler.Binding{Ask: ask}}, scheduler.Released{Key: "k"})
	for _, want := range []int{1, 2, 1} {
		assert.Equal(t, len(b.takeBatch()), want)
		b.delivered()
	}
}

func TestTerminationTypes_MatchTheInterface(t *testing.T) {
	for internal, proto := range map[scheduler.Termination]si.TerminationType{
		scheduler.Unspecified:          si.TerminationType_UNKNOWN_TERMINATION_TYPE,
		scheduler.StoppedByRM:          si.TerminationType_STOPPED_BY_RM,
		scheduler.TimedOut:             si.TerminationType_TIMEOUT,
		scheduler.PreemptedByScheduler: si.TerminationType_PREEMPTED_BY_SCHEDULER,
		scheduler.PlaceholderReplaced:  si.TerminationType_PLACEHOLDER_REPLACED,
	} {
		assert.Equal(t, int32(internal), int32(proto))
	}
}
