package objectgraph

import (
	"reflect"
	"unsafe"
)

// sliceHeader is a slice in memory, as reflect.SliceHeader with a pointer that is one.
type sliceHeader struct {
	data     unsafe.Pointer
	len, cap int
}

// interfaceHeader is an interface in memory.
type interfaceHeader struct {
	typ  unsafe.Pointer
	data unsafe.Pointer // the value itself where that is one pointer, and else where the value is
}

// isDirect reports whether an interface has a value of type t itself, and not a pointer to it. The zero value of such a
// type is the nil pointer, and a pointer to a value never is.
func isDirect(t reflect.Type) bool {
	zero := reflect.Zero(t).Interface()
	return (*interfaceHeader)(unsafe.Pointer(&zero)).data == nil
}

// held is where the value of type t is that the interface at an address has. Nothing else points there, and it never
// changes.
func held(at unsafe.Pointer, t reflect.Type) unsafe.Pointer {
	h := (*interfaceHeader)(at)
	if isDirect(t) {
		return unsafe.Pointer(&h.data)
	}
	return h.data
}
