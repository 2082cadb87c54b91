package objectgraph

import "reflect"

// contains reports whether n consecutive values of type x have, from offset on, count consecutive values of type want.
func contains(x *typeInfo, n int, offset uintptr, want *typeInfo, count int, s *Schema) bool {
	for {
		size := x.t.Size()
		if size == 0 || offset >= size*uintptr(n) {
			return false
		}
		if x == want {
			return offset%size == 0 && count <= n-int(offset/size)
		}
		offset %= size
		switch x.t.Kind() {
		case reflect.Array:
			x, n = x.elem, x.t.Len()
		case reflect.Struct:
			f, ok := fieldAt(x.t, offset)
			if !ok {
				return false
			}
			x, n, offset = s.byType[f.Type], 1, offset-f.Offset
		default:
			return false
		}
		if x == nil { // an omitted field
			return false
		}
	}
}

// fieldAt is the field of a struct that has the byte at offset.
func fieldAt(t reflect.Type, offset uintptr) (reflect.StructField, bool) {
	for i := range t.NumField() {
		f := t.Field(i)
		if omitted(f) {
			continue
		}
		if offset >= f.Offset && offset < f.Offset+f.Type.Size() {
			return f, true
		}
	}
	return reflect.StructField{}, false
}
