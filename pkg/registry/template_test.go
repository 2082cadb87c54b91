package registry_test

import "github.com/canopy-scheduler/canopy/pkg/registry"

// template is a third kind of objects, with all that a Kind can have: a namespace, system objects, a default, and a
// field that must not change. The registry needs nothing else of it.
type template struct {
	namespace, name string
	size            int // 1 to 9, immutable
	standard        bool
}

var templateKind = registry.Kind[template]{
	Name: "queue template", Short: "template", DefaultField: "standard",
	System:    []template{{"", "open", 1, false}, {"sys", "closed", 9, false}},
	IsDefault: func(x *template) bool { return x.standard },
	CheckUpdate: func(old, next *template) *registry.Problem {
		if old.size == next.size {
			return nil
		}
		return next.problem("size-immutable", "size", "the size cannot change")
	},
}

func (*template) Kind() *registry.Kind[template] { return &templateKind }
func (x *template) Key() registry.Key            { return registry.Key{Namespace: x.namespace, Name: x.name} }
func (x *template) Equal(y *template) bool       { return *x == *y }

func (x *template) Check() (out []*registry.Problem) {
	if x.name == "" {
		out = append(out, x.problem("invalid-name", registry.NameField, "it has no name"))
	}
	if x.size < 1 || x.size > 9 {
		out = append(out, x.problem("invalid-size", "size", "the size is not from 1 to 9"))
	}
	return out
}

func (x *template) problem(reason registry.Reason, f registry.Field, text string) *registry.Problem {
	return &registry.Problem{Kind: "queue template", Name: x.Key().String(), Reason: reason, Field: f, Text: text}
}

// plain is a kind with nothing but a name.
type plain string

var plainKind = registry.Kind[plain]{Name: "plain object", Short: "object"}

func (*plain) Kind() *registry.Kind[plain]  { return &plainKind }
func (x *plain) Key() registry.Key          { return registry.Key{Name: string(*x)} }
func (x *plain) Equal(y *plain) bool        { return *x == *y }
func (x *plain) Check() []*registry.Problem { return nil }
