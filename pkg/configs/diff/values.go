package diff

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/placement"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// value is a value of a queue, a limit or a partition, for comparison.
type value struct {
	text     string // empty for a quantity
	quantity bool
	resource string // of a quantity
	n        resources.Quantity
}

// values are values by name.
type values map[string]value

func (v values) put(name, text string) { v[name] = value{text: text} }

func (v values) putQuantity(prefix, resource string, n resources.Quantity) {
	v[prefix+resource] = value{quantity: true, resource: resource, n: n}
}

func (v values) putLimit(prefix string, l resources.Limit) {
	for name, n := range l.All() {
		v.putQuantity(prefix, name, n)
	}
	v.putPercents(prefix, l.Percents())
}

func (v values) putPercents(prefix string, percents iter.Seq2[string, resources.Percent]) {
	for name, p := range percents {
		v.put(prefix+name, p.String())
	}
}

func (v values) putGuarantee(prefix string, g resources.Guarantee) {
	for name, n := range g.All() {
		v.putQuantity(prefix, name, n)
	}
	v.putPercents(prefix, g.Percents())
}

func (v values) putCount(name string, n uint64) {
	if n > 0 {
		v.put(name, strconv.FormatUint(n, 10))
	}
}

// spelt returns the value as a document writes it; nil: as resources.FormatQuantity does.
func (v value) spelt(c *configs.Config) string {
	if v.quantity {
		return c.FormatQuantity(v.resource, v.n)
	}
	return v.text
}

// spelling are the documents before and after a change. Its zero value has none.
type spelling struct{ old, new *configs.Config }

// diff returns the values that differ, in name order. A property is inherited if the queue above has the same value
// before and after; nil maps: there is no queue above.
func (s spelling) diff(before, after, aboveBefore, aboveAfter values) []ValueChange {
	if maps.Equal(before, after) {
		return nil
	}
	var out []ValueChange
	for _, name := range keysOfBoth(before, after) {
		was, is := before[name], after[name]
		if was == is {
			continue
		}
		resource, own := strings.CutPrefix(name, "own max ")
		effective := "max " + resource
		switch {
		case own && before[effective] != after[effective]:
			continue // it is reported as the effective max
		case own:
			name = "max " + resource + " of its own"
		}
		c := ValueChange{Name: strings.TrimPrefix(name, "property "), Before: was.spelt(s.old), After: is.spelt(s.new)}
		if strings.HasPrefix(name, "max ") && !own {
			own := "own " + name
			c.Inherited = before[own] == after[own]
		} else if strings.HasPrefix(name, "property ") {
			c.Inherited = aboveAfter != nil && aboveBefore[name] == was && aboveAfter[name] == is
		}
		out = append(out, c)
	}
	slices.SortFunc(out, func(a, b ValueChange) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// partitionValues returns the settings of a partition by name; nil: the partition does not exist.
func partitionValues(p *configs.Partition) values {
	if p == nil {
		return nil
	}
	v := values{}
	v.put("priority", map[bool]string{false: "enabled", true: "disabled"}[p.PriorityDisabled])
	v.put("nodesortpolicy", p.NodeSortPolicy.Sort.String())
	v.put("usergroupresolver", p.UserGroupResolver)
	for _, s := range configs.PartitionSettings() {
		v.put(s.Label(), s.Text(p))
	}
	for _, w := range p.NodeSortPolicy.Weights {
		v.put("resourceweights "+w.Resource, strconv.FormatFloat(w.Weight, 'g', -1, 64))
	}
	for i, s := range p.ClassesNeedingQuota {
		v.put(fmt.Sprintf("classesneedingquota[%d]", i), s.String())
	}
	for i := range p.PlacementRules {
		v.put(fmt.Sprintf("placementrules[%d]", i), placementRuleText(&p.PlacementRules[i]))
	}
	return v
}

// placementRuleText is a placement rule with its filter and parents, in one line.
func placementRuleText(r *placement.Rule) string {
	text := r.String()
	if r.Create {
		text += ", may create"
	}
	if f := filterText(&r.Filter); f != "" {
		text += ", " + f
	}
	if r.Parent != nil {
		text += ", below (" + placementRuleText(r.Parent) + ")"
	}
	return text
}

func filterText(f *placement.Filter) string {
	var criteria []string
	list := func(what string, names []string) {
		if len(names) > 0 {
			criteria = append(criteria, what+" "+strings.Join(names, ", "))
		}
	}
	list("users", f.Users)
	list("groups", f.Groups)
	if f.UserPattern != nil {
		criteria = append(criteria, "users matching "+f.UserPattern.String())
	}
	if f.GroupPattern != nil {
		criteria = append(criteria, "groups matching "+f.GroupPattern.String())
	}
	switch {
	case len(criteria) == 0 && f.Deny:
		return "for no user"
	case len(criteria) == 0:
		return ""
	case f.Deny:
		return "not for " + strings.Join(criteria, " and ")
	}
	return "for " + strings.Join(criteria, " and ")
}
