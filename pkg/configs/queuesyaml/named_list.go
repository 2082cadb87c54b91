package queuesyaml

import (
	"cmp"
	"errors"
	"fmt"

	"gopkg.in/yaml.v3"

	"github.com/canopy-scheduler/canopy/pkg/budgets"
	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/configs/validation"
	"github.com/canopy-scheduler/canopy/pkg/priorities"
	"github.com/canopy-scheduler/canopy/pkg/registry"
)

// NamedList describes a list of named objects at the top of a document (ADR 50). A new kind of objects needs one,
// a line in KeepNamedObjects, and its fields in Config and in the mapping of a document.
type NamedList[T any, P registry.Object[T]] struct {
	key       string // in documents
	plural    string // for messages
	namespace string // of objects that name none; empty: the objects are in no namespace
	// objects is the field of a configuration that has them.
	objects func(*configs.Config) *registry.Registry[T, P]
	// listed reports whether the document of a configuration has the list.
	listed func(*configs.Config) bool
	// read reads an object. One without a name or a namespace has the given one, which may be empty.
	read func(r *reader, to *T, n *yaml.Node, given registry.Key)
	// fill writes the fields of an object except for its key into its node, and leaves values that are right already.
	fill func(n *yaml.Node, x *T)
}

// PriorityClasses are the priority classes of a document (PRI-25).
var PriorityClasses = &NamedList[priorities.Class, *priorities.Class]{
	key: "priorityclasses", plural: "priority classes",
	objects: func(c *configs.Config) *priorities.Registry { return &c.Classes },
	listed:  func(c *configs.Config) bool { return c.HasClasses },
	read:    (*reader).class, fill: fillClass,
}

// DisruptionBudgets are the disruption budgets of a document (CFG-22).
var DisruptionBudgets = &NamedList[budgets.Budget, *budgets.Budget]{
	key: budgetsKey, plural: "disruption budgets", namespace: budgets.DefaultNamespace,
	objects: func(c *configs.Config) *budgets.Registry { return &c.Budgets },
	listed:  func(c *configs.Config) bool { return c.HasBudgets },
	read:    (*reader).budget, fill: fillBudget,
}

// KeepNamedObjects returns the text of sent with the objects of inForce in each list that the text lacks. An error is
// of the objects that do not fit into it; the text has the others.
func KeepNamedObjects(text []byte, sent, inForce *configs.Config, o Options) ([]byte, error) {
	text, noClasses := PriorityClasses.keep(text, sent, inForce, o)
	text, noBudgets := DisruptionBudgets.keep(text, sent, inForce, o)
	return text, errors.Join(noClasses, noBudgets)
}

func (l *NamedList[T, P]) keep(text []byte, sent, inForce *configs.Config, o Options) ([]byte, error) {
	if l.listed(sent) {
		return text, nil
	}
	out, err := l.Edit(text, *l.objects(inForce), o)
	if err != nil {
		return text, fmt.Errorf("%s: %w", l.plural, err)
	}
	return out, nil
}

// Edit returns the text with its objects replaced and all else unchanged (CFG-97).
// Requires: the text is valid. An error means that the text can only be edited by hand.
func (l *NamedList[T, P]) Edit(text []byte, to registry.Registry[T, P], o Options) ([]byte, error) {
	old, err := loadForEdit(text, o)
	if err != nil || l.objects(old).Equal(to) {
		return text, err
	}
	wanted := *old
	*l.objects(&wanted) = to
	e := listEdit{
		key: l.key, idOf: func(n *yaml.Node) string { return l.keyOf(n).String() },
		matches: func(c *configs.Config) bool { return l.objects(c).Equal(to) },
	}
	var system registry.Registry[T, P] // what exists without a list
	all := to.All()
	for i := range all {
		x := P(&all[i])
		unlisted, exists := system.Get(x.Key())
		e.want = append(e.want, listItem{
			id: x.Key().String(), implicit: exists && x.Equal(unlisted),
			newNode: func() *yaml.Node { return l.newNode(x.Key()) }, fill: func(n *yaml.Node) { l.fill(n, x) },
		})
	}
	return editList(text, e, &wanted, o)
}

// readList reads the objects of a list: Kubernetes objects, or a short form without metadata.
func (l *NamedList[T, P]) readList(r *reader, n *yaml.Node) []T {
	return parts(r, nil, l.key, n, func(to *T, n *yaml.Node) { l.read(r, to, n, registry.Key{}) })
}

// keyOf is the key of the object in a node.
func (l *NamedList[T, P]) keyOf(n *yaml.Node) registry.Key {
	key := registry.Key{Name: objectText(n, "name")}
	if l.namespace != "" {
		key.Namespace = cmp.Or(objectText(n, "namespace"), l.namespace)
	}
	return key
}

// newNode is a mapping with a key only.
func (l *NamedList[T, P]) newNode(key registry.Key) *yaml.Node {
	n := nameMapping(key.Name)
	if key.Namespace != l.namespace {
		setKey(n, "namespace", scalar(key.Namespace))
	}
	return n
}

// Document is a document with a single object.
type Document[T any] struct {
	Object T
	fields map[string]bool // that are set
}

// Has reports whether a field of the object is set.
func (d *Document[T]) Has(f registry.Field) bool { return d.fields[string(f)] }

// ReadOne reads a single object, in the form of an element of the list, in YAML or JSON. An object without a name or
// a namespace has the given one; each may be empty. The problems are those of Load.
func (l *NamedList[T, P]) ReadOne(text []byte, given registry.Key, o Options) (Document[T], validation.Problems) {
	r := newReader(o)
	n := r.singleMapping(text, "a "+P(nil).Kind().Name)
	if n == nil {
		return Document[T]{}, r.Sorted()
	}
	one := make([]T, 1)
	r.Record(&one[0], n)
	l.read(r, &one[0], n, given)
	validation.CheckNamed[T, P](&r.Report, one)
	doc := Document[T]{one[0], map[string]bool{}}
	for i := 0; i+1 < len(n.Content); i += 2 {
		doc.fields[n.Content[i].Value] = !isNull(n.Content[i+1])
	}
	return doc, r.Sorted()
}
