package queuesyaml

import (
	"maps"
	"slices"
	"strconv"

	"gopkg.in/yaml.v3"

	"github.com/canopy-scheduler/canopy/pkg/budgets"
	"github.com/canopy-scheduler/canopy/pkg/configs"
)

// EditBudgets returns the text with its disruption budgets replaced and all else unchanged (CFG-97).
// Requires: the text is valid. An error means that the text can only be edited by hand.
func EditBudgets(text []byte, r budgets.Registry, o Options) ([]byte, error) {
	old, err := loadForEdit(text, o)
	if err != nil || old.Budgets.Equal(r) {
		return text, err
	}
	wanted := *old
	wanted.Budgets = r
	e := listEdit{key: budgetsKey, idOf: budgetID, matches: func(c *configs.Config) bool { return c.Budgets.Equal(r) }}
	all := r.All()
	for i := range all {
		b := &all[i]
		e.want = append(e.want, listItem{
			id: b.ID(), fill: func(n *yaml.Node) { fillBudget(n, b) },
			newNode: func() *yaml.Node {
				n := nameMapping(b.Name)
				if b.Namespace != budgets.DefaultNamespace {
					setKey(n, "namespace", scalar(b.Namespace))
				}
				return n
			},
		})
	}
	return editList(text, e, &wanted, o)
}

func budgetID(n *yaml.Node) string {
	return newBudget(n).budget.ID()
}

// fillBudget writes the selector and the allowance of a budget into its node, in the form that
// the node has, and leaves values that are right already.
func fillBudget(n *yaml.Node, b *budgets.Budget) {
	d := (&reader{options: DefaultOptions()}).budget(newBudget(n), n)
	_, spec := lookupKey(n, "spec")
	if isNull(spec) {
		spec = n
	}
	if !d.budget.Selector.Equal(b.Selector) {
		setField(n, spec, selectorNode(b.Selector), budgets.SelectorField)
	}
	if d.budget.Allowance != b.Allowance {
		f := b.Allowance.Kind.Field()
		for _, other := range []budgets.Field{budgets.MinField, budgets.MaxField, budgets.AllowedField} {
			if other != f {
				deleteKey(n, string(other))
				deleteKey(spec, string(other))
			}
		}
		number := scalar(b.Allowance.Number())
		if !b.Allowance.Percent {
			number = &yaml.Node{Kind: yaml.ScalarNode, Value: strconv.Itoa(int(b.Allowance.N))}
		}
		if f == budgets.AllowedField {
			spec = n
		}
		setField(n, spec, number, f)
	}
}

// setField sets a key where it is written already, or otherwise in spec.
func setField(n, spec, value *yaml.Node, f budgets.Field) {
	if _, was := lookupKey(n, string(f)); !isNull(was) {
		spec = n
	}
	setKey(spec, string(f), value)
}

func selectorNode(s budgets.Selector) *yaml.Node {
	out := &yaml.Node{Kind: yaml.MappingNode}
	labels := &yaml.Node{Kind: yaml.MappingNode}
	list := &yaml.Node{Kind: yaml.SequenceNode}
	named := s.Labels()
	for _, key := range slices.Sorted(maps.Keys(named)) {
		setKey(labels, key, scalar(named[key]))
	}
	for _, e := range s.Expressions() {
		x := &yaml.Node{Kind: yaml.MappingNode}
		setKey(x, "key", scalar(e.Key))
		setKey(x, "operator", scalar(string(e.Operator)))
		if len(e.Values) > 0 {
			values := &yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle}
			for _, v := range e.Values {
				values.Content = append(values.Content, scalar(v))
			}
			setKey(x, "values", values)
		}
		list.Content = append(list.Content, x)
	}
	if len(labels.Content) > 0 {
		setKey(out, "matchLabels", labels)
	}
	if len(list.Content) > 0 {
		setKey(out, "matchExpressions", list)
	}
	return out
}
