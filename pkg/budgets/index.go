package budgets

import (
	"cmp"
	"slices"
)

// namespaceIndex holds the budgets of one namespace. Most budgets require a label with one value: the labels of an
// allocation lead to these, without a look at the others.
type namespaceIndex struct {
	labels       []labelIndex
	withoutLabel []*Tracked // those that require no label with one value
}

// labelIndex holds the budgets that require a label, by the required value.
type labelIndex struct {
	tag     string
	byValue map[string][]*Tracked
}

// add adds a budget.
func (s *namespaceIndex) add(b *Tracked) {
	tag, value, ok := b.conf.Selector.RequiredTag()
	if !ok {
		s.withoutLabel = append(s.withoutLabel, b)
		return
	}
	i := slices.IndexFunc(s.labels, func(l labelIndex) bool { return l.tag == tag })
	if i < 0 {
		i = len(s.labels)
		s.labels = append(s.labels, labelIndex{tag, map[string][]*Tracked{}})
	}
	s.labels[i].byValue[value] = append(s.labels[i].byValue[value], b)
}

// selecting returns the budgets that select an allocation with these tags, in name order. If there is
// only one, the slice is shared.
func (s *namespaceIndex) selecting(tags map[string]string) (found []*Tracked) {
	found = appendSelecting(s.withoutLabel, tags, nil)
	for i := range s.labels {
		if value, ok := tags[s.labels[i].tag]; ok {
			found = appendSelecting(s.labels[i].byValue[value], tags, found)
		}
	}
	if len(found) > 1 {
		slices.SortFunc(found, func(a, b *Tracked) int { return cmp.Compare(a.index, b.index) })
	}
	return found
}

// appendSelecting appends those of candidates that select an allocation with these tags.
func appendSelecting(candidates []*Tracked, tags map[string]string, found []*Tracked) []*Tracked {
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
