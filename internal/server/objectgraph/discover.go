package objectgraph

import (
	"fmt"
	"reflect"
	"slices"
	"unsafe"
)

// place is where a pointer or a slice points.
type place struct {
	at unsafe.Pointer
	t  *typeInfo
}

// found is what is known of a place.
type found struct {
	place
	n      int     // values of its type, at least 1
	block  int     // the number of the block that has it
	offset uintptr // there
}

// block is memory that no other block overlaps: n consecutive values.
type block struct {
	at unsafe.Pointer
	t  *typeInfo
	n  int
}

func (b *block) bytes() uintptr { return b.t.t.Size() * uintptr(b.n) }

// mapping is a map that was found.
type mapping struct {
	v reflect.Value
	t *typeInfo
}

// discovery finds the memory that is reachable, and which of its pieces are parts of others.
type discovery struct {
	s        *Schema
	globals  *globals // nil: it is these that are looked for
	external []any

	places  []found
	indexOf placeTable
	maps    []mapping
	mapOf   map[unsafe.Pointer]int
	funcs   func(at unsafe.Pointer, o *op) // called with each function that is not nil; it may be nil
	work    []span
	blocks  []block
}

// span is values whose parts were not looked at yet.
type span struct {
	at unsafe.Pointer
	t  *typeInfo
	n  int
}

func newDiscovery(s *Schema, g *globals, external []any) *discovery {
	return &discovery{s: s, globals: g, external: external, mapOf: map[unsafe.Pointer]int{}}
}

// reach notes that n values of type t are at a place.
func (d *discovery) reach(at unsafe.Pointer, t *typeInfo, n int) {
	if d.globals != nil && d.globals.has(at) {
		return
	}
	p := place{at, t}
	i, ok := d.indexOf.find(p, d.places)
	if !ok {
		i = len(d.places)
		d.places = append(d.places, found{place: p})
		d.indexOf.add(p, d.places)
	}
	before := d.places[i].n
	if n <= before {
		return
	}
	d.places[i].n = n
	if len(t.ops) > 0 {
		d.work = append(d.work, span{unsafe.Add(at, uintptr(before)*t.t.Size()), t, n - before})
	}
}

// run follows everything that reach has noted.
func (d *discovery) run() error {
	for len(d.work) > 0 {
		x := d.work[len(d.work)-1]
		d.work = d.work[:len(d.work)-1]
		for i := range x.n {
			if err := d.follow(unsafe.Add(x.at, uintptr(i)*x.t.t.Size()), x.t.ops); err != nil {
				return err
			}
		}
	}
	return nil
}

// follow notes where the parts of a value lead.
func (d *discovery) follow(at unsafe.Pointer, ops []op) error {
	for i := range ops {
		o := &ops[i]
		if o.kind < opPointer {
			continue
		}
		p := unsafe.Add(at, o.offset)
		switch o.kind {
		case opPointer:
			if target := *(*unsafe.Pointer)(p); target != nil {
				d.reach(target, o.of, 1)
			}
		case opSlice:
			if x := (*sliceHeader)(p); x.cap > 0 {
				d.reach(x.data, o.of, x.cap)
			}
		case opFunc:
			if d.funcs != nil && *(*unsafe.Pointer)(p) != nil {
				d.funcs(p, o)
			}
		case opArray:
			elem := o.of.elem
			for i := range o.of.t.Len() {
				if err := d.follow(unsafe.Add(p, uintptr(i)*elem.t.Size()), elem.ops); err != nil {
					return err
				}
			}
		case opMap:
			if err := d.followMap(p, o); err != nil {
				return err
			}
		case opInterface:
			if err := d.followInterface(p, o); err != nil {
				return err
			}
		}
	}
	return nil
}

func (d *discovery) followMap(at unsafe.Pointer, o *op) error {
	id := *(*unsafe.Pointer)(at)
	if id == nil {
		return nil
	}
	if _, ok := d.mapOf[id]; ok {
		return nil
	}
	d.mapOf[id] = len(d.maps)
	v := reflect.New(o.of.t).Elem() // a copy: what at points to changes if it is the element of a map
	v.Set(reflect.NewAt(o.of.t, at).Elem())
	d.maps = append(d.maps, mapping{v, o.of})
	key, elem := reflect.New(o.of.t.Key()).Elem(), reflect.New(o.of.t.Elem()).Elem()
	for it := v.MapRange(); it.Next(); {
		key.SetIterKey(it)
		elem.SetIterValue(it)
		if err := d.follow(key.Addr().UnsafePointer(), o.of.key.ops); err != nil {
			return err
		}
		if err := d.follow(elem.Addr().UnsafePointer(), o.of.elem.ops); err != nil {
			return err
		}
	}
	return nil
}

func (d *discovery) followInterface(at unsafe.Pointer, o *op) error {
	v := reflect.NewAt(o.of.t, at).Elem()
	if v.IsNil() || externalNumber(d.external, v) >= 0 {
		return nil
	}
	x := d.s.byType[v.Elem().Type()]
	if x == nil {
		return fmt.Errorf("objectgraph: %s has a value of type %v, which is not listed", o.name, v.Elem().Type())
	}
	return d.follow(held(at, x.t), x.ops)
}

// externalNumber is which of the external values an interface has; -1: none.
func externalNumber(external []any, v reflect.Value) int {
	if len(external) == 0 || !v.Comparable() {
		return -1
	}
	return slices.Index(external, v.Elem().Interface())
}
