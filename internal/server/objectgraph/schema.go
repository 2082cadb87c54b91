package objectgraph

import (
	"crypto/sha256"
	"fmt"
	"hash/maphash"
	"reflect"
	"unsafe"
)

// Digest identifies the types of a Schema: their fields, sizes, and the order of their discovery.
type Digest [sha256.Size]byte

// Schema is the types that a graph may have.
type Schema struct {
	root    *typeInfo
	types   []*typeInfo
	byType  map[reflect.Type]*typeInfo
	globals globals
	digest  Digest
}

// typeInfo is a type and what its values have that is written.
type typeInfo struct {
	t      reflect.Type
	number int
	elem   *typeInfo // of a pointer, slice, array or map
	key    *typeInfo // of a map
	ops    []op      // what a value is read and written by, in the order of addresses
	least  int       // the least number of bytes that a value takes

	compiled bool
}

// NewSchema returns the types that root leads to, and those of dynamic, which interfaces may hold. globals are pointers
// to package-level variables: what these lead to is the same in every program, so pointers to it and its functions are
// written as its place there. It must not change, and has no maps with pointers.
//
// The error names a type that cannot be written: a channel, an unsafe pointer, an address as a number, or a seed of
// package maphash, with which another process has other hashes.
func NewSchema(root reflect.Type, dynamic []reflect.Type, variables ...any) (*Schema, error) {
	s := &Schema{byType: map[reflect.Type]*typeInfo{}}
	var err error
	if s.root, err = s.add(root); err != nil {
		return nil, err
	}
	for _, t := range dynamic {
		if _, err := s.add(t); err != nil {
			return nil, err
		}
	}
	for _, v := range variables {
		if _, err := s.add(reflect.TypeOf(v)); err != nil {
			return nil, err
		}
	}
	s.compileAll()
	if err := s.discoverGlobals(variables); err != nil {
		return nil, err
	}
	return s, nil
}

// Digest is that of the types: a graph is read by a Schema with the Digest of the one that wrote it.
func (s *Schema) Digest() Digest { return s.digest }

// add returns the typeInfo of t, with those of all types that t leads to.
func (s *Schema) add(t reflect.Type) (*typeInfo, error) {
	if x := s.byType[t]; x != nil {
		return x, nil
	}
	x := &typeInfo{t: t, number: len(s.types)}
	s.byType[t] = x
	s.types = append(s.types, x)
	if t == seedType {
		return nil, fmt.Errorf("objectgraph: a value of type %v cannot be written", t)
	}
	var err error
	switch t.Kind() {
	case reflect.Chan, reflect.UnsafePointer, reflect.Uintptr, reflect.Complex64, reflect.Complex128:
		return nil, fmt.Errorf("objectgraph: a value of type %v cannot be written", t)
	case reflect.Map:
		if x.key, err = s.add(t.Key()); err != nil {
			return nil, err
		}
		fallthrough
	case reflect.Pointer, reflect.Slice, reflect.Array:
		if x.elem, err = s.add(t.Elem()); err != nil {
			return nil, fmt.Errorf("%w, in %v", err, t)
		}
	case reflect.Struct:
		for i := range t.NumField() {
			if f := t.Field(i); !omitted(f) {
				if _, err = s.add(f.Type); err != nil {
					return nil, fmt.Errorf("%w, in %v.%s", err, t, f.Name)
				}
			}
		}
	}
	return x, nil
}

var seedType = reflect.TypeFor[maphash.Seed]()

// omitted reports whether a field is not written.
func omitted(f reflect.StructField) bool { return f.Tag.Get("objectgraph") == "-" }

// compileAll sets the ops of all types, and the digest.
func (s *Schema) compileAll() {
	for _, x := range s.types {
		s.compile(x)
	}
	h := sha256.New()
	for _, x := range s.types {
		fmt.Fprintln(h, x.t.PkgPath(), x.t.String(), x.t.Kind(), x.t.Size(), len(x.ops))
		if x.t.Kind() != reflect.Struct {
			continue
		}
		for i := range x.t.NumField() {
			f := x.t.Field(i)
			fmt.Fprintln(h, f.Name, f.Offset, f.Type.String(), omitted(f))
		}
	}
	h.Sum(s.digest[:0])
}

// variable is the memory behind a pointer to a package-level variable.
func variable(v any) (unsafe.Pointer, reflect.Type) {
	p := reflect.ValueOf(v)
	return p.UnsafePointer(), p.Type().Elem()
}
