package rmproxy

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/common"
	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"google.golang.org/grpc"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/budgets"
	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/constraints"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/priorities"
)

// protocolDoc is the document for shim authors. Its transcripts, and those of testdata/protocol.md, are replayed over
// gRPC.
const protocolDoc = "../../docs/PROTOCOL.md"

var (
	transcriptBlock = regexp.MustCompile("(?ms)^```transcript (.*?)\n(.*?)^```$")
	yamlBlock       = regexp.MustCompile("(?ms)^```yaml\n(.*?)^```$")
)

// protocolTranscript is a block of the document.
type protocolTranscript struct {
	name, after string // after: the transcript that comes first; empty: none
	lines       []transcriptLine
}

// transcriptLine is "-> METHOD JSON" (to the scheduler), "<- METHOD JSON", "<- METHOD CODE: TEXT" or
// "<- METHOD end" (from it), or "-- METHOD half-closes". A method may have a number, for a further stream.
type transcriptLine struct {
	direction, method, text string
}

func readTranscripts(t *testing.T, doc string) map[string]protocolTranscript {
	t.Helper()
	all := map[string]protocolTranscript{}
	for _, block := range transcriptBlock.FindAllStringSubmatch(doc, -1) {
		c := protocolTranscript{}
		c.name, c.after, _ = strings.Cut(block[1], " after ")
		for _, line := range strings.Split(strings.TrimSpace(block[2]), "\n") {
			direction, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
			if !slices.Contains([]string{"->", "<-", "--"}, direction) { // the line before goes on
				assert.Assert(t, len(c.lines) > 0, "%s: %q", c.name, line)
				c.lines[len(c.lines)-1].text += " " + strings.TrimSpace(line)
				continue
			}
			method, text, ok := strings.Cut(rest, " ")
			assert.Assert(t, ok, "%s: %q", c.name, line)
			c.lines = append(c.lines, transcriptLine{direction, method, text})
		}
		_, twice := all[c.name]
		assert.Assert(t, !twice, "two transcripts are named %s", c.name)
		all[c.name] = c
	}
	return all
}

// anyStream is a stream of any kind.
type anyStream struct {
	grpc.ClientStream
	request, response func() proto.Message
	entries           []any // that were received and not yet compared
	err               error // how it ended; io.EOF: well
}

// rmCall is a call or a stream of the service, by its name.
type rmCall struct {
	request, response func() proto.Message
	open              func(context.Context, si.SchedulerClient) (grpc.ClientStream, error) // nil: it is a call
}

func rmCalls() map[string]rmCall {
	return map[string]rmCall{
		"RegisterResourceManager": {
			request:  func() proto.Message { return &si.RegisterResourceManagerRequest{} },
			response: func() proto.Message { return &si.RegisterResourceManagerResponse{} },
		},
		"UpdateNode": {
			request:  func() proto.Message { return &si.NodeRequest{} },
			response: func() proto.Message { return &si.NodeResponse{} },
			open:     func(ctx context.Context, c si.SchedulerClient) (grpc.ClientStream, error) { return c.UpdateNode(ctx) },
		},
		"UpdateApplication": {
			request:  func() proto.Message { return &si.ApplicationRequest{} },
			response: func() proto.Message { return &si.ApplicationResponse{} },
			open: func(ctx context.Context, c si.SchedulerClient) (grpc.ClientStream, error) {
				return c.UpdateApplication(ctx)
			},
		},
		"UpdateAllocation": {
			request:  func() proto.Message { return &si.AllocationRequest{} },
			response: func() proto.Message { return &si.AllocationResponse{} },
			open: func(ctx context.Context, c si.SchedulerClient) (grpc.ClientStream, error) {
				return c.UpdateAllocation(ctx)
			},
		},
	}
}

// replay is the resource manager of a transcript.
type replay struct {
	*rig
	config  string
	streams map[string]*anyStream
	answers map[string][]any // of calls
	failed  map[string]error // of calls
}

// run replays lines. What the scheduler sends in consecutive lines may come in any order of messages; on one stream
// it comes as entries of lists, because the scheduler may put several into a message.
func (r *replay) run(lines []transcriptLine) {
	r.t.Helper()
	want := map[string][]any{}
	for i, line := range lines {
		switch line.direction {
		case "->":
			r.send(line.method, line.text)
		case "--":
			assert.Equal(r.t, line.text, "half-closes")
			assert.NilError(r.t, r.streams[line.method].CloseSend())
		case "<-":
			if !strings.HasPrefix(line.text, "{") {
				r.expectEnd(line.method, line.text)
				break
			}
			call := rmCalls()[strings.Split(line.method, "#")[0]]
			m := call.response()
			assert.NilError(r.t, protojson.Unmarshal([]byte(line.text), m), line.text)
			want[line.method] = append(want[line.method], entriesOf(r.t, m)...)
		}
		if i+1 == len(lines) || lines[i+1].direction != "<-" {
			for method, entries := range want {
				r.expect(method, entries)
			}
			clear(want)
		}
	}
}

func (r *replay) send(method, text string) {
	r.t.Helper()
	kind := strings.Split(method, "#")[0]
	call, ok := rmCalls()[kind]
	assert.Assert(r.t, ok, method)
	m := call.request()
	assert.NilError(r.t, protojson.Unmarshal([]byte(text), m), text)
	if registration, ok := m.(*si.RegisterResourceManagerRequest); ok {
		if registration.Config == "..." {
			registration.Config = r.config
		}
		answer, err := r.client.RegisterResourceManager(r.ctx, registration)
		r.failed[method] = err
		if err == nil {
			r.answers[method] = entriesOf(r.t, answer)
		}
		return
	}
	s, ok := r.streams[method]
	if !ok {
		stream, err := call.open(r.ctx, r.client)
		assert.NilError(r.t, err)
		s = &anyStream{ClientStream: stream, request: call.request, response: call.response}
		r.streams[method] = s
	}
	assert.NilError(r.t, s.SendMsg(m))
}

// expect compares the next entries of a stream, or the answer of a call.
func (r *replay) expect(method string, want []any) {
	r.t.Helper()
	got := r.answers[method]
	if s, ok := r.streams[method]; ok {
		for len(s.entries) < len(want) && s.err == nil {
			s.receive(r.t)
		}
		assert.Assert(r.t, len(s.entries) >= len(want), "%s ended with %v, after %v; expected: %v", method, s.err, s.entries,
			want)
		got, s.entries = s.entries[:len(want)], s.entries[len(want):]
	} else {
		assert.NilError(r.t, r.failed[method])
	}
	byText := func(a, b any) int { return cmp.Compare(entryKey(a), entryKey(b)) }
	slices.SortStableFunc(got, byText)
	slices.SortStableFunc(want, byText)
	for i := range want {
		assert.Assert(r.t, matches(got[i], want[i]), "%s:\n   got %s\n  want %s", method, compact(got[i]), compact(want[i]))
	}
}

// expectEnd checks the status with which a stream ends or a call fails.
func (r *replay) expectEnd(method, text string) {
	r.t.Helper()
	err := r.failed[method]
	if s, ok := r.streams[method]; ok {
		for s.err == nil {
			s.receive(r.t)
		}
		assert.Equal(r.t, len(s.entries), 0, "%s: %v", method, s.entries)
		err = s.err
	}
	if text == "end" {
		assert.Equal(r.t, err, io.EOF, method)
		return
	}
	code, message, _ := strings.Cut(text, ": ")
	assert.Equal(r.t, status.Code(err).String(), code, "%s: %v", method, err)
	assert.ErrorContains(r.t, err, strings.TrimSuffix(message, "..."))
}

// finish checks that there is nothing more to receive than the transcript has.
func (r *replay) finish() {
	r.t.Helper()
	for method, s := range r.streams {
		assert.NilError(r.t, s.CloseSend())
		for s.err == nil {
			s.receive(r.t)
		}
		var more []string
		for _, e := range s.entries {
			more = append(more, compact(e))
		}
		assert.Equal(r.t, len(more), 0, "%s also has:\n%s", method, strings.Join(more, "\n"))
	}
}

func (s *anyStream) receive(t *testing.T) {
	t.Helper()
	m := s.response()
	if s.err = s.RecvMsg(m); s.err == nil {
		s.entries = append(s.entries, entriesOf(t, m)...)
	}
}

// entriesOf are the entries of the lists of a message as JSON, each in a list of its own name.
func entriesOf(t *testing.T, m proto.Message) (all []any) {
	t.Helper()
	text, err := protojson.Marshal(m)
	assert.NilError(t, err)
	lists := map[string][]any{}
	assert.NilError(t, json.Unmarshal(text, &lists))
	fields := m.ProtoReflect().Descriptor().Fields()
	for i := range fields.Len() {
		name := protoreflect.FieldDescriptor(fields.Get(i)).JSONName()
		for _, e := range lists[name] {
			delete(e.(map[string]any), "stateTransitionTimestamp")
			all = append(all, map[string]any{name: e})
		}
	}
	return all
}

// matches compares JSON values: "..." stands for any text.
func matches(got, want any) bool {
	switch w := want.(type) {
	case string:
		g, ok := got.(string)
		return ok && (w == "..." || g == w)
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok || len(g) != len(w) {
			return false
		}
		for k, v := range w {
			if x, ok := g[k]; !ok || !matches(x, v) {
				return false
			}
		}
		return true
	}
	return fmt.Sprint(got) == fmt.Sprint(want)
}

// entryKey is what entries are sorted by: their list and what they name.
func entryKey(e any) string {
	for list, entry := range e.(map[string]any) {
		fields := entry.(map[string]any)
		return fmt.Sprint(list, fields["nodeID"], fields["applicationID"], fields["allocationKey"], fields["state"])
	}
	return ""
}

func compact(e any) string {
	text, err := json.Marshal(e)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// Each transcript of docs/PROTOCOL.md and testdata/protocol.md is what this server says, and all that it says.
func TestProtocol_Transcripts(t *testing.T) {
	doc, err := os.ReadFile(protocolDoc)
	assert.NilError(t, err)
	config := yamlBlock.FindStringSubmatch(string(doc))
	assert.Assert(t, config != nil, "there is no configuration")
	further, err := os.ReadFile(filepath.Join("testdata", "protocol.md"))
	assert.NilError(t, err)
	all := readTranscripts(t, string(doc)+string(further))
	assert.Assert(t, len(all) >= 30, "only %d transcripts", len(all))
	for name, c := range all {
		t.Run(name, func(t *testing.T) {
			steps := [][]transcriptLine{c.lines}
			for before := c.after; before != ""; before = all[before].after {
				assert.Assert(t, all[before].name != "", "there is no transcript %q", before)
				steps = append(steps, all[before].lines)
			}
			slices.Reverse(steps)
			r := &replay{newRig(t, testOptions{}), config[1], map[string]*anyStream{}, map[string][]any{}, map[string]error{}}
			for _, lines := range steps {
				r.run(lines)
			}
			r.finish()
		})
	}
}

// A replay that differs from what the server says fails: another answer, a missing one, and one too many.
func TestProtocol_ReplayComparesWhatIsReceived(t *testing.T) {
	got := map[string]any{"rejected": map[string]any{"nodeID": "n1", "reason": "why"}}
	for _, c := range []struct {
		want any
		same bool
	}{
		{map[string]any{"rejected": map[string]any{"nodeID": "n1", "reason": "..."}}, true},
		{map[string]any{"rejected": map[string]any{"nodeID": "n1", "reason": "why"}}, true},
		{map[string]any{"rejected": map[string]any{"nodeID": "n1", "reason": "who"}}, false},
		{map[string]any{"rejected": map[string]any{"nodeID": "n1"}}, false},
		{map[string]any{"accepted": map[string]any{"nodeID": "n1", "reason": "..."}}, false},
	} {
		assert.Equal(t, matches(got, c.want), c.same, "%v", c.want)
	}
}

// The document names every tag and attribute that the scheduler reads, every state, and every code of an error.
func TestProtocol_NamesEveryTagStateAndCode(t *testing.T) {
	text, err := os.ReadFile(protocolDoc)
	assert.NilError(t, err)
	doc := string(text)
	names := []string{
		requiredNodeTag, priorityClassTag, objects.UsageTag, objects.TagGroupPriority, budgets.NamespaceTag,
		constraints.SelectorTag, constraints.AffinityTag, constraints.TolerationsTag, constraints.TaintsAttribute,
		priorities.QoSTag, priorities.GracePeriodTag, common.CreationTime, common.Foreign, common.AppTagCreateForce,
		configs.TagMax, configs.TagGuaranteed, configs.TagMaxApplications, common.NodePartition, common.InstanceType,
		common.HostName, common.RackName,
		"New", "Accepted", "Running", "Rejected", "Completing", "Completed", "Failing", "Failed", "Expired", "Resuming",
	}
	names = append(names, budgets.LabelTag+"KEY", common.DomainYuniKorn+common.CreationTime)
	for _, name := range names {
		assert.Check(t, strings.Contains(doc, "`"+name+"`"), "docs/PROTOCOL.md does not name %s", name)
	}
	for _, e := range []error{
		ErrRequest, ErrNotRegistered, ErrTooLarge, ErrClosed, errNoFirstMessage, errReregistered, errors.New(""),
		context.Canceled,
	} {
		code := status.Code(toStatus(e)).String()
		assert.Check(t, strings.Contains(doc, "`"+code+"`"), "docs/PROTOCOL.md does not name %s", code)
	}
}
