package queuesyaml

import (
	"maps"
	"slices"
	"strconv"

	"gopkg.in/yaml.v3"

	"github.com/canopy-scheduler/canopy/pkg/budgets"
	"github.com/canopy-scheduler/canopy/pkg/registry"
)

// fillBudget writes the selector and the allowance of a budget into its node, in the form that
// the node has, and leaves values that are right already.
func fillBudget(n *yaml.Node, b *budgets.Budget) {
	var was budgets.Budget
	newReader(DefaultOptions()).budget(&was, n, registry.Key{})
	_, spec := lookupKey(n, "spec")
	if isNull(spec) {
		spec = n
	}
	if !was.Selector.Equal(b.Selector) {
		setField(n, spec, selectorNode(b.Selector), budgets.SelectorField)
	}
	if was.Allowance != b.Allowance {
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
