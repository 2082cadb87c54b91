package priorities

import (
	"fmt"

	"github.com/canopy-scheduler/canopy/pkg/registry"
)

// Registry is a set of priority classes, by name. The zero value has the system classes only (PRI-26). At most one
// class is the global default: asks without a class are of it (PRI-41). A class may be deleted while asks are of it:
// they keep their number (PRI-34).
type Registry = registry.Registry[Class, *Class]

// New returns a registry of these classes and the system classes, which may be among them. The error joins a
// *registry.Problem for every violation (PRI-36).
func New(classes ...Class) (Registry, error) { return registry.New(classes...) }

const kindName = "priority class"

var classKind = registry.Kind[Class]{
	Name: kindName, Short: "class", System: systemClasses(),
	IsDefault: func(c *Class) bool { return c.GlobalDefault }, DefaultField: DefaultField,
	CheckUpdate: checkUpdate,
}

// Kind describes priority classes as objects of a registry.
func (*Class) Kind() *registry.Kind[Class] { return &classKind }

// Key returns the name; classes are in no namespace.
func (c *Class) Key() registry.Key { return registry.Key{Name: c.Name} }

// checkUpdate returns the reason why a class may not be changed so; nil: it may. Default, description and access list
// may change, the rest not (PRI-33).
func checkUpdate(old, next *Class) *registry.Problem {
	switch {
	case next.Value != old.Value:
		return problem(next, ValueImmutable, ValueField,
			"the value is %d and cannot become %d; delete the class and create it again", old.Value, next.Value)
	case next.Policy != old.Policy:
		return problem(next, PolicyImmutable, PolicyField,
			"the policy is %s and cannot become %s; delete the class and create it again", old.Policy, next.Policy)
	}
	return nil
}

// problem returns the refusal of a class.
func problem(c *Class, reason Reason, f Field, text string, args ...any) *registry.Problem {
	return &registry.Problem{Kind: kindName, Name: c.Name, Reason: reason, Field: f, Text: fmt.Sprintf(text, args...)}
}
