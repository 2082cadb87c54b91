package queuesyaml

import (
	"cmp"

	"gopkg.in/yaml.v3"

	"github.com/canopy-scheduler/canopy/pkg/budgets"
	"github.com/canopy-scheduler/canopy/pkg/priorities"
)

// ClassDocument is a document with a single priority class.
type ClassDocument struct {
	Class     priorities.Class
	HasPolicy bool // preemptionPolicy is set
	HasACL    bool // submitacl is set
}

// ReadClass reads a single priority class, in the form of an element of priorityclasses, in YAML
// or JSON. A class without a name has the given name, which may be empty. The problems are
// those of Load.
func ReadClass(text []byte, name string, o Options) (ClassDocument, Problems) {
	r := newReader(o)
	n := r.singleMapping(text, "a priority class")
	if n == nil {
		return ClassDocument{}, r.sorted()
	}
	d := r.class(n)
	d.class.Name = cmp.Or(d.class.Name, name)
	r.checkClasses([]*classDraft{d})
	_, policy := lookupKey(n, string(priorities.PolicyField))
	return ClassDocument{d.class, !isNull(policy), d.class.SubmitACL != nil}, r.sorted()
}

// ReadBudget is ReadClass for a disruption budget. A budget without a namespace or a name has the
// given one; each may be empty.
func ReadBudget(text []byte, namespace, name string, o Options) (budgets.Budget, Problems) {
	r := newReader(o)
	n := r.singleMapping(text, "a disruption budget")
	if n == nil {
		return budgets.Budget{}, r.sorted()
	}
	d := newBudget(n)
	d.budget.Name = cmp.Or(d.budget.Name, name)
	d.budget.Namespace = cmp.Or(objectText(n, "namespace"), namespace, budgets.DefaultNamespace)
	r.budget(d, n)
	r.checkBudgets([]*budgetDraft{d})
	return d.budget, r.sorted()
}

// singleMapping parses a text that is one mapping; nil: it is not, and a problem is reported.
func (r *reader) singleMapping(text []byte, what string) *yaml.Node {
	if !r.checkTextSize(text) {
		return nil
	}
	n := r.parseDocument(text)
	if n != nil && n.Kind == yaml.MappingNode {
		return n
	}
	if !r.problems.HasErrors() {
		r.add(nil, position{}, "yaml-type", what+" must be a mapping", "")
	}
	return nil
}
