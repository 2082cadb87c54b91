package priorities

import (
	"errors"
	"slices"
	"strings"

	"github.com/canopy-scheduler/canopy/pkg/names"
)

// Registry is a set of classes. The zero value has those of the system only (priority.md
// S0-17). Values are immutable.
type Registry struct {
	classes      []Class        // in the order of their names; nil: those of the system
	index        map[string]int // of classes, by name
	defaultIndex int            // place of the default; only looked at if has
	hasDefault   bool           // there is a default
}

// New returns a registry of these classes and of those of the system, which may be among
// them. The error joins a *Problem for everything that is wrong: two classes of one name
// or two defaults included, of which the error names both.
func New(classes ...Class) (Registry, error) {
	var errs []error
	seen := make(map[string]bool, len(classes))
	normal := ""
	for i := range classes {
		c := &classes[i]
		for _, p := range c.Check() {
			errs = append(errs, p)
		}
		if seen[c.Name] {
			errs = append(errs, problem(c, AlreadyExists, NameField, "the name is there already"))
		}
		seen[c.Name] = true
		switch {
		case !c.GlobalDefault:
		case normal == "":
			normal = c.Name
		default:
			errs = append(errs, secondDefault(c, normal))
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

// build makes a registry of valid classes, which it keeps.
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

// systemOnly is the zero value, written out.
var systemOnly = build(nil)

func (r Registry) withSystemClasses() Registry {
	if r.classes == nil {
		return systemOnly
	}
	return r
}

// Get finds a class. It is not to be changed.
func (r Registry) Get(name string) (*Class, bool) {
	r = r.withSystemClasses()
	i, ok := r.index[name]
	if !ok {
		return nil, false
	}
	return &r.classes[i], true
}

// Default is the class of asks that name none, nil when there is none. It is not to be
// changed.
func (r Registry) Default() *Class {
	if !r.hasDefault {
		return nil
	}
	return &r.classes[r.defaultIndex]
}

// All are the classes in the order of their names.
func (r Registry) All() []Class { return slices.Clone(r.withSystemClasses().classes) }

// Equal reports whether two registries have the same classes.
func (r Registry) Equal(o Registry) bool {
	return slices.EqualFunc(r.withSystemClasses().classes, o.withSystemClasses().classes, func(a, b Class) bool { return a.Equal(&b) })
}

// With is r and one more class. Errors: those of Check, AlreadyExists and
// SecondGlobalDefault.
func (r Registry) With(c Class) (Registry, error) {
	if _, exists := r.Get(c.Name); exists && !c.IsSystem() {
		return Registry{}, problem(&c, AlreadyExists, NameField, "the name is there already")
	} else if exists && len(c.Check()) == 0 {
		return Registry{}, problem(&c, AlreadyExists, NameField, "it is a class of the system")
	}
	return r.replace(c)
}

// Update is r with a class changed: its default, description and access list may
// be (priority.md S0-26, S0-27). Errors: UnknownClass, ValueImmutable, PolicyImmutable, SecondGlobalDefault, and
// those of Check.
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

// Without is r without a class. Nobody is asked whether it is in use: what is has its
// number already (priority.md S0-28). Errors: UnknownClass, ReservedName for a class of
// the system.
func (r Registry) Without(name string) (Registry, error) {
	c, ok := r.Get(name)
	switch {
	case !ok:
		return Registry{}, noSuchClass(&Class{Name: name})
	case c.IsSystem():
		return Registry{}, problem(c, ReservedName, NameField, "a class of the system is always there")
	}
	return build(r.allBut(name)), nil
}

// replace is r with a class instead of the one that has its name.
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

// allBut are the classes but one.
func (r Registry) allBut(name string) []Class {
	return slices.DeleteFunc(r.All(), func(c Class) bool { return c.Name == name })
}

func noSuchClass(c *Class) *Problem {
	return problem(c, UnknownClass, NameField, "there is no such class")
}
