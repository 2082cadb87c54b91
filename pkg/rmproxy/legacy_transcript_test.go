package rmproxy

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"github.com/cockroachdb/datadriven"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"
	"gotest.tools/v3/assert"
)

// legacyShim is a shim of any version of the interface: it sends messages by the names of their fields, and shows
// answers with all fields that are on the wire.
type legacyShim struct {
	r        *rig
	messages protoreflect.MessageDescriptors
	streams  map[string]grpc.ClientStream // by command

	mu      sync.Mutex
	answers []string // since they were last taken
}

// legacyStreams are the streams by the command that sends on them.
var legacyStreams = map[string]string{"nodes": "Node", "applications": "Application", "allocations": "Allocation"}

// TestLegacy_Transcripts reads a file for each version of the interface as messages of a shim in the text form of
// protobuf, and after the line the answers on all streams. Run with -rewrite after a change, then read the diff.
func TestLegacy_Transcripts(t *testing.T) {
	for name, messages := range map[string]protoreflect.MessageDescriptors{
		"legacy_1_0": allWithMessage, "legacy_1_1": allWithNumber, "legacy_1_4": allWithNumber, "legacy_1_5": allWithNumber,
		"legacy_gang": allWithNumber, "legacy_mixed": allWithNumber,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				shim := &legacyShim{r: newBubbleRig(t, testOptions{}), messages: messages, streams: map[string]grpc.ClientStream{}}
				directives := 0
				datadriven.RunTest(t, "testdata/transcripts/"+name+".txt", func(t *testing.T, d *datadriven.TestData) string {
					directives++
					return shim.run(t, d)
				})
				assert.Assert(t, directives >= 7, "only %d directives", directives)
				shim.r.check()
			})
		})
	}
}

func (s *legacyShim) run(t *testing.T, d *datadriven.TestData) string {
	switch d.Cmd {
	case "register":
		assert.NilError(t, s.r.register("rm", d.Input))
		for command := range legacyStreams {
			s.open(t, command)
		}
	case "reopen":
		s.open(t, directiveArg(d, "stream"))
	case "after":
		step, err := time.ParseDuration(d.CmdArgs[0].Key)
		assert.NilError(t, err)
		time.Sleep(step)
	case "count": // the allocations and the pending asks of the core
		l, ok := s.r.p.Cluster().Partition("default")
		assert.Assert(t, ok)
		view, err := l.Snapshot(t.Context())
		assert.NilError(t, err)
		return fmt.Sprintf("%d allocations, %d asks\n", view.Allocations, view.Asks)
	case "log":
		var out strings.Builder
		for _, e := range s.r.logs.TakeAll() {
			if text := e.Message; strings.Contains(text, "interface") || text == "refused" {
				fields := e.ContextMap()
				fmt.Fprintln(&out, strings.TrimSpace(fmt.Sprint(text, " ", value(fields["what"]), " ", value(fields["reason"]))))
			}
		}
		return out.String()
	default:
		stream, known := s.streams[d.Cmd]
		assert.Assert(t, known, "%s: unknown command %q", d.Pos, d.Cmd)
		m := dynamicpb.NewMessage(s.messages.ByName(protoreflect.Name(legacyStreams[d.Cmd] + "Request")))
		assert.NilError(t, prototext.Unmarshal([]byte(d.Input), m), d.Pos)
		assert.NilError(t, stream.SendMsg(m))
	}
	synctest.Wait()
	return s.takeAnswers()
}

func value(v any) string {
	if v == nil {
		return ""
	}
	return fmt.Sprint(v)
}

// open opens a stream and names the RM on it.
func (s *legacyShim) open(t *testing.T, command string) {
	kind := legacyStreams[command]
	stream, err := s.r.conn.NewStream(s.r.ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: true},
		"/"+si.Scheduler_ServiceDesc.ServiceName+"/Update"+kind)
	assert.NilError(t, err)
	s.streams[command] = stream
	first := dynamicpb.NewMessage(s.messages.ByName(protoreflect.Name(kind + "Request")))
	first.Set(first.Descriptor().Fields().ByName("rmID"), protoreflect.ValueOfString("rm"))
	assert.NilError(t, stream.SendMsg(first))
	go func() {
		for {
			m := dynamicpb.NewMessage(s.messages.ByName(protoreflect.Name(kind + "Response")))
			if stream.RecvMsg(m) != nil {
				return
			}
			s.mu.Lock()
			for _, element := range elementTexts(m) {
				s.answers = append(s.answers, command+": "+element)
			}
			s.mu.Unlock()
		}
	}()
}

// takeAnswers returns the answers since the last call, one stream after the other: streams are not ordered.
func (s *legacyShim) takeAnswers() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	taken := s.answers
	s.answers = nil
	slices.SortStableFunc(taken, func(a, b string) int {
		return strings.Compare(a[:strings.IndexByte(a, ':')], b[:strings.IndexByte(b, ':')])
	})
	return strings.Join(append(taken, ""), "\n")
}

// line is a message in one line, with the fields in the order of their numbers.
func line(m protoreflect.Message) string { return strings.Join(elementTexts(m), " ") }

// elementTexts are the fields of a message, each element of a list by itself: an answer may have several elements or
// be several messages.
func elementTexts(m protoreflect.Message) []string {
	var fields []protoreflect.FieldDescriptor
	m.Range(func(f protoreflect.FieldDescriptor, _ protoreflect.Value) bool {
		fields = append(fields, f)
		return true
	})
	slices.SortFunc(fields, func(a, b protoreflect.FieldDescriptor) int { return int(a.Number() - b.Number()) })
	var out []string
	for _, f := range fields {
		out = append(out, fieldText(f, m.Get(f))...)
	}
	if n := len(m.GetUnknown()); n > 0 {
		out = append(out, strconv.Itoa(n)+" unknown bytes")
	}
	return out
}

func fieldText(f protoreflect.FieldDescriptor, v protoreflect.Value) (out []string) {
	switch {
	case f.IsMap():
		v.Map().Range(func(k protoreflect.MapKey, v protoreflect.Value) bool {
			text := v.String()
			if f.MapValue().Message() != nil {
				text = "{" + line(v.Message()) + "}"
			}
			out = append(out, k.String()+"="+text)
			return true
		})
		slices.Sort(out)
	case f.IsList():
		for i := range v.List().Len() {
			out = append(out, string(f.Name())+" {"+line(v.List().Get(i).Message())+"}")
		}
	case f.Message() != nil:
		out = []string{string(f.Name()) + " {" + line(v.Message()) + "}"}
	case f.Enum() != nil:
		out = []string{string(f.Name()) + ":" + string(f.Enum().Values().ByNumber(v.Enum()).Name())}
	default:
		out = []string{string(f.Name()) + ":" + v.String()}
	}
	return out
}
