package queuesyaml

import (
	"fmt"

	"gopkg.in/yaml.v3"

	"github.com/canopy-scheduler/canopy/pkg/registry"
)

// namedDraft is a named object with the positions of its fields.
type namedDraft[T any, P registry.Object[T]] struct {
	objectDraft
	object T
}

func (d *namedDraft[T, P]) path() string {
	x := P(&d.object)
	return x.Kind().Name + " " + x.Key().String()
}

func (d *namedDraft[T, P]) draft() *objectDraft { return &d.objectDraft }

// namedSubject is a namedDraft of whatever kind.
type namedSubject interface {
	subject
	draft() *objectDraft
}

// addNamed reports a problem of a field. Its rule is the prefix of the object and the reason that REST returns.
func (r *report) addNamed(d namedSubject, f registry.Field, reason registry.Reason, message, hint string) {
	r.addObject(d, d.draft(), string(f), string(reason), message, hint)
}

// readList reads the objects of a list: Kubernetes objects, or a short form without metadata.
func (l *NamedList[T, P]) readList(r *reader, n *yaml.Node) (out []*namedDraft[T, P]) {
	for _, x := range r.mappings(nil, l.key, n) {
		out = append(out, l.read(r, x, registry.Key{}))
	}
	return out
}

// checkNamed applies the rules of the kind, and those of a registry.
func checkNamed[T any, P registry.Object[T]](r *report, drafts []*namedDraft[T, P]) {
	kind := P(nil).Kind()
	first := map[registry.Key]*namedDraft[T, P]{}
	var standard *namedDraft[T, P] // the default
	for _, d := range drafts {
		x := P(&d.object)
		for _, p := range x.Check() {
			if !d.broken[string(p.Field)] {
				r.addNamed(d, p.Field, p.Reason, p.Text, "")
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
			r.addNamed(d, registry.NameField, registry.AlreadyExists, fmt.Sprintf("%s a %s of this name in line %d already",
				where, kind.Short, other.positionOf(string(registry.NameField)).line), "")
		}
		switch {
		case kind.IsDefault == nil || !kind.IsDefault(x):
		case standard == nil:
			standard = d
		default:
			r.addNamed(d, kind.DefaultField, registry.SecondDefault, fmt.Sprintf(
				"%s (line %d) is the default already, and there can be only one", quote(P(&standard.object).Key().String()),
				standard.positionOf(string(kind.DefaultField)).line), "")
		}
	}
}

// buildNamed makes the registry. Requires: the drafts were checked and have no errors.
func buildNamed[T any, P registry.Object[T]](drafts []*namedDraft[T, P]) registry.Registry[T, P] {
	all := make([]T, len(drafts))
	for i, d := range drafts {
		all[i] = d.object
	}
	r, err := registry.New[T, P](all...)
	if err != nil {
		panic(fmt.Sprintf("queuesyaml: objects passed the checks, but not registry.New: %v", err))
	}
	return r
}
