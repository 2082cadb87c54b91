package objects

import (
	"cmp"
	"slices"
)

// shelf is the budgets of one namespace. Most demand a label with one value, so an allocation
// is asked for these labels, and then only the budgets that demand what it has are asked.
type shelf struct {
	labels []labelOf
	rest   []*Budget // those that demand no such label
}

// labelOf is the budgets that demand a label, by the value that they demand.
type labelOf struct {
	tag string
	by  map[string][]*Budget
}

// put adds a budget.
func (g *guards) put(b *Budget) {
	s := g.under[b.conf.Namespace]
	if s == nil {
		s = &shelf{}
		g.under[b.conf.Namespace] = s
	}
	tag, value, ok := b.conf.Selector.Anchor()
	if !ok {
		s.rest = append(s.rest, b)
		return
	}
	i := slices.IndexFunc(s.labels, func(l labelOf) bool { return l.tag == tag })
	if i < 0 {
		i = len(s.labels)
		s.labels = append(s.labels, labelOf{tag, map[string][]*Budget{}})
	}
	s.labels[i].by[value] = append(s.labels[i].by[value], b)
}

// selecting are the budgets that select work with these tags, in name order. A single one is a
// list that all such work shares.
func (s *shelf) selecting(tags map[string]string) (found []*Budget) {
	found = among(s.rest, tags, nil)
	for i := range s.labels {
		if value, ok := tags[s.labels[i].tag]; ok {
			found = among(s.labels[i].by[value], tags, found)
		}
	}
	if len(found) > 1 {
		slices.SortFunc(found, func(a, b *Budget) int { return cmp.Compare(a.place, b.place) })
	}
	return found
}

// among adds those of some budgets that select work with these tags.
func among(some []*Budget, tags map[string]string, found []*Budget) []*Budget {
	for _, b := range some {
		switch {
		case !b.conf.Selector.Matches(tags):
		case len(found) == 0:
			found = b.alone // which is full: a second one goes to a list of its own
		default:
			found = append(found, b)
		}
	}
	return found
}
