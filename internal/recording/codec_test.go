package recording

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"math/rand/v2"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fxamacker/cbor/v2"
	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/budgets"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

const randomValues = 200 // of each type

func TestCommandTypes_AreAllCommands(t *testing.T) {
	packages, err := parser.ParseDir(token.NewFileSet(), "../../pkg/scheduler", nil, 0) //nolint:staticcheck // one directory, no build tags
	assert.NilError(t, err)
	var want []string
	for _, file := range packages["scheduler"].Files {
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Name.Name == "command" && f.Recv != nil {
				want = append(want, f.Recv.List[0].Type.(*ast.Ident).Name)
			}
		}
	}
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
	case reflect.Bool, reflect.Int, reflect.Int32, reflect.Int64, reflect.Uint8, reflect.Uint64, reflect.Float64, reflect.String:
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
			g := generator{rand.New(rand.NewPCG(seed, 1))}
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
	g := generator{rand.New(rand.NewPCG(seed, 1))}
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
	reader, err := cbor.DecOptions{}.DecMode()
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
		"an unknown command":      {[]byte{0x82, 0x18, 99, 0xa0}, "there is no command 99 in this version of Canopy"},
		"number zero":             {[]byte{0x82, 0, 0xa0}, "there is no command 0"},
		"an unknown field":        {[]byte{0x82, 8, 0xa1, 9, 0x41, 'n'}, "scheduler.RemoveNode has no field 9 in this version of Canopy"},
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

// generator fills values. Names and slices are short, and every kind of value may be zero, too.
type generator struct{ *rand.Rand }

func (g generator) fill(v reflect.Value) {
	if make, ok := opaqueValues[v.Type()]; ok {
		v.Set(reflect.ValueOf(make(g)))
		return
	}
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(g.IntN(2) == 0)
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(g.Uint64()) >> g.IntN(64))
	case reflect.Int32:
		v.SetInt(int64(int32(g.Uint32()) >> g.IntN(32)))
	case reflect.Uint8:
		v.SetUint(uint64(g.IntN(256)))
	case reflect.Uint64:
		v.SetUint(g.Uint64() >> g.IntN(64))
	case reflect.Float64:
		v.SetFloat(g.Float64() * 10)
	case reflect.String:
		v.SetString(g.name())
	case reflect.Pointer:
		if g.IntN(4) > 0 || v.Type() == reflect.TypeFor[*objects.Ask]() {
			v.Set(reflect.New(v.Type().Elem()))
			g.fill(v.Elem())
		}
	case reflect.Slice:
		if n := g.IntN(4) - 1; n >= 0 {
			v.Set(reflect.MakeSlice(v.Type(), n, n))
			for i := range n {
				if depth(v.Type().Elem()) && g.IntN(3) > 0 {
					continue // a tree of queues ends
				}
				g.fill(v.Index(i))
			}
		}
	case reflect.Map:
		if g.IntN(4) > 0 {
			v.Set(reflect.ValueOf(g.strings()))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if _, derived := derivedFields[v.Type()][v.Type().Field(i).Name]; !derived {
				g.fill(v.Field(i))
			}
		}
	default:
		panic(v.Type().String())
	}
}

// depth reports whether values of a type contain such values.
func depth(t reflect.Type) bool { return t.Kind() == reflect.Struct && t.Name() == "Queue" }

func (g generator) name() string {
	b := make([]byte, g.IntN(40))
	for i := range b {
		b[i] = byte(g.IntN(256))
	}
	return string(b)
}

func (g generator) strings() map[string]string {
	m := map[string]string{}
	for range g.IntN(20) {
		m[g.name()] = g.name()
	}
	return m
}

func (g generator) quantities() map[string]resources.Quantity {
	m := map[string]resources.Quantity{}
	for range g.IntN(4) {
		m[g.name()] = resources.Quantity(int64(g.Uint64())>>g.IntN(64) | 1) // Amounts have no zeroes
	}
	return m
}

func (g generator) label() string { return string(rune('a' + g.IntN(26))) }

var opaqueValues = map[reflect.Type]func(g generator) any{
	reflect.TypeFor[resources.Amounts](): func(g generator) any {
		if m := g.quantities(); len(m) > 0 {
			return resources.FromMap(m)
		}
		return resources.Amounts{}
	},
	reflect.TypeFor[resources.Limit]():     func(g generator) any { return resources.LimitFromMap(g.quantities()) },
	reflect.TypeFor[resources.Guarantee](): func(g generator) any { return resources.GuaranteeFromMap(g.quantities()) },
	reflect.TypeFor[time.Time](): func(g generator) any {
		if g.IntN(4) == 0 {
			return time.Time{}
		}
		return time.Unix(g.Int64N(1<<33), g.Int64N(1e9)).UTC()
	},
	reflect.TypeFor[*regexp.Regexp](): func(g generator) any {
		if g.IntN(3) == 0 {
			return (*regexp.Regexp)(nil)
		}
		return regexp.MustCompile("^" + g.label() + ".*$")
	},
	reflect.TypeFor[security.ACL](): func(g generator) any {
		if g.IntN(3) == 0 {
			return security.Everyone()
		}
		return security.AllowList([]string{g.name(), g.name()}, []string{g.name()})
	},
	reflect.TypeFor[budgets.Selector](): randomSelector,
	reflect.TypeFor[budgets.Registry](): func(g generator) any {
		b := budgets.Budget{Namespace: g.label(), Name: g.label(), Allowance: budgets.Allowance{Kind: budgets.AllowanceKind(1 + g.IntN(2)), N: int32(g.IntN(5))}}
		b.Selector = randomSelector(g).(budgets.Selector)
		r, err := budgets.New(b)
		if err != nil {
			panic(err)
		}
		return r
	},
}

// equalValues is reflect.DeepEqual, but that regular expressions are equal if their texts are.
func equalValues(a, b reflect.Value) bool {
	if a.Type() != b.Type() {
		return false
	}
	if r, ok := a.Interface().(*regexp.Regexp); ok {
		s := b.Interface().(*regexp.Regexp)
		return (r == nil) == (s == nil) && (r == nil || r.String() == s.String())
	}
	if _, ok := opaqueOf(a.Type()); ok {
		return reflect.DeepEqual(a.Interface(), b.Interface())
	}
	switch a.Kind() {
	case reflect.Pointer:
		return a.IsNil() == b.IsNil() && (a.IsNil() || equalValues(a.Elem(), b.Elem()))
	case reflect.Slice:
		if a.IsNil() != b.IsNil() || a.Len() != b.Len() {
			return false
		}
		for i := range a.Len() {
			if !equalValues(a.Index(i), b.Index(i)) {
				return false
			}
		}
		return true
	case reflect.Struct:
		for i := range a.NumField() {
			if _, derived := derivedFields[a.Type()][a.Type().Field(i).Name]; !derived && !equalValues(a.Field(i), b.Field(i)) {
				return false
			}
		}
		return true
	}
	return reflect.DeepEqual(a.Interface(), b.Interface())
}

func TestCommands_NamesAreNoUTF8(t *testing.T) {
	node := objects.NodeID(strings.Repeat("\xff\x00", 100))
	got, err := decodeCommand(appendCommand(nil, scheduler.RemoveNode{Node: node}))
	assert.NilError(t, err)
	assert.Equal(t, got, scheduler.RemoveNode{Node: node})
}

func randomSelector(g generator) any {
	return budgets.NewSelector(map[string]string{g.label(): g.label()}, []budgets.Expression{{Key: g.label(), Operator: budgets.In, Values: []string{g.label()}}})
}

// TestFrame_RoundTrips records random commands one after the other, so that each is also written as a difference to the ones
// before.
func TestFrame_RoundTrips(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	g := generator{rand.New(rand.NewPCG(seed, 1))}
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

// similar is a command with another value of one field, if it is about an ask.
func (g generator) similar(cmd scheduler.Command) scheduler.Command {
	v := reflect.New(reflect.TypeOf(cmd)).Elem()
	v.Set(reflect.ValueOf(cmd))
	target := v
	if f := v.FieldByName("Ask"); f.IsValid() {
		target = reflect.New(f.Type().Elem())
		target.Elem().Set(f.Elem())
		f.Set(target)
		target = target.Elem()
	}
	if target.NumField() > 0 {
		if i := g.IntN(target.NumField()); derivedFields[target.Type()][target.Type().Field(i).Name] == "" {
			g.fill(target.Field(i))
		}
	}
	return v.Interface().(scheduler.Command)
}
