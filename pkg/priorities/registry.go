package priorities

import (
	"errors"
	"slices"
	"strings"

	"github.com/canopy-scheduler/canopy/pkg/names"
)

// Registry is a set of priority classes. The zero value has the system classes only (PRI-26). Values are
// immutable.
type Registry struct {
	classes      []Class        // in name order; nil: the system classes
	index        map[string]int // index in classes, by name
	defaultIndex int            // index of the default, if hasDefault
	hasDefault   bool           // a class is the global default
}

// New returns a registry of these classes and the system classes, which may be among them. The error joins a
// *Problem for every violation (PRI-36), two classes of one name and two defaults included; the latter names
// both.
func New(classes ...Class) (Registry, error) {
	var errs []error
	seen := make(map[string]bool, len(classes))
	defaultClass := ""
	for i := range classes {
		c := &classes[i]
		for _, p := range c.Check() {
			errs = append(errs, p)
		}
		if seen[c.Name] {
			errs = append(errs, problem(c, AlreadyExists, NameField, "the name exists already"))
		}
		seen[c.Name] = true
		switch {
		case !c.GlobalDefault:
		case defaultClass == "":
			defaultClass = c.Name
		default:
			errs = append(errs, secondDefault(c, defaultClass))
		}
	}
	if len(errs) > 0 {
		return Registry{}, errors.Join(errs...)
	}
	return build(slices.Clone(classes)), nil
}

func secondDefault(c *Class, first string) *Problem {
	return problem(c, SecondGlobalDefault, DefaultField,
		"%s is the default already, and there can be only one", names.Quote(first))
}

// build returns a registry of valid classes. It keeps the slice.
func build(classes []Class) Registry {
	for _, s := range systemClasses() {
		if !slices.ContainsFunc(classes, func(c Class) bool { return c.Name == s.Name }) {
			classes = append(classes, s)
		}
	}
	slices.SortFunc(classes, func(a, b Class) int { return strings.Compare(a.Name, b.Name) })
	r := Registry{classes: classes, index: make(map[string]int, len(classes))}
	for i := range classes {
		r.index[classes[i].Name] = i
		if classes[i].GlobalDefault {
			r.defaultIndex, r.hasDefault = i, true
		}
	}
	return r
}

// systemOnly has the classes of the zero value.
var systemOnly = build(nil)

// withSystemClasses is r, or systemOnly for the zero value.
func (r Registry) withSystemClasses() Registry {
	if r.classes == nil {
		return systemOnly
	}
	return r
}

// Get returns the class of a name. The caller must not change it.
func (r Registry) Get(name string) (*Class, bool) {
	r = r.withSystemClasses()
	i, ok := r.index[name]
	if !ok {
		return nil, false
	}
	return &r.classes[i], true
}

// Default is the global default class, of which asks without a class are (PRI-41); nil: there is none. The caller
// must not change it.
func (r Registry) Default() *Class {
	if !r.hasDefault {
		return nil
	}
	return &r.classes[r.defaultIndex]
}

// All are the classes in name order.
func (r Registry) All() []Class { return slices.Clone(r.withSystemClasses().classes) }

// Equal reports whether two registries have the same classes.
func (r Registry) Equal(o Registry) bool {
	return slices.EqualFunc(r.withSystemClasses().classes, o.withSystemClasses().classes, func(a, b Class) bool { return a.Equal(&b) })
}

// With is r with one more class. Errors: those of Check, AlreadyExists and SecondGlobalDefault.
func (r Registry) With(c Class) (Registry, error) {
	if _, exists := r.Get(c.Name); exists && !c.IsSystem() {
		return Registry{}, problem(&c, AlreadyExists, NameField, "the name exists already")
	} else if exists && len(c.Check()) == 0 {
		return Registry{}, problem(&c, AlreadyExists, NameField, "it is a system class")
	}
	return r.replace(c)
}

// Update is r with a changed class: default, description and access list may change (PRI-33). Errors:
// UnknownClass, ValueImmutable, PolicyImmutable, SecondGlobalDefault, and those of Check.
func (r Registry) Update(c Class) (Registry, error) {
	old, ok := r.Get(c.Name)
	switch {
	case !ok:
		return Registry{}, noSuchClass(&c)
	case c.Value != old.Value:
		return Registry{}, problem(&c, ValueImmutable, ValueField,
			"the value is %d and cannot become %d; delete the class and create it again", old.Value, c.Value)
	case c.Policy != old.Policy:
		return Registry{}, problem(&c, PolicyImmutable, PolicyField,
			"the policy is %s and cannot become %s; delete the class and create it again", old.Policy, c.Policy)
	}
	return r.replace(c)
}

// Without is r without a class. The class may be in use: asks of it keep their number (PRI-34). Errors:
// UnknownClass, and ReservedName for a system class.
func (r Registry) Without(name string) (Registry, error) {
	c, ok := r.Get(name)
	switch {
	case !ok:
		return Registry{}, noSuchClass(&Class{Name: name})
	case c.IsSystem():
		return Registry{}, problem(c, ReservedName, NameField, "a system class cannot be deleted")
	}
	return build(r.allBut(name)), nil
}

// replace is r with c instead of the class of its name, if there is one.
func (r Registry) replace(c Class) (Registry, error) {
	if problems := c.Check(); len(problems) > 0 {
		errs := make([]error, len(problems))
		for i, p := range problems {
			errs[i] = p
		}
		return Registry{}, errors.Join(errs...)
	}
	if d := r.Default(); c.GlobalDefault && d != nil && d.Name != c.Name {
		return Registry{}, secondDefault(&c, d.Name)
	}
	return build(append(r.allBut(c.Name), c)), nil
}

// allBut are all classes but the one of a name.
func (r Registry) allBut(name string) []Class {
	return slices.DeleteFunc(r.All(), func(c Class) bool { return c.Name == name })
}

func noSuchClass(c *Class) *Problem {
	return problem(c, UnknownClass, NameField, "there is no such class")
}
