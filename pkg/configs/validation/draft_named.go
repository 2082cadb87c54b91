package validation

import (
	"fmt"

	"github.com/canopy-scheduler/canopy/pkg/budgets"
	"github.com/canopy-scheduler/canopy/pkg/priorities"
	"github.com/canopy-scheduler/canopy/pkg/registry"
)

// NamedDraft is a named object with the positions of its fields.
type NamedDraft[T any, P registry.Object[T]] struct {
	ObjectDraft
	Object T
}

// ClassDraft is a priority class with the positions of its fields.
type ClassDraft = NamedDraft[priorities.Class, *priorities.Class]

// BudgetDraft is a disruption budget with the positions of its fields.
type BudgetDraft = NamedDraft[budgets.Budget, *budgets.Budget]

func (d *NamedDraft[T, P]) path() string {
	x := P(&d.Object)
	return x.Kind().Name + " " + x.Key().String()
}

func (d *NamedDraft[T, P]) draft() *ObjectDraft { return &d.ObjectDraft }

// NamedSubject is a NamedDraft of whatever kind.
type NamedSubject interface {
	Subject
	draft() *ObjectDraft
}

// AddNamed reports a problem of a field. Its rule is the prefix of the object and the reason that REST returns.
func (r *Report) AddNamed(d NamedSubject, f registry.Field, reason registry.Reason, message, hint string) {
	r.AddObject(d, d.draft(), string(f), string(reason), message, hint)
}

// CheckNamed applies the rules of the kind, and those of a registry.
func CheckNamed[T any, P registry.Object[T]](r *Report, drafts []*NamedDraft[T, P]) {
	kind := P(nil).Kind()
	first := map[registry.Key]*NamedDraft[T, P]{}
	var standard *NamedDraft[T, P] // the default
	for _, d := range drafts {
		x := P(&d.Object)
		for _, p := range x.Check() {
			if !d.Broken[string(p.Field)] {
				r.AddNamed(d, p.Field, p.Reason, p.Text, "")
			}
		}
		switch other := first[x.Key()]; {
		case x.Key().Name == "":
		case other == nil:
			first[x.Key()] = d
		default:
			where := "there is"
			if x.Key().Namespace != "" {
				where = "the namespace has"
			}
			r.AddNamed(d, registry.NameField, registry.AlreadyExists, fmt.Sprintf("%s a %s of this name in line %d already",
				where, kind.Short, other.PositionOf(string(registry.NameField)).Line), "")
		}
		switch {
		case kind.IsDefault == nil || !kind.IsDefault(x):
		case standard == nil:
			standard = d
		default:
			r.AddNamed(d, kind.DefaultField, registry.SecondDefault, fmt.Sprintf(
				"%s (line %d) is the default already, and there can be only one", Quote(P(&standard.Object).Key().String()),
				standard.PositionOf(string(kind.DefaultField)).Line), "")
		}
	}
}

// buildNamed makes the registry. Requires: the drafts were checked and have no errors.
func buildNamed[T any, P registry.Object[T]](drafts []*NamedDraft[T, P]) registry.Registry[T, P] {
	all := make([]T, len(drafts))
	for i, d := range drafts {
		all[i] = d.Object
	}
	r, err := registry.New[T, P](all...)
	if err != nil {
		panic(fmt.Sprintf("validation: objects passed the checks, but not registry.New: %v", err))
	}
	return r
}
