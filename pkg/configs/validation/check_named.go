package validation

import (
	"fmt"

	"github.com/canopy-scheduler/canopy/pkg/registry"
)

// fieldOf is a field of a named object, as an argument of MarkMisread.
type fieldOf struct {
	object any
	field  registry.Field
}

// FieldAt returns the position of a field of a named object, which may be below its metadata or spec as in Kubernetes,
// or that of the object.
func (s *Sources) FieldAt(object any, f registry.Field) Position {
	key := string(f)
	for _, path := range [][]any{{key}, {"metadata", key}, {"spec", key}} {
		if s.isSet(object, path...) {
			return s.At(object, path...)
		}
	}
	return s.At(object, key)
}

// SubjectOf returns the subject of problems of a named object.
func SubjectOf[T any, P registry.Object[T]](x P) *Subject {
	return NewSubject(x.Kind().Name + " " + x.Key().String())
}

// AddNamed reports a problem of a field of a named object. Its rule is the kind of the object and the reason that REST
// returns.
func AddNamed[T any, P registry.Object[T]](r *Report, x P, f registry.Field, reason registry.Reason,
	message, hint string) {
	MarkFieldMisread(r, x, f)
	r.Add(SubjectOf(x), r.FieldAt(x, f), x.Kind().Short+"-"+string(reason), message, hint)
}

// MarkFieldMisread records that a field of a named object could not be read, so that rules about it are silent.
func MarkFieldMisread[T any, P registry.Object[T]](r *Report, x P, f registry.Field) {
	r.MarkMisread(fieldOf{x, f})
}

// CheckNamed applies the rules of the kind, and those of a registry.
func CheckNamed[T any, P registry.Object[T]](r *Report, objects []T) {
	kind := P(nil).Kind()
	first := map[registry.Key]P{}
	var standard P // the default
	for i := range objects {
		x := P(&objects[i])
		for _, p := range x.Check() {
			if !r.IsMisread(fieldOf{x, p.Field}) {
				AddNamed(r, x, p.Field, p.Reason, p.Text, "")
			}
		}
		switch other := first[x.Key()]; {
		case x.Key().Name == "":
		case other == nil:
			first[x.Key()] = x
		default:
			where := "there is"
			if x.Key().Namespace != "" {
				where = "the namespace has"
			}
			AddNamed(r, x, registry.NameField, registry.AlreadyExists, fmt.Sprintf("%s a %s of this name in line %d already",
				where, kind.Short, r.FieldAt(other, registry.NameField).Line), "")
		}
		switch {
		case kind.IsDefault == nil || !kind.IsDefault(x):
		case standard == nil:
			standard = x
		default:
			AddNamed(r, x, kind.DefaultField, registry.SecondDefault, fmt.Sprintf(
				"%s (line %d) is the default already, and there can be only one", Quote(standard.Key().String()),
				r.FieldAt(standard, kind.DefaultField).Line), "")
		}
	}
}

// buildNamed makes the registry. Requires: the objects were checked and have no errors.
func buildNamed[T any, P registry.Object[T]](objects []T) registry.Registry[T, P] {
	r, err := registry.New[T, P](objects...)
	if err != nil {
		panic(fmt.Sprintf("validation: objects passed the checks, but not registry.New: %v", err))
	}
	return r
}
