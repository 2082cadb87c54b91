package validation

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// resourceUse is the use of one resource name in a partition of the document.
type resourceUse struct {
	partition, name string
	first           occurrences // the first position of the name
	count           int         // how often the name is written
	positive        bool        // some quantity of it is above zero, or it has a weight
	small           occurrences // the first implausibly small quantity; none: count is 0
	smallText       string      // the text of that quantity
}

func (x *resourceUse) add(o *Subject, what string, where Position, positive bool) {
	x.count++
	x.first.add(o, what, where)
	x.positive = x.positive || positive
}

// occurrences is the first position for a warning, with the lines of the further ones.
type occurrences struct {
	Position
	subject *Subject
	what    string // the key that has the quantity, such as max
	lines   []int  // lines of the first maxLinesListed further positions
	count   int    // number of positions
}

// maxLinesListed bounds the further lines that a warning lists (CFG-83).
const maxLinesListed = 5

func (f *occurrences) add(o *Subject, what string, where Position) {
	switch f.count++; {
	case f.count == 1:
		f.subject, f.what, f.Position = o, what, where
	case len(f.lines) < maxLinesListed:
		f.lines = append(f.lines, where.Line)
	}
}

// furtherLines lists the further positions: " (also in lines 3, 5 and 12 more)". Empty: there are none.
func (f *occurrences) furtherLines() string {
	if f.count < 2 {
		return ""
	}
	lines := slices.Compact(slices.Sorted(slices.Values(f.lines)))
	words := make([]string, len(lines))
	for i, n := range lines {
		words[i] = fmt.Sprint(n)
	}
	text := " (also in line "
	if len(words) > 1 {
		text = " (also in lines "
	}
	text += strings.Join(words, ", ")
	if more := f.count - 1 - len(f.lines); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text + ")"
}

// resourceUses are the resource names that a document uses, by partition and name.
type resourceUses map[string]map[string]*resourceUse

// use returns the use of a name in a partition, and adds a new one. A partition names a bounded number of different
// resources (CFG-16); the excess is reported once and not kept, because a document may have a million of them.
func (r *Report) use(partition, name string, o *Subject, where Position) *resourceUse {
	if r.uses == nil {
		r.uses = resourceUses{}
	}
	names := r.uses[partition]
	if names == nil {
		names = map[string]*resourceUse{}
		r.uses[partition] = names
	}
	if x := names[name]; x != nil {
		return x
	}
	x := &resourceUse{partition: partition, name: name}
	if len(names) <= resources.MaxNames {
		names[name] = x
		if len(names) > resources.MaxNames {
			r.Add(o, where, "bound-resources", fmt.Sprintf("the partition names more than %d different resources",
				resources.MaxNames), "")
		}
	}
	return x
}

// RecordQuantity records a quantity of a resource of the document. In a class quota, pods is the
// number of asks and allocations and not a resource of nodes, so no warning is about it there.
func (r *Report) RecordQuantity(partition string, o *Subject, what, name string, key, value Position,
	n resources.Quantity, text string) {
	x := r.use(partition, name, o, value)
	if what == hardKey && name == "pods" {
		return
	}
	x.add(o, what, key, n > 0)
	if n > 0 && n < smallestPlausible(name) {
		if x.small.count == 0 {
			x.smallText = text
		}
		x.small.add(o, what, value)
	}
}

// RecordPercent records a percent of a resource of the document.
func (r *Report) RecordPercent(partition string, o *Subject, what, name string, key Position) {
	r.use(partition, name, o, key).add(o, what, key, true)
}

// RecordWeight records a resource with a weight in the node sort policy of a partition.
func (r *Report) RecordWeight(p *Partition, name string, key Position) {
	r.use(p.Name, name, p.Subject, key).add(p.Subject, "resourceweights", key, true)
}

// hardKey is the key of the quantities of a class quota.
const hardKey = "hard"

// WarnResources warns of legal quantities that are probably mistakes: a resource name that nodes and
// asks do not use, or an amount in which nothing can run (CFG-79 to CFG-83).
// WarnResources warns of resources that no node has. capacity is the sum over the nodes of each partition, by resource.
func (r *Report) WarnResources(capacity map[string]map[string]resources.Quantity) {
	var all []*resourceUse
	for _, names := range r.uses {
		for _, x := range names {
			if x.count > 0 {
				all = append(all, x)
			}
		}
	}
	slices.SortFunc(all, func(a, b *resourceUse) int {
		return cmp.Or(cmp.Compare(a.first.Line, b.first.Line), cmp.Compare(a.first.Col, b.first.Col),
			cmp.Compare(a.partition, b.partition), cmp.Compare(a.name, b.name))
	})
	near := findSimilarNames(all)
	for _, x := range all {
		if nodes := resourcesOf(capacity[x.partition]); len(nodes) > 0 {
			r.warnAbsentResource(x, nodes)
		} else {
			r.warnMisnamedResource(x, near)
		}
		r.warnSmallQuantity(x)
	}
}

// resourcesOf returns the names of the resources of which there is some, sorted.
func resourcesOf(capacity map[string]resources.Quantity) (names []string) {
	for name, n := range capacity {
		if n > 0 {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// warnMisnamedResource warns of an empty name, and of one that resembles a well-known name or one that is used more
// often.
func (r *Report) warnMisnamedResource(x *resourceUse, near map[string]*resourceUse) {
	if strings.TrimSpace(x.name) == "" {
		r.Add(x.first.subject, x.first.Position, "resource-name", fmt.Sprintf("%s is for a resource without a name%s",
			x.first.what, x.first.furtherLines()), "")
	} else if known := WellKnownResource(x.name); known != "" {
		r.Add(x.first.subject, x.first.Position, "resource-name", fmt.Sprintf("%s is for a resource %s, which is not %q%s",
			x.first.what, Quote(x.name), known, x.first.furtherLines()), suggestionText(known))
	} else if other := near[x.name]; other != nil {
		r.Add(x.first.subject, x.first.Position, "resource-similar",
			fmt.Sprintf("%s is for a resource %s, and line %d has another one, %s%s",
				x.first.what, Quote(x.name), other.first.Line, Quote(other.name), x.first.furtherLines()),
			suggestionText(other.name))
	}
}

// warnAbsentResource warns of a resource that no node of a server has (CFG-81). A resource with zeroes only
// is not warned of, because it may be forbidden in advance, unless its name resembles one that nodes have.
func (r *Report) warnAbsentResource(x *resourceUse, nodes []string) {
	if slices.Contains(nodes, x.name) {
		return
	}
	hint := ""
	if known := WellKnownResource(x.name); known != "" && slices.Contains(nodes, known) {
		hint = suggestionText(known)
	} else if i := slices.IndexFunc(nodes, func(n string) bool { return isSimilarName(x.name, n) }); i >= 0 {
		hint = suggestionText(nodes[i])
	} else if !x.positive {
		return
	} else {
		hint = "the nodes have " + quotedList(nodes)
	}
	r.Add(x.first.subject, x.first.Position, "resource-absent", fmt.Sprintf("%s is for a resource %s, which no node has%s",
		x.first.what, Quote(x.name), x.first.furtherLines()), hint)
}

func suggestionText(name string) string { return fmt.Sprintf("did you mean %q?", name) }

// quotedList lists quoted names, at most the first twelve.
func quotedList(names []string) string {
	const most = 12
	var out []string
	for _, n := range names[:min(most, len(names))] {
		out = append(out, Quote(n))
	}
	text := strings.Join(out, ", ")
	if more := len(names) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
