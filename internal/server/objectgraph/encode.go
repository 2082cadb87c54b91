package objectgraph

import (
	"encoding/binary"
	"fmt"
	"math"
	"reflect"
	"unsafe"
)

// encoder writes a graph that was discovered.
type encoder struct {
	*discovery
	out     []byte
	strings map[string]uint64
}

// Encode writes what root leads to. root is a pointer to a value of the type of the Schema. external are values that
// interfaces may have: they are written as their number, and Decode puts other values in their places.
//
// The error names a field whose value cannot be written. root must not change meanwhile.
func (s *Schema) Encode(root any, external ...any) ([]byte, error) {
	v := reflect.ValueOf(root)
	if v.Kind() != reflect.Pointer || v.Type().Elem() != s.root.t {
		return nil, fmt.Errorf("objectgraph: the root is a %T, not a pointer to a %v", root, s.root.t)
	}
	d := newDiscovery(s, &s.globals, external)
	d.reach(v.UnsafePointer(), s.root, 1)
	if err := d.run(); err != nil {
		return nil, err
	}
	if err := d.makeBlocks(); err != nil {
		return nil, err
	}
	e := encoder{discovery: d, strings: map[string]uint64{}}
	e.out = append(e.out, s.digest[:]...)
	e.number(uint64(len(s.globals.blocks)))
	e.number(uint64(len(s.globals.funcs)))
	e.number(uint64(len(d.blocks)))
	e.number(uint64(len(d.maps)))
	for i := range d.blocks {
		e.number(uint64(d.blocks[i].t.number))
		e.number(uint64(d.blocks[i].n))
	}
	for i := range d.maps {
		e.number(uint64(d.maps[i].t.number))
		e.number(uint64(d.maps[i].v.Len()))
	}
	e.reference(v.UnsafePointer(), s.root)
	for i := range d.blocks {
		e.block(&d.blocks[i])
	}
	for i := range d.maps {
		e.mapping(&d.maps[i])
	}
	return e.out, nil
}

func (e *encoder) number(x uint64) { e.out = binary.AppendUvarint(e.out, x) }

func (e *encoder) integer(x int64) { e.out = binary.AppendVarint(e.out, x) }

// text writes a string; one that was written before is its number.
func (e *encoder) text(s string) {
	if s == "" {
		e.number(0)
		return
	}
	if n, ok := e.strings[s]; ok {
		e.number(n)
		return
	}
	e.strings[s] = uint64(len(e.strings)) + 2
	e.number(1)
	e.number(uint64(len(s)))
	e.out = append(e.out, s...)
}

// reference writes where values of type t are: the number of a block, and the offset there if it is not 0.
func (e *encoder) reference(at unsafe.Pointer, t *typeInfo) {
	b, offset := 0, uintptr(0)
	if g, ok := e.globals.find(at); ok {
		b, offset = g, uintptr(at)-uintptr(e.globals.blocks[g].at)
	} else {
		i, _ := e.indexOf.find(place{at, t}, e.places)
		p := &e.places[i]
		b, offset = len(e.globals.blocks)+p.block, p.offset
	}
	if offset == 0 {
		e.number(uint64(b)*2 + 1)
		return
	}
	e.number(uint64(b)*2 + 2)
	e.number(uint64(offset))
}

func (e *encoder) block(b *block) {
	if len(b.t.ops) == 1 && b.t.ops[0].kind == opUint8 && b.t.t.Size() == 1 {
		e.out = append(e.out, unsafe.Slice((*byte)(b.at), b.n)...)
		return
	}
	for i := range b.n {
		e.value(unsafe.Add(b.at, uintptr(i)*b.t.t.Size()), b.t.ops)
	}
}

func (e *encoder) mapping(m *mapping) {
	key, elem := reflect.New(m.t.t.Key()).Elem(), reflect.New(m.t.t.Elem()).Elem()
	for it := m.v.MapRange(); it.Next(); {
		key.SetIterKey(it)
		elem.SetIterValue(it)
		e.value(key.Addr().UnsafePointer(), m.t.key.ops)
		e.value(elem.Addr().UnsafePointer(), m.t.elem.ops)
	}
}

func (e *encoder) value(at unsafe.Pointer, ops []op) {
	for i := range ops {
		o := &ops[i]
		p := unsafe.Add(at, o.offset)
		switch o.kind {
		case opBool, opUint8:
			e.out = append(e.out, *(*byte)(p))
		case opInt8:
			e.integer(int64(*(*int8)(p)))
		case opInt16:
			e.integer(int64(*(*int16)(p)))
		case opInt32:
			e.integer(int64(*(*int32)(p)))
		case opInt64:
			e.integer(*(*int64)(p))
		case opUint16:
			e.number(uint64(*(*uint16)(p)))
		case opUint32:
			e.number(uint64(*(*uint32)(p)))
		case opUint64:
			e.number(*(*uint64)(p))
		case opFloat32:
			e.out = binary.LittleEndian.AppendUint32(e.out, math.Float32bits(*(*float32)(p)))
		case opFloat64:
			e.out = binary.LittleEndian.AppendUint64(e.out, math.Float64bits(*(*float64)(p)))
		case opString:
			e.text(*(*string)(p))
		case opPointer:
			if target := *(*unsafe.Pointer)(p); target == nil {
				e.number(0)
			} else {
				e.reference(target, o.of)
			}
		case opSlice:
			e.slice((*sliceHeader)(p), o.of)
		case opMap:
			if id := *(*unsafe.Pointer)(p); id == nil {
				e.number(0)
			} else {
				e.number(uint64(e.mapOf[id]) + 1)
			}
		case opInterface:
			e.held(p, o)
		case opError:
			e.errorText(*(*error)(p))
		case opFunc:
			e.function(*(*unsafe.Pointer)(p))
		case opArray:
			elem := o.of.elem
			for i := range o.of.t.Len() {
				e.value(unsafe.Add(p, uintptr(i)*elem.t.Size()), elem.ops)
			}
		}
	}
}

// slice writes length and capacity before where the values are: no capacity is nil or empty.
func (e *encoder) slice(x *sliceHeader, elem *typeInfo) {
	e.number(uint64(x.cap))
	if x.cap == 0 {
		e.number(boolNumber(x.data != nil))
		return
	}
	e.number(uint64(x.len))
	e.reference(x.data, elem)
}

// held writes what an interface has: nothing, the number of an external value, or the number of a type and a value of
// it.
func (e *encoder) held(at unsafe.Pointer, o *op) {
	v := reflect.NewAt(o.of.t, at).Elem()
	if v.IsNil() {
		e.number(0)
		return
	}
	if n := externalNumber(e.external, v); n >= 0 {
		e.number(uint64(n) + 1)
		return
	}
	x := e.s.byType[v.Elem().Type()]
	e.number(uint64(len(e.external)+x.number) + 1)
	e.value(held(at, x.t), x.ops)
}

// errorText writes the text of an error, and that there is one.
func (e *encoder) errorText(err error) {
	e.number(boolNumber(err != nil))
	if err != nil {
		e.text(err.Error())
	}
}

// function writes the number of a function that a package-level variable has, 1 for another, 0 for none.
func (e *encoder) function(f unsafe.Pointer) {
	if n, ok := e.globals.number[f]; ok {
		e.number(uint64(n) + 2)
		return
	}
	e.number(boolNumber(f != nil))
}

func boolNumber(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}
