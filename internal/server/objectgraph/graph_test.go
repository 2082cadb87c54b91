package objectgraph_test

import (
	"errors"
	"hash/maphash"
	"reflect"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/server/objectgraph"
)

type (
	shape interface{ area() float64 }
	disk  struct{ r float64 }
	frame struct{ inner *rect }
	rect  struct {
		a, b  float64
		owner *root
	}
	point  struct{ x, y int32 }
	entry  struct{ next *entry }
	single struct{ only entry }

	// root has each kind of field.
	root struct {
		flag    bool
		numbers struct {
			a int
			b int8
			c int16
			d int32
			e int64
			f uint
			g uint8
			h uint16
			i uint32
			j uint64
			k float32
			l float64
		}
		text, same string
		self       *root
		begin      *point // the first of points, found before them
		points     []point
		tail       []point // of the same memory
		inside     *int32  // a part of points
		left       []point // overlaps with right, and neither has all of the memory
		right      []point
		few        [3]point
		many       [9]*point
		raw        []byte
		empty      []byte
		none       []byte
		byName     map[string]*point
		again      map[string]*point // the same map
		byPoint    map[point]bool
		byPointer  map[*point]string
		nested     map[string]map[int]string
		noMap      map[string]int
		shape      shape
		indirect   shape
		any        any
		outside    shape
		err        error
		global     func(int) int
		closure    func() int
		scratch    []*point `objectgraph:"-"`
		first      *single
		firstOnly  *entry
		sentinel   *point
		nothing    *struct{}
	}
)

func (d disk) area() float64  { return d.r }
func (f frame) area() float64 { return f.inner.a }
func (r *rect) area() float64 { return r.a * r.b }

var (
	functions = []func(int) int{func(x int) int { return x + 1 }, func(x int) int { return x + 2 }}
	sentinel  point
)

func newSchema(t *testing.T) *objectgraph.Schema {
	t.Helper()
	s, err := objectgraph.NewSchema(reflect.TypeFor[root](), []reflect.Type{
		reflect.TypeFor[disk](), reflect.TypeFor[*rect](), reflect.TypeFor[frame](), reflect.TypeFor[string](),
	}, &functions, &sentinel)
	assert.NilError(t, err)
	return s
}

func newRoot() *root {
	x := &root{flag: true, text: "queue", same: "queue"}
	x.numbers.a, x.numbers.b, x.numbers.c, x.numbers.d, x.numbers.e = -1, -128, -32768, -1<<31, -1<<63
	x.numbers.f, x.numbers.g, x.numbers.h, x.numbers.i, x.numbers.j = 1<<64-1, 255, 65535, 1<<32-1, 1<<64-1
	x.numbers.k, x.numbers.l = -0.5, 1e300
	x.self = x
	x.points = append(make([]point, 0, 7), point{1, 2}, point{3, 4}, point{5, 6})
	x.tail, x.begin = x.points[1:2:5], &x.points[0]
	x.inside = &x.points[2].y
	both := []point{{1, 0}, {2, 0}, {3, 0}, {4, 0}}
	x.left, x.right = both[:2:3], both[2:]
	x.few = [3]point{{1, 1}, {2, 2}, {3, 3}}
	x.many[0], x.many[8] = &x.few[1], &x.points[0]
	x.raw, x.empty = []byte("raw"), []byte{}
	x.byName = map[string]*point{"a": &x.points[0], "b": {8, 9}}
	x.again = x.byName
	x.byPoint = map[point]bool{{1, 2}: true}
	x.byPointer = map[*point]string{&x.points[1]: "second"}
	x.nested = map[string]map[int]string{"a": {1: "one"}, "b": {2: "two"}, "c": nil}
	x.shape, x.indirect, x.any = &rect{2, 3, x}, disk{4}, "a text"
	x.err = errors.New("does not fit")
	x.global, x.sentinel = functions[1], &sentinel
	x.first = &single{}
	x.firstOnly = &x.first.only
	x.first.only.next = x.firstOnly
	x.nothing = &struct{}{}
	x.scratch = []*point{{}}
	return x
}

func copyOf(t *testing.T, x *root) *root {
	t.Helper()
	s := newSchema(t)
	data, err := s.Encode(x)
	assert.NilError(t, err)
	y, holes, err := s.Decode(data)
	assert.NilError(t, err)
	assert.Equal(t, len(holes), 0)
	return y.(*root)
}

func TestGraph_ValuesAreEqual(t *testing.T) {
	x := newRoot()
	y := copyOf(t, x)
	assert.Equal(t, y.flag, true)
	assert.Equal(t, y.numbers, x.numbers)
	assert.Equal(t, y.text, "queue")
	assert.Equal(t, y.same, "queue")
	assert.DeepEqual(t, y.raw, x.raw)
	assert.Assert(t, y.empty != nil && len(y.empty) == 0)
	assert.Assert(t, y.none == nil && y.noMap == nil)
	assert.Equal(t, y.few, x.few)
	assert.Equal(t, y.shape.area(), 6.0)
	assert.Equal(t, y.indirect, shape(disk{4}))
	assert.Equal(t, y.any, any("a text"))
	assert.Error(t, y.err, "does not fit")
	assert.Assert(t, y.byPoint[point{1, 2}] && len(y.byPoint) == 1)
	assert.Equal(t, *y.byName["b"], point{8, 9})
	assert.DeepEqual(t, y.nested, x.nested)
	assert.Assert(t, y.nothing != nil)
}

func TestGraph_ConnectionsAreEqual(t *testing.T) {
	y := copyOf(t, newRoot())
	assert.Assert(t, y.self == y)
	assert.Assert(t, y.shape.(*rect).owner == y)
	assert.Equal(t, len(y.points), 3)
	assert.Equal(t, cap(y.points), 7)
	assert.Assert(t, &y.tail[0] == &y.points[1] && len(y.tail) == 1 && cap(y.tail) == 4)
	assert.Assert(t, y.begin == &y.points[0] && y.inside == &y.points[2].y)
	assert.Assert(t, slices.Equal(y.right, []point{{3, 0}, {4, 0}}))
	assert.Assert(t, &y.left[:3][2] == &y.right[0])
	assert.Assert(t, y.many[0] == &y.few[1] && y.many[8] == &y.points[0] && y.many[1] == nil)
	assert.Assert(t, y.byName["a"] == &y.points[0])
	y.again["c"] = nil
	assert.Equal(t, len(y.byName), 3, "it is the same map")
	assert.Equal(t, y.byPointer[&y.points[1]], "second")
	assert.Assert(t, y.firstOnly == &y.first.only && y.firstOnly.next == y.firstOnly)
	_ = append(y.tail, point{7, 7})
	assert.Equal(t, y.points[2], point{7, 7}, "slices share memory")
}

func TestGraph_WhatIsNotWritten(t *testing.T) {
	x := newRoot()
	outside := &rect{1, 1, nil}
	x.outside = outside
	n := 0
	x.closure = func() int { n++; return n }
	s := newSchema(t)
	data, err := s.Encode(x, outside)
	assert.NilError(t, err)
	other := disk{9}
	v, holes, err := s.Decode(data, other)
	assert.NilError(t, err)
	y := v.(*root)
	assert.Assert(t, y.scratch == nil)
	assert.Equal(t, y.outside, shape(other))
	assert.Equal(t, y.global(1), 3)
	assert.Assert(t, y.sentinel == &sentinel)
	assert.Equal(t, len(holes), 1)
	assert.Equal(t, holes[0].Field, "objectgraph_test.root.closure")
	assert.Assert(t, !holes[0].Filled())
	y.closure = func() int { return 0 }
	assert.Assert(t, holes[0].Filled())
}

func TestEncode_NamesWhatCannotBeWritten(t *testing.T) {
	s := newSchema(t)
	x := newRoot()
	x.any = point{}
	_, err := s.Encode(x)
	assert.NilError(t, err, "the type is among those of the fields")
	x.any = [2]bool{}
	_, err = s.Encode(x)
	assert.Error(t, err, "objectgraph: objectgraph_test.root.any has a value of type [2]bool, which is not listed")
	_, err = s.Encode(*x)
	assert.Error(t, err, "objectgraph: the root is a objectgraph_test.root, not a pointer to a objectgraph_test.root")
	for _, bad := range []any{make(chan int), struct{ c chan int }{}, uintptr(1), complex(1, 1),
		struct{ s maphash.Seed }{}} {
		_, err := objectgraph.NewSchema(reflect.TypeOf(bad), nil)
		assert.ErrorContains(t, err, "cannot be written")
	}
	_, err = objectgraph.NewSchema(reflect.TypeFor[root](), nil, &map[string]int{"a": 1})
	assert.ErrorContains(t, err, "has a map")
}

func TestDecode_OtherTypes(t *testing.T) {
	data, err := newSchema(t).Encode(newRoot())
	assert.NilError(t, err)
	s, err := objectgraph.NewSchema(reflect.TypeFor[root](), nil, &functions, &sentinel)
	assert.NilError(t, err)
	assert.Assert(t, !s.Reads(data))
	_, _, err = s.Decode(data)
	assert.ErrorIs(t, err, objectgraph.ErrOtherTypes)
	_, _, err = s.Decode(nil)
	assert.ErrorIs(t, err, objectgraph.ErrMalformed)
	digest := s.Digest()
	_, _, err = s.Decode(digest[:])
	assert.ErrorIs(t, err, objectgraph.ErrMalformed)
}

func TestDecode_EachTruncationIsMalformed(t *testing.T) {
	s := newSchema(t)
	data, err := s.Encode(newRoot())
	assert.NilError(t, err)
	for n := range data {
		_, _, err := s.Decode(data[:n])
		assert.ErrorIs(t, err, objectgraph.ErrMalformed, "%d of %d bytes", n, len(data))
	}
	_, _, err = s.Decode(append(data, 0))
	assert.ErrorIs(t, err, objectgraph.ErrMalformed)
	assert.Assert(t, strings.Contains(err.Error(), "behind its end"), err)
}

// TestDecode_ReferencesToOtherTypesAreMalformed: two pointers to different types are exchanged.
func TestDecode_ReferencesToOtherTypesAreMalformed(t *testing.T) {
	type pair struct {
		number *int64
		point  *point
	}
	s, err := objectgraph.NewSchema(reflect.TypeFor[pair](), nil)
	assert.NilError(t, err)
	n := int64(100)
	data, err := s.Encode(&pair{&n, &point{50, 51}})
	assert.NilError(t, err)
	end := len(data) - 4 // the two pointers are before 100, 50 and 51
	assert.Assert(t, data[end-2] == 3 && data[end-1] == 5, "%v", data)
	data[end-2], data[end-1] = 5, 3
	_, _, err = s.Decode(data)
	assert.ErrorIs(t, err, objectgraph.ErrMalformed)
	assert.ErrorContains(t, err, "1 of int64 are not 0 bytes behind the start of 1 of objectgraph_test.point")
}

// FuzzDecode: whatever bytes Decode accepts, they are a graph that can be written again.
func FuzzDecode(f *testing.F) {
	s, err := objectgraph.NewSchema(reflect.TypeFor[root](),
		[]reflect.Type{reflect.TypeFor[disk](), reflect.TypeFor[*rect]()}, &functions, &sentinel)
	if err != nil {
		f.Fatal(err)
	}
	x := newRoot()
	x.any = nil
	data, err := s.Encode(x)
	if err != nil {
		f.Fatal(err)
	}
	digest := s.Digest()
	f.Add(data[len(digest):])
	f.Fuzz(func(t *testing.T, body []byte) {
		v, _, err := s.Decode(append(digest[:], body...))
		if err != nil {
			assert.Assert(t, errors.Is(err, objectgraph.ErrMalformed) || errors.Is(err, objectgraph.ErrOtherTypes), err)
			return
		}
		again, err := s.Encode(v)
		assert.NilError(t, err)
		_, _, err = s.Decode(again)
		assert.NilError(t, err)
	})
}
