package objects

import (
	"cmp"
	"slices"
)

// budgetIndex is the budgets of one namespace. Most budgets require a label with one value; these
// are found by the labels of an allocation, without a look at the others.
type budgetIndex struct {
	labels       []labelBudgets
	withoutLabel []*Budget // those that require no label with one value
}

// labelBudgets is the budgets that require a label, by the required value.
type labelBudgets struct {
	tag     string
	byValue map[string][]*Budget
}

// add adds a budget.
func (g *budgetsInForce) add(b *Budget) {
	s := g.byNamespace[b.conf.Namespace]
	if s == nil {
		s = &budgetIndex{}
		g.byNamespace[b.conf.Namespace] = s
	}
	tag, value, ok := b.conf.Selector.RequiredTag()
	if !ok {
		s.withoutLabel = append(s.withoutLabel, b)
		return
	}
	i := slices.IndexFunc(s.labels, func(l labelBudgets) bool { return l.tag == tag })
	if i < 0 {
		i = len(s.labels)
		s.labels = append(s.labels, labelBudgets{tag, map[string][]*Budget{}})
	}
	s.labels[i].byValue[value] = append(s.labels[i].byValue[value], b)
}

// selecting are the budgets that select an allocation with these tags, in name order. If there is
// only one, the slice is shared.
func (s *budgetIndex) selecting(tags map[string]string) (found []*Budget) {
	found = appendSelecting(s.withoutLabel, tags, nil)
	for i := range s.labels {
		if value, ok := tags[s.labels[i].tag]; ok {
			found = appendSelecting(s.labels[i].byValue[value], tags, found)
		}
	}
	if len(found) > 1 {
		slices.SortFunc(found, func(a, b *Budget) int { return cmp.Compare(a.index, b.index) })
	}
	return found
}

// appendSelecting appends those of candidates that select an allocation with these tags.
func appendSelecting(candidates []*Budget, tags map[string]string, found []*Budget) []*Budget {
	for _, b := range candidates {
		switch {
		case !b.conf.Selector.Matches(tags):
		case len(found) == 0:
			found = b.asList // without capacity to append: a second budget makes a new slice
		default:
			found = append(found, b)
		}
	}
	return found
}
