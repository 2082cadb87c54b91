package configs

import (
	"cmp"

	"gopkg.in/yaml.v3"

	"github.com/canopy-scheduler/canopy/pkg/budgets"
	"github.com/canopy-scheduler/canopy/pkg/priorities"
)

// ClassDocument is a priority class that somebody wrote on its own.
type ClassDocument struct {
	Class     priorities.Class
	HasPolicy bool // it says which policy
	HasACL    bool // it says who may name it
}

// ReadClass reads a priority class as it would stand in the list of a document, in YAML or in
// JSON, which is YAML. name is that of one that does not say; it may be empty. The problems
// are those of Load.
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

// ReadBudget is ReadClass for a disruption budget. One that says neither is of this namespace
// and has this name; each may be empty.
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

// singleMapping reads a text that is one mapping; nil: it is not, and that is reported.
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
