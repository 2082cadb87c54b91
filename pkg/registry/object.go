package registry

// Object is implemented by the pointer to a type of named objects.
type Object[T any] interface {
	*T
	// Key identifies the object.
	Key() Key
	// Equal reports whether all fields are equal.
	Equal(*T) bool
	// Check returns every violation of the object by itself.
	Check() []*Problem
	// Kind describes the type. It must not use its receiver, which may be nil.
	Kind() *Kind[T]
}

// Kind describes a type of named objects. Name and Short are required.
type Kind[T any] struct {
	Name  string // for messages: "priority class"
	Short string // for messages and for Unknown: "class"
	// System are valid objects that always exist, in key order. They can be updated, but not deleted.
	System []T
	// IsDefault reports whether an object is the default of its kind; nil: the kind has no default.
	IsDefault func(*T) bool
	// DefaultField is the field that makes an object the default.
	DefaultField Field
	// CheckUpdate returns why old may not become next, which has the same key; nil: it may. The field may be nil: then
	// all may change. It need not check next by itself.
	CheckUpdate func(old, next *T) *Problem
}

// Unknown is the reason for an object that does not exist.
func (k *Kind[T]) Unknown() Reason { return Reason("unknown-" + k.Short) }

// UnknownObject is the refusal of a key that no object of the kind has.
func (k *Kind[T]) UnknownObject(key Key) *Problem {
	return &Problem{k.Name, key.String(), k.Unknown(), NameField, "there is no such " + k.Short}
}
