package recording

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fxamacker/cbor/v2"
	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/budgets"
	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

const randomValues = 200 // of each type

// receiversOf are the types of package scheduler that have a method of a name.
func receiversOf(t *testing.T, method string) (names []string) {
	t.Helper()
	files, err := filepath.Glob("../../../pkg/scheduler/*.go")
	assert.NilError(t, err)
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		assert.NilError(t, err)
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Name.Name == method && f.Recv != nil {
				names = append(names, f.Recv.List[0].Type.(*ast.Ident).Name)
			}
		}
	}
	return names
}

func TestCommandTypes_AreAllCommands(t *testing.T) {
	want := receiversOf(t, "command")
	assert.Assert(t, len(want) > 10, "only %d commands", len(want))
	var got []string
	for _, c := range commandTypes {
		if c != nil {
			got = append(got, c.Name())
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	assert.DeepEqual(t, got, want)
}

func TestStructFields_AreAllFields(t *testing.T) {
	reached := map[reflect.Type]bool{}
	for _, c := range commandTypes {
		if c != nil {
			listProblems(t, c, reached)
		}
	}
	for _, v := range []any{Begin{}, segmentHeader{}, accessList{}, selectorParts{}, budgets.Budget{}} {
		listProblems(t, reflect.TypeOf(v), reached)
	}
	for s := range structFields {
		assert.Assert(t, reached[s], "%s is in no recording", s)
	}
	for s, fields := range derivedFields {
		for name := range fields {
			f, ok := s.FieldByName(name)
			assert.Assert(t, ok && reached[s], "%s has no field %s", s, name)
			assert.Equal(t, f.Type.Kind(), reflect.Pointer, "%s.%s", s, name)
		}
	}
}

// listProblems reports the types from v on that have no encoding, and the fields that are not listed once.
func listProblems(t *testing.T, v reflect.Type, reached map[reflect.Type]bool) {
	if reached[v] {
		return
	}
	reached[v] = true
	if _, ok := opaqueOf(v); ok {
		return
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Slice:
		listProblems(t, v.Elem(), reached)
	case reflect.Map:
		assert.Equal(t, v, reflect.TypeFor[map[string]string]())
	case reflect.Struct:
		names, ok := structFields[v]
		assert.Assert(t, ok, "%s is not listed", v)
		var missing []string
		for f := range v.Fields() {
			if _, derived := derivedFields[v][f.Name]; derived {
				continue
			}
			assert.Assert(t, f.IsExported(), "%s has the field %s of its own", v, f.Name)
			if !slices.Contains(names, f.Name) {
				missing = append(missing, f.Name)
			}
			listProblems(t, f.Type, reached)
		}
		assert.Equal(t, len(missing), 0, "%s: not recorded: %v", v, missing)
		for i, name := range names {
			_, exists := v.FieldByName(name)
			assert.Assert(t, name == "" || exists, "%s has no field %s", v, name)
			assert.Assert(t, name == "" || !slices.Contains(names[:i], name), "%s has %s twice", v, name)
		}
	case reflect.Bool, reflect.Int, reflect.Int32, reflect.Int64, reflect.Uint8, reflect.Uint64, reflect.Float64,
		reflect.String:
	default:
		t.Errorf("%s has no encoding", v)
	}
}

func TestCommands_RoundTrip(t *testing.T) {
	for _, c := range commandTypes {
		if c == nil {
			continue
		}
		t.Run(c.Name(), func(t *testing.T) {
			seed := rand.Uint64()
			t.Logf("seed %d", seed)
			g := generator{Rand: rand.New(rand.NewPCG(seed, 1))}
			for range randomValues {
				v := reflect.New(c).Elem()
				g.fill(v)
				want := v.Interface().(scheduler.Command)
				encoded := appendCommand(nil, want)
				got, err := decodeCommand(encoded)
				assert.NilError(t, err)
				assert.Assert(t, equalValues(reflect.ValueOf(got), v), "got\n%#v\nwant\n%#v", got, want)
				assert.Equal(t, fmt.Sprintf("%x", encoded), fmt.Sprintf("%x", canonical(t, encoded)))
			}
		})
	}
}

func TestBegin_RoundTrips(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	g := generator{Rand: rand.New(rand.NewPCG(seed, 1))}
	for range randomValues {
		var want, got Begin
		g.fill(reflect.ValueOf(&want).Elem())
		assert.NilError(t, decode(appendValue(nil, reflect.ValueOf(want)), &got))
		assert.Assert(t, equalValues(reflect.ValueOf(got), reflect.ValueOf(want)), "got\n%#v\nwant\n%#v", got, want)
	}
}

// canonical is an item as the library writes it in the core deterministic form.
func canonical(t *testing.T, encoded []byte) []byte {
	t.Helper()
	reader, err := cbor.DecOptions{MaxNestedLevels: 65535}.DecMode()
	assert.NilError(t, err)
	writer, err := cbor.CoreDetEncOptions().EncMode()
	assert.NilError(t, err)
	var item any
	assert.NilError(t, reader.Unmarshal(encoded, &item))
	again, err := writer.Marshal(item)
	assert.NilError(t, err)
	return again
}

func TestDecode_Refuses(t *testing.T) {
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"an unknown command": {[]byte{0x82, 0x18, 99, 0xa0}, "there is no command 99 in this version of Canopy"},
		"number zero":        {[]byte{0x82, 0, 0xa0}, "there is no command 0"},
		"an unknown field": {[]byte{0x82, 8, 0xa1, 9, 0x41, 'n'},
			"scheduler.RemoveNode has no field 9 in this version of Canopy"},
		"the wrong type":          {[]byte{0x82, 8, 0xa1, 1, 7}, "Node of scheduler.RemoveNode: uint64 is no objects.NodeID"},
		"a field that is twice":   {[]byte{0x82, 8, 0xa2, 1, 0x41, 'n', 1, 0x41, 'n'}, "duplicate map key"},
		"an ask that is missing":  {[]byte{0x82, 11, 0xa0}, "scheduler.SubmitAsk has no ask"},
		"a number out of range":   {[]byte{0x82, 14, 0xa1, 4, 0x19, 1, 0}, "uint64 is no scheduler.ReleaseScope"},
		"bytes behind a command":  {[]byte{0x82, 20, 0xa0, 0}, "1 bytes of extraneous data"},
		"a torn command":          {[]byte{0x82, 20}, "unexpected EOF"},
		"a list that is no map":   {[]byte{0x82, 6, 0xa1, 2, 0x81, 0x41, 'a'}, "is no map of strings"},
		"quantities without name": {[]byte{0x82, 5, 0xa1, 2, 0x81, 1}, "is no list of quantities"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := decodeCommand(c.data)
			assert.ErrorContains(t, err, c.want)
		})
	}
}

// A tree of queues may be as deep as --max-depth allows.
func TestBegin_DeepTree(t *testing.T) {
	var want, got Begin
	q := &want.Partition.Root
	for range 1000 {
		q.Name, q.Children = "q", make([]configs.Queue, 1)
		q = &q.Children[0]
	}
	assert.NilError(t, decode(appendValue(nil, reflect.ValueOf(want)), &got))
	assert.Assert(t, equalValues(reflect.ValueOf(got), reflect.ValueOf(want)))
}

func TestCommands_NamesAreNoUTF8(t *testing.T) {
	node := objects.NodeID(strings.Repeat("\xff\x00", 100))
	got, err := decodeCommand(appendCommand(nil, scheduler.RemoveNode{Node: node}))
	assert.NilError(t, err)
	assert.Equal(t, got, scheduler.RemoveNode{Node: node})
}

// TestFrame_RoundTrips records random commands one after the other, so that each is also written as a difference to the
// ones before.
func TestFrame_RoundTrips(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	g := generator{Rand: rand.New(rand.NewPCG(seed, 1))}
	r := &Recorder{open: chunk{data: appendChunkHead(nil, 7, epoch)}, last: epoch}
	var want []scheduler.Command
	for range 20 * randomValues {
		v := reflect.New(commandTypes[1+g.IntN(len(commandTypes)-1)]).Elem()
		g.fill(v)
		cmd := v.Interface().(scheduler.Command)
		if len(want) > 0 && g.IntN(2) == 0 {
			cmd = g.similar(want[g.IntN(len(want))])
		}
		now := r.last.Add(time.Duration(g.IntN(1e9)))
		r.open.data = appendDone(r.appendCommand(now, cmd), 0, 0, false)
		r.last = now
		want = append(want, cmd)
	}
	c, err := newCursor(r.open.data)
	assert.NilError(t, err)
	for i := range want {
		var x Item
		for done := false; !done; {
			done, err = c.next(&x)
			assert.NilError(t, err)
		}
		assert.Equal(t, x.Step.Number, uint64(7+i))
		if !equalValues(reflect.ValueOf(x.Step.Command), reflect.ValueOf(want[i])) {
			t.Fatalf("step %d: got\n%s\nwant\n%s", i, x.Step.Describe(), (&Step{Command: want[i]}).Describe())
		}
	}
	assert.Equal(t, len(c.b), 0)
	assert.Equal(t, c.last, r.last.UTC())
}
