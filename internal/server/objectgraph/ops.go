package objectgraph

import (
	"fmt"
	"reflect"
)

// opKind is how a part of a value is read and written.
type opKind uint8

const (
	opBool opKind = iota
	opInt8
	opInt16
	opInt32
	opInt64
	opUint8
	opUint16
	opUint32
	opUint64
	opFloat32
	opFloat64
	opString
	opPointer
	opSlice
	opMap
	opInterface
	opError // an interface with the method Error: its text is written
	opFunc
	opArray // of more than flatArray elements
)

// flatArray is how many elements an array has at most whose elements are ops of the value that has it.
const flatArray = 4

// op is a part of a value.
type op struct {
	kind   opKind
	offset uintptr
	of     *typeInfo // of a pointer or slice: the element; of others but numbers: the type itself
	name   string    // type and field, for errors
}

var (
	errorType = reflect.TypeFor[error]()
	scalars   = map[reflect.Kind]opKind{
		reflect.Bool: opBool,
		reflect.Int:  opInt64, reflect.Int8: opInt8, reflect.Int16: opInt16, reflect.Int32: opInt32, reflect.Int64: opInt64,
		reflect.Uint: opUint64, reflect.Uint8: opUint8, reflect.Uint16: opUint16, reflect.Uint32: opUint32,
		reflect.Uint64:  opUint64,
		reflect.Float32: opFloat32, reflect.Float64: opFloat64, reflect.String: opString,
	}
)

// compile sets the ops of x, once. Requires: s has all types that x leads to.
func (s *Schema) compile(x *typeInfo) {
	if x.compiled {
		return
	}
	x.compiled = true
	x.ops = s.appendOps(nil, x, 0, x.t.String())
	for i := range x.ops {
		x.least += leastBytes(&x.ops[i])
	}
}

func (s *Schema) appendOps(ops []op, x *typeInfo, offset uintptr, name string) []op {
	t := x.t
	if kind, ok := scalars[t.Kind()]; ok {
		return append(ops, op{kind, offset, nil, name})
	}
	switch t.Kind() {
	case reflect.Pointer:
		return append(ops, op{opPointer, offset, x.elem, name})
	case reflect.Slice:
		return append(ops, op{opSlice, offset, x.elem, name})
	case reflect.Map:
		return append(ops, op{opMap, offset, x, name})
	case reflect.Func:
		return append(ops, op{opFunc, offset, x, name})
	case reflect.Interface:
		if t == errorType {
			return append(ops, op{opError, offset, x, name})
		}
		return append(ops, op{opInterface, offset, x, name})
	case reflect.Struct:
		for i := range t.NumField() {
			if f := t.Field(i); !omitted(f) {
				ops = s.appendOps(ops, s.byType[f.Type], offset+f.Offset, t.String()+"."+f.Name)
			}
		}
		return ops
	case reflect.Array:
		if t.Len() > flatArray {
			s.compile(x.elem)
			if len(x.elem.ops) == 0 {
				return ops
			}
			return append(ops, op{opArray, offset, x, name})
		}
		for i := range t.Len() {
			ops = s.appendOps(ops, x.elem, offset+uintptr(i)*t.Elem().Size(), name)
		}
		return ops
	}
	panic(fmt.Sprintf("objectgraph: a type of kind %v", t.Kind())) // add refuses it
}

// leastBytes is the least number of bytes that a part takes.
func leastBytes(o *op) int {
	switch o.kind {
	case opFloat32:
		return 4
	case opFloat64:
		return 8
	case opArray:
		return o.of.elem.least * o.of.t.Len()
	default:
		return 1
	}
}
