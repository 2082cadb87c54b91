package registry

import (
	"errors"
	"slices"
)

// New returns a registry of these objects and of the system objects of their kind, which may be among them. The
// error joins a *Problem for every violation, in key order, two objects of one key and two defaults included; the
// latter names both.
func New[T any, P Object[T]](objects ...T) (Registry[T, P], error) {
	kind := kindOf[T, P]()
	all := inKeyOrder[T, P](objects, len(objects)+len(kind.System))
	var errs []error
	var first P // the first default
	for i := range all {
		x := P(&all[i])
		errs = append(errs, violations[T](x)...)
		if i > 0 && P(&all[i-1]).Key() == x.Key() {
			errs = append(errs, nameTaken[T](x))
		}
		switch {
		case kind.IsDefault == nil || !kind.IsDefault(x):
		case first == nil:
			first = x
		default:
			errs = append(errs, secondDefault[T](x, first))
		}
	}
	if len(errs) > 0 {
		return Registry[T, P]{}, errors.Join(errs...)
	}
	for i := range kind.System {
		if at, listed := find[T, P](all, P(&kind.System[i]).Key()); !listed {
			all = slices.Insert(all, at, kind.System[i])
		}
	}
	return build[T, P](all), nil
}

// inKeyOrder copies objects into a slice of some capacity, those of one key in their order. It sorts pointers: the
// methods of a type parameter would make every copied argument escape to the heap.
func inKeyOrder[T any, P Object[T]](objects []T, capacity int) []T {
	order := make([]P, len(objects))
	for i := range objects {
		order[i] = &objects[i]
	}
	slices.SortStableFunc(order, func(a, b P) int { return a.Key().Compare(b.Key()) })
	all := make([]T, 0, capacity)
	for _, x := range order {
		all = append(all, *x)
	}
	return all
}

// With is r with one more object. Errors: those of Check, AlreadyExists and SecondDefault.
func (r Registry[T, P]) With(x T) (Registry[T, P], error) {
	all := r.All()
	index, exists := find[T, P](all, P(&x).Key())
	if exists && !isSystem[T, P](P(&x).Key()) {
		return Registry[T, P]{}, nameTaken[T, P](&x)
	}
	if err := r.check(&x); err != nil {
		return Registry[T, P]{}, err
	}
	if exists {
		return Registry[T, P]{}, refuse[T, P](&x, AlreadyExists, NameField, "it is a system "+kindOf[T, P]().Short)
	}
	return build[T, P](slices.Insert(slices.Clone(all), index, x)), nil
}

// Update is r with x instead of the object of its key. Errors: Kind.Unknown, those of Kind.CheckUpdate and of Check,
// and SecondDefault.
func (r Registry[T, P]) Update(x T) (Registry[T, P], error) {
	kind, all := kindOf[T, P](), r.All()
	index, exists := find[T, P](all, P(&x).Key())
	if !exists {
		return Registry[T, P]{}, kind.UnknownObject(P(&x).Key())
	}
	if kind.CheckUpdate != nil {
		if p := kind.CheckUpdate(&all[index], &x); p != nil {
			return Registry[T, P]{}, p
		}
	}
	if err := r.check(&x); err != nil {
		return Registry[T, P]{}, err
	}
	all = slices.Clone(all)
	all[index] = x
	return build[T, P](all), nil
}

// Without is r without the object of a key. What refers to it is not checked. Errors: Kind.Unknown, and ReservedName
// for a system object.
func (r Registry[T, P]) Without(key Key) (Registry[T, P], error) {
	kind, all := kindOf[T, P](), r.All()
	index, exists := find[T, P](all, key)
	switch {
	case !exists:
		return Registry[T, P]{}, kind.UnknownObject(key)
	case isSystem[T, P](key):
		return Registry[T, P]{},
			refuse[T, P](&all[index], ReservedName, NameField, "a system "+kind.Short+" cannot be deleted")
	}
	return build[T, P](slices.Delete(slices.Clone(all), index, index+1)), nil
}

// check returns why x cannot be in r in addition to the other objects, or instead of the object of its key.
func (r Registry[T, P]) check(x P) error {
	if errs := violations[T](x); len(errs) > 0 {
		return errors.Join(errs...)
	}
	kind, first := kindOf[T, P](), P(r.Default())
	if first != nil && kind.IsDefault(x) && first.Key() != x.Key() {
		return secondDefault[T](x, first)
	}
	return nil
}

// violations are the problems of Check as errors.
func violations[T any, P Object[T]](x P) (errs []error) {
	for _, p := range x.Check() {
		errs = append(errs, p)
	}
	return errs
}

func nameTaken[T any, P Object[T]](x P) *Problem {
	return refuse[T](x, AlreadyExists, NameField, "the name exists already")
}

func secondDefault[T any, P Object[T]](x, first P) *Problem {
	return refuse[T](x, SecondDefault, x.Kind().DefaultField,
		Quote(first.Key().String())+" is the default already, and there can be only one")
}

func refuse[T any, P Object[T]](x P, reason Reason, f Field, text string) *Problem {
	return &Problem{x.Kind().Name, x.Key().String(), reason, f, text}
}
