package recording

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/fxamacker/cbor/v2"
	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

var rewrite = flag.Bool("rewrite", false, "write testdata/format.txt anew; read the diff")

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

// TestFormat_OnlyGrows lists the types and fields that are recorded. A line that changes makes former recordings
// unreadable: such a format needs another formatVersion, and a reader of this one.
func TestFormat_OnlyGrows(t *testing.T) {
	var lines []string
	for n, c := range commandTypes {
		if c != nil {
			lines = append(lines, fmt.Sprintf("command %d %s", n, c))
		}
	}
	for c, codec := range codecs {
		for _, f := range codec.fields {
			lines = append(lines, fmt.Sprintf("%s %s %s", c, f.name, kindOf(f.codec)))
		}
	}
	slices.Sort(lines)
	const path = "testdata/format.txt"
	got := strings.Join(lines, "\n") + "\n"
	if *rewrite {
		assert.NilError(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want, err := os.ReadFile(path)
	assert.NilError(t, err)
	assert.Equal(t, got, string(want), "go test ./internal/server/recording -run Format -rewrite writes it anew")
}

// kindOf returns how a value is recorded.
func kindOf(c *valueCodec) string {
	switch {
	case c.parts != nil:
		return kindOf(c.parts)
	case c.each != nil:
		return "each " + kindOf(c.each)
	case c.fields != nil:
		return c.t.String()
	}
	return c.t.Kind().String()
}

func TestCommands_RoundTrip(t *testing.T) {
	for _, c := range commandTypes[1:] {
		t.Run(c.Name(), func(t *testing.T) {
			seed := rand.Uint64()
			t.Logf("seed %d", seed)
			g := generator{Rand: rand.New(rand.NewPCG(seed, 1))}
			for range randomValues {
				v := reflect.New(c).Elem()
				g.fill(v)
				want := v.Interface().(scheduler.Command)
				got, err := DecodeCommand(EncodeCommand(want))
				assert.NilError(t, err)
				assert.Assert(t, equalValues(reflect.ValueOf(got), v), "got\n%#v\nwant\n%#v", got, want)
			}
		})
	}
}

func TestBegin_RoundTrips(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	g := generator{Rand: rand.New(rand.NewPCG(seed, 1))}
	for range randomValues {
		var want Begin
		g.fill(reflect.ValueOf(&want).Elem())
		got, err := DecodeBegin(EncodeBegin(&want))
		assert.NilError(t, err)
		assert.Assert(t, equalValues(reflect.ValueOf(*got), reflect.ValueOf(want)), "got\n%#v\nwant\n%#v", got, want)
	}
}

func TestDecode_Refuses(t *testing.T) {
	for name, c := range map[string]struct {
		data string
		want string
	}{
		"an unknown command": {"\x82\x18\x63\xa0", "there is no command 99 in this version of Canopy"},
		"number zero":        {"\x82\x00\xa0", "there is no command 0"},
		"no number":          {"\x82\xa0\xa0", "there is no command map"},
		"one part":           {"\x81\x08", "a command has 2 parts, and not 1"},
		"an unknown field": {"\x82\x08\xa1\x44nods\x41n",
			`scheduler.RemoveNode has no field "nods" in this version of Canopy`},
		"the wrong type":          {"\x82\x08\xa1\x44node\x07", "node of scheduler.RemoveNode: 7 is no objects.NodeID"},
		"a field that is twice":   {"\x82\x08\xa2\x44node\x41n\x44node\x41n", "duplicate map key"},
		"a field in two forms":    {"\x82\x08\xa2\x44node\x41n\x64node\x41n", "duplicate map key"},
		"an ask that is missing":  {"\x82\x0b\xa0", "submit-ask has no ask"},
		"a number out of range":   {"\x82\x0e\xa1\x45scope\x19\x01\x00", "256 is no scheduler.ReleaseScope"},
		"bytes behind a command":  {"\x82\x14\xa0\x00", "1 bytes of extraneous data"},
		"a torn command":          {"\x82\x14", "unexpected EOF"},
		"a list that is no map":   {"\x82\x06\xa1\x4aattributes\x81\x41a", "is no map[string]string"},
		"quantities without name": {"\x82\x05\xa1\x45total\x81\x01", "is no map[string]resources.Quantity"},
		"a tag":                   {"\x82\x14\xc1\x01", "CBOR tag isn't allowed"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := DecodeCommand([]byte(c.data))
			assert.ErrorContains(t, err, c.want)
		})
	}
}

// A tree of queues may be as deep as --max-depth allows.
func TestBegin_DeepTree(t *testing.T) {
	var want Begin
	q := &want.Partition.Root
	for range 1000 {
		q.Name, q.Children = "q", make([]configs.Queue, 1)
		q = &q.Children[0]
	}
	got, err := DecodeBegin(EncodeBegin(&want))
	assert.NilError(t, err)
	assert.Assert(t, equalValues(reflect.ValueOf(*got), reflect.ValueOf(want)))
}

func TestCommands_NamesAreNoUTF8(t *testing.T) {
	node := objects.NodeID(strings.Repeat("\xff\x00", 100))
	got, err := DecodeCommand(EncodeCommand(scheduler.RemoveNode{Node: node}))
	assert.NilError(t, err)
	assert.Equal(t, got, scheduler.RemoveNode{Node: node})
}

// Values are CBOR as the library writes it, but for the lengths of maps of fields.
func TestValues_AreThoseOfTheLibrary(t *testing.T) {
	encoder, err := cbor.EncOptions{String: cbor.StringToByteString}.EncMode()
	assert.NilError(t, err)
	for _, n := range []uint64{0, 23, 24, 255, 256, 65535, 65536, 1<<32 - 1, 1 << 32, math.MaxUint64} {
		want, err := encoder.Marshal(n)
		assert.NilError(t, err)
		assert.DeepEqual(t, appendHead(nil, majorUnsigned, n), want)
		want, err = encoder.Marshal(-1 - int64(n>>1))
		assert.NilError(t, err)
		assert.DeepEqual(t, appendInt(nil, -1-int64(n>>1)), want)
	}
	for _, x := range []any{"name", true, false, 2.5, []string{"a", ""}, map[string]string{"k": "v"}} {
		want, err := encoder.Marshal(x)
		assert.NilError(t, err)
		v := reflect.ValueOf(x)
		assert.DeepEqual(t, codecSet{}.of(v.Type()).append(nil, v), want)
	}
}
