package registry

import "slices"

// Registry is a set of objects of one kind. The zero value has the system objects of the kind only. Values are
// immutable: a change returns a new one. T is the type of the objects, P is *T.
type Registry[T any, P Object[T]] struct {
	objects      []T // in key order; nil: the system objects
	defaultIndex int // one more than the index of the default object; 0: there is none
}

// build returns a registry of valid objects in key order, the system objects included. It keeps the slice.
func build[T any, P Object[T]](objects []T) Registry[T, P] {
	r := Registry[T, P]{objects: objects}
	isDefault := kindOf[T, P]().IsDefault
	for i := range objects {
		if isDefault != nil && isDefault(&objects[i]) {
			r.defaultIndex = i + 1
		}
	}
	return r
}

func kindOf[T any, P Object[T]]() *Kind[T] { return P(nil).Kind() }

// All are the objects in key order. The caller must not change them.
func (r Registry[T, P]) All() []T {
	if r.objects == nil {
		return slices.Clip(kindOf[T, P]().System)
	}
	return slices.Clip(r.objects)
}

// Get returns the object of a key. The caller must not change it.
func (r Registry[T, P]) Get(key Key) (*T, bool) {
	all := r.All()
	i, ok := find[T, P](all, key)
	if !ok {
		return nil, false
	}
	return &all[i], true
}

// find is the index of the object of a key, or the index at which it would be inserted.
func find[T any, P Object[T]](all []T, key Key) (index int, found bool) {
	low, high := 0, len(all)
	for low < high {
		middle := int(uint(low+high) / 2)
		switch c := P(&all[middle]).Key().Compare(key); {
		case c == 0:
			return middle, true
		case c < 0:
			low = middle + 1
		default:
			high = middle
		}
	}
	return low, false
}

// Default is the default object; nil: there is none. The caller must not change it.
func (r Registry[T, P]) Default() *T {
	if r.defaultIndex == 0 {
		return nil
	}
	return &r.objects[r.defaultIndex-1]
}

// Equal reports whether two registries have the same objects.
func (r Registry[T, P]) Equal(o Registry[T, P]) bool {
	a, b := r.All(), o.All()
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !P(&a[i]).Equal(&b[i]) {
			return false
		}
	}
	return true
}

// isSystem reports whether a key is of an object that always exists.
func isSystem[T any, P Object[T]](key Key) bool {
	_, ok := find[T, P](kindOf[T, P]().System, key)
	return ok
}
