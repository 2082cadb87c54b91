package objectgraph

import (
	"encoding/binary"
	"errors"
	"math"
	"reflect"
	"unsafe"
)

// value reads the parts of a value into zeroed memory.
func (d *decoder) value(at unsafe.Pointer, ops []op) {
	for i := range ops {
		o := &ops[i]
		p := unsafe.Add(at, o.offset)
		switch o.kind {
		case opBool:
			*(*bool)(p) = d.take(1)[0] != 0
		case opUint8:
			*(*byte)(p) = d.take(1)[0]
		case opInt8:
			*(*int8)(p) = int8(d.integer())
		case opInt16:
			*(*int16)(p) = int16(d.integer())
		case opInt32:
			*(*int32)(p) = int32(d.integer())
		case opInt64:
			*(*int64)(p) = d.integer()
		case opUint16:
			*(*uint16)(p) = uint16(d.number())
		case opUint32:
			*(*uint32)(p) = uint32(d.number())
		case opUint64:
			*(*uint64)(p) = d.number()
		case opFloat32:
			*(*float32)(p) = math.Float32frombits(binary.LittleEndian.Uint32(d.take(4)))
		case opFloat64:
			*(*float64)(p) = math.Float64frombits(binary.LittleEndian.Uint64(d.take(8)))
		case opString:
			*(*string)(p) = d.text()
		case opPointer:
			if x := d.number(); x != 0 {
				*(*unsafe.Pointer)(p) = d.target(x, o.of, 1)
			}
		case opSlice:
			d.slice((*sliceHeader)(p), o.of)
		case opMap:
			d.mapRef(p, o)
		case opInterface:
			d.held(p, o)
		case opError:
			if d.number() != 0 {
				*(*error)(p) = errors.New(d.text())
			}
		case opFunc:
			d.function(p, o)
		case opArray:
			elem := o.of.elem
			for i := range o.of.t.Len() {
				d.value(unsafe.Add(p, uintptr(i)*elem.t.Size()), elem.ops)
			}
		}
	}
}

func (d *decoder) slice(x *sliceHeader, elem *typeInfo) {
	capacity, n := d.number(), d.number()
	if capacity == 0 {
		if n != 0 { // empty, and not nil
			x.data = newValues(elem.t, 0)
		}
		return
	}
	if n > capacity || capacity > math.MaxInt {
		d.fail("a slice is longer than its capacity")
		return
	}
	if data := d.reference(elem, int(capacity)); data != nil {
		x.data, x.len, x.cap = data, int(n), int(capacity)
	}
}

func (d *decoder) mapRef(at unsafe.Pointer, o *op) {
	n := d.number()
	if n == 0 {
		return
	}
	if n > uint64(len(d.maps)) || d.mapTypes[n-1] != o.of {
		d.fail("a map is not there")
		return
	}
	reflect.NewAt(o.of.t, at).Elem().Set(d.maps[n-1])
}

func (d *decoder) held(at unsafe.Pointer, o *op) {
	n := d.number()
	if n == 0 || d.bad != "" {
		return
	}
	to := reflect.NewAt(o.of.t, at).Elem()
	n--
	if n < uint64(len(d.external)) {
		v := reflect.ValueOf(d.external[n])
		if !v.IsValid() {
			return // nil
		}
		if !v.Type().Implements(o.of.t) {
			d.fail("an external value has too few methods for " + o.name)
			return
		}
		to.Set(v)
		return
	}
	x := d.typeOf(n - uint64(len(d.external)))
	if !x.t.Implements(o.of.t) {
		d.fail("a value has too few methods for " + o.name)
		return
	}
	v := reflect.New(x.t)
	d.depth++
	if d.depth > maxNesting {
		d.fail("interfaces have interfaces that have interfaces, and so on")
		return
	}
	d.value(v.UnsafePointer(), x.ops)
	d.depth--
	to.Set(v.Elem())
}

// maxNesting bounds how deep values in interfaces have interfaces with values.
const maxNesting = 100

func (d *decoder) function(at unsafe.Pointer, o *op) {
	switch n := d.number(); {
	case n == 0:
	case n == 1:
		d.holes = append(d.holes, Hole{o.name, at})
	case n-2 < uint64(len(d.s.globals.funcs)) && d.s.globals.funcs[n-2].t == o.of:
		*(*unsafe.Pointer)(at) = d.s.globals.funcs[n-2].f
	default:
		d.fail("a function is not there")
	}
}
