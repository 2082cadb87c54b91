package objects

import (
	"cmp"
	"slices"
)

// budgetIndex is the budgets of one namespace. Most demand a label with one value, so an allocation
// is asked for these labels, and then only the budgets that demand what it has are asked.
type budgetIndex struct {
	labels       []labelBudgets
	withoutLabel []*Budget // those that demand no such label
}

// labelBudgets is the budgets that demand a label, by the value that they demand.
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

// selecting are the budgets that select work with these tags, in name order. A single one is a
// list that all such work shares.
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

// appendSelecting adds those of some budgets that select work with these tags.
func appendSelecting(candidates []*Budget, tags map[string]string, found []*Budget) []*Budget {
	for _, b := range candidates {
		switch {
		case !b.conf.Selector.Matches(tags):
		case len(found) == 0:
			found = b.asList // which is full: a second one goes to a list of its own
		default:
			found = append(found, b)
		}
	}
	return found
}
