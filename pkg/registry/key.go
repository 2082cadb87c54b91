package registry

import "strings"

// Key identifies an object among those of its kind.
type Key struct {
	Namespace string // empty for kinds whose objects are in no namespace
	Name      string
}

// Compare orders keys by namespace and then by name.
func (k Key) Compare(l Key) int {
	if k.Namespace != l.Namespace {
		return strings.Compare(k.Namespace, l.Namespace)
	}
	return strings.Compare(k.Name, l.Name)
}

// String is namespace/name, or the name alone without a namespace.
func (k Key) String() string {
	if k.Namespace == "" {
		return k.Name
	}
	return k.Namespace + "/" + k.Name
}
