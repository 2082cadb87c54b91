package diff

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/placement"
)

// diffValues are the values that differ, in name order. A property is inherited if the queue
// above has the same value before and after; nil maps: there is no queue above.
func diffValues(before, after, aboveBefore, aboveAfter map[string]string) []ValueChange {
	if maps.Equal(before, after) {
		return nil
	}
	names := maps.Clone(before)
	if names == nil {
		names = map[string]string{}
	}
	maps.Copy(names, after)
	var out []ValueChange
	for name := range names {
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
		c := ValueChange{Name: strings.TrimPrefix(name, "property "), Before: was, After: is}
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

// partitionValues are the settings of a partition by name; nil: the partition does not exist.
func partitionValues(p *configs.Partition) map[string]string {
	if p == nil {
		return nil
	}
	v := map[string]string{
		"priority":          map[bool]string{false: "enabled", true: "disabled"}[p.PriorityDisabled],
		"preemption":        strconv.FormatBool(p.PreemptionEnabled),
		"quotapreemption":   strconv.FormatBool(p.QuotaPreemptionEnabled),
		"nodepressure":      strconv.FormatBool(p.NodePressureEnabled),
		"nodepressuregrace": p.NodePressureGrace.String(),
		"nominationtimeout": p.NominationTimeout.String(),
		"churnbreaker":      strconv.FormatBool(p.Churn.CircuitBreaker),
		"churncycles":       strconv.Itoa(p.Churn.Cycles),
		"churnwindow":       p.Churn.Window.String(), "churncooldown": p.Churn.CoolDown.String(),
		"reservation":             strconv.FormatBool(p.Reservation.Enabled),
		"reservation delay":       p.Reservation.Delay.String(),
		"reservation timeout":     p.Reservation.Timeout.String(),
		"reservation nodepercent": strconv.Itoa(p.Reservation.NodePercent),
		"noderefusal backoff":     p.NodeRefusal.Backoff.String(),
		"noderefusal maxbackoff":  p.NodeRefusal.MaxBackoff.String(),
		"noderefusal asks":        strconv.Itoa(p.NodeRefusal.Asks),
		"nodesortpolicy":          p.NodeSortPolicy.Sort.String(), "usergroupresolver": p.UserGroupResolver,
	}
	for _, w := range p.NodeSortPolicy.Weights {
		v["resourceweights "+w.Resource] = strconv.FormatFloat(w.Weight, 'g', -1, 64)
	}
	for i, s := range p.ClassesNeedingQuota {
		v[fmt.Sprintf("classesneedingquota[%d]", i)] = s.String()
	}
	for i := range p.PlacementRules {
		v[fmt.Sprintf("placementrules[%d]", i)] = placementRuleText(&p.PlacementRules[i])
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
