package objectgraph

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"reflect"
	"unsafe"
)

// ErrOtherTypes: the bytes were written by a program in which the types are others.
var ErrOtherTypes = errors.New("it was written by a program with other types")

// ErrMalformed: the bytes are not what Encode writes.
var ErrMalformed = errors.New("it is malformed")

// Hole is a function that no package-level variable has.
type Hole struct {
	Field string // type and name of the field
	at    unsafe.Pointer
}

// Filled reports whether the field has a function now.
func (h Hole) Filled() bool { return *(*unsafe.Pointer)(h.at) != nil }

// decoder reads a graph.
type decoder struct {
	s        *Schema
	external []any
	in       []byte
	bad      string // what is malformed; empty: nothing
	strings  []string
	blocks   []block // with those of the globals before them
	maps     []reflect.Value
	mapTypes []*typeInfo
	mapLen   []int
	depth    int // of values in interfaces
	holes    []Hole
}

// Decode reads what Encode wrote, with as many external values as it had; one of them is put in the place of each. It
// returns a pointer to the root, and the functions that the caller has to set before the root is used. Errors:
// ErrOtherTypes, ErrMalformed.
func (s *Schema) Decode(data []byte, external ...any) (root any, holes []Hole, err error) {
	if len(data) < len(s.digest) {
		return nil, nil, fmt.Errorf("objectgraph: %w: it has %d bytes", ErrMalformed, len(data))
	}
	if !s.Reads(data) {
		return nil, nil, fmt.Errorf("objectgraph: %w", ErrOtherTypes)
	}
	d := decoder{s: s, external: external, in: data[len(s.digest):]}
	variables, funcs := d.number(), d.number()
	if d.bad == "" && (variables != uint64(len(s.globals.blocks)) || funcs != uint64(len(s.globals.funcs))) {
		return nil, nil, fmt.Errorf("objectgraph: %w, or other package-level variables", ErrOtherTypes)
	}
	blocks, maps := d.number(), d.number()
	d.allocate(blocks, maps)
	at := d.reference(s.root, 1)
	for i := len(s.globals.blocks); i < len(d.blocks) && d.bad == ""; i++ {
		d.block(&d.blocks[i])
	}
	for i := 0; i < len(d.maps) && d.bad == ""; i++ {
		d.mapping(i)
	}
	if d.bad == "" && len(d.in) > 0 {
		d.fail("there are bytes behind its end")
	}
	if d.bad != "" {
		return nil, nil, fmt.Errorf("objectgraph: %w: %s", ErrMalformed, d.bad)
	}
	return reflect.NewAt(s.root.t, at).Interface(), d.holes, nil
}

// fail notes what is malformed. What is read then is 0.
func (d *decoder) fail(why string) {
	if d.bad == "" {
		d.bad = why
	}
	d.in = nil
}

func (d *decoder) number() uint64 {
	x, n := binary.Uvarint(d.in)
	if n <= 0 {
		d.fail("a number is incomplete")
		return 0
	}
	d.in = d.in[n:]
	return x
}

func (d *decoder) integer() int64 {
	x, n := binary.Varint(d.in)
	if n <= 0 {
		d.fail("a number is incomplete")
		return 0
	}
	d.in = d.in[n:]
	return x
}

// take is the next n bytes.
func (d *decoder) take(n uint64) []byte {
	if n > uint64(len(d.in)) {
		d.fail("it ends too early")
		return make([]byte, 8)[:min(n, 8)]
	}
	b := d.in[:n]
	d.in = d.in[n:]
	return b
}

func (d *decoder) text() string {
	switch n := d.number(); {
	case n == 0:
		return ""
	case n == 1:
		s := string(d.take(d.number()))
		d.strings = append(d.strings, s)
		return s
	case n-2 < uint64(len(d.strings)):
		return d.strings[n-2]
	default:
		d.fail("a text is not there")
		return ""
	}
}

// allocate makes the memory of all blocks and maps. Each value takes bytes that are still to come, so there are no more
// values than bytes.
func (d *decoder) allocate(blocks, maps uint64) {
	if blocks > uint64(len(d.in)) || maps > uint64(len(d.in)) {
		d.fail("it has fewer bytes than objects")
		return
	}
	d.blocks = append(make([]block, 0, len(d.s.globals.blocks)+int(blocks)), d.s.globals.blocks...)
	budget := uint64(len(d.in))
	for range blocks {
		t, n := d.typeOf(d.number()), d.number()
		if d.bad != "" || n == 0 || n > math.MaxInt32 || !pay(&budget, n, max(t.least, least(t))) {
			d.fail("an object has more values than bytes")
			return
		}
		d.blocks = append(d.blocks, block{newValues(t.t, int(n)), t, int(n)})
	}
	d.maps, d.mapTypes, d.mapLen = make([]reflect.Value, maps), make([]*typeInfo, maps), make([]int, maps)
	for i := range d.maps {
		t, n := d.typeOf(d.number()), d.number()
		if d.bad != "" || t.key == nil || !pay(&budget, n, max(1, t.key.least+t.elem.least)) {
			d.fail("a map has more entries than bytes")
			return
		}
		d.maps[i], d.mapTypes[i], d.mapLen[i] = reflect.MakeMapWithSize(t.t, int(n)), t, int(n)
	}
}

// least is 1 for a type whose values have a size, so that bytes bound the memory, and else 0.
func least(t *typeInfo) int {
	if t.t.Size() == 0 {
		return 0
	}
	return 1
}

// pay subtracts what n values of least bytes take at least from budget; false: it is less.
func pay(budget *uint64, n uint64, least int) bool {
	if least > 0 && n > *budget/uint64(least) {
		return false
	}
	*budget -= n * uint64(least)
	return true
}

// newValues allocates n values of type t.
func newValues(t reflect.Type, n int) unsafe.Pointer {
	if n == 1 {
		return reflect.New(t).UnsafePointer()
	}
	return reflect.MakeSlice(reflect.SliceOf(t), n, n).UnsafePointer()
}

func (d *decoder) typeOf(number uint64) *typeInfo {
	if number >= uint64(len(d.s.types)) {
		d.fail("a type is not there")
		return d.s.root
	}
	return d.s.types[number]
}

// reference reads where count values of type t are, and checks that they are there.
func (d *decoder) reference(t *typeInfo, count int) unsafe.Pointer {
	x := d.number()
	if d.bad != "" {
		return nil
	}
	if x == 0 {
		d.fail("nothing is where there must be something")
		return nil
	}
	return d.target(x, t, count)
}

// target is the place that a reference other than 0 is for.
func (d *decoder) target(x uint64, t *typeInfo, count int) unsafe.Pointer {
	number, offset := (x-1)/2, uintptr(0)
	if x%2 == 0 {
		offset = uintptr(d.number())
	}
	if number >= uint64(len(d.blocks)) {
		d.fail("an object is not there")
		return nil
	}
	b := &d.blocks[number]
	if t.t.Size() == 0 {
		if b.t == t && offset == 0 && count <= b.n {
			return b.at
		}
	} else if contains(b.t, b.n, offset, t, count, d.s) {
		return unsafe.Add(b.at, offset)
	}
	d.fail(fmt.Sprintf("%d of %v are not %d bytes behind the start of %d of %v", count, t.t, offset, b.n, b.t.t))
	return nil
}

func (d *decoder) block(b *block) {
	if len(b.t.ops) == 1 && b.t.ops[0].kind == opUint8 && b.t.t.Size() == 1 {
		copy(unsafe.Slice((*byte)(b.at), b.n), d.take(uint64(b.n)))
		return
	}
	for i := 0; i < b.n && d.bad == ""; i++ {
		d.value(unsafe.Add(b.at, uintptr(i)*b.t.t.Size()), b.t.ops)
	}
}

func (d *decoder) mapping(i int) {
	m, t := d.maps[i], d.mapTypes[i]
	n := d.mapLen[i]
	for j := 0; j < n && d.bad == ""; j++ {
		key, elem := reflect.New(t.t.Key()), reflect.New(t.t.Elem())
		d.value(key.UnsafePointer(), t.key.ops)
		d.value(elem.UnsafePointer(), t.elem.ops)
		if d.bad == "" {
			if !key.Elem().Comparable() {
				d.fail("a key of a map cannot be one")
				return
			}
			m.SetMapIndex(key.Elem(), elem.Elem())
		}
	}
}

// Reads reports whether bytes were written by a Schema with the same types.
func (s *Schema) Reads(data []byte) bool {
	return len(data) >= len(s.digest) && bytes.Equal(data[:len(s.digest)], s.digest[:])
}
