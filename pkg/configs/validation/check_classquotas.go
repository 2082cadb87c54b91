package validation

import (
	"fmt"
	"maps"
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/limits"
	"github.com/canopy-scheduler/canopy/pkg/names"
	"github.com/canopy-scheduler/canopy/pkg/priorities"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// classQuotaCheck applies the rules about class quotas, which depend on the classes of the document.
type classQuotaCheck struct {
	*Report
	known map[string]bool // classes that exist; nil: the document has no key priorityclasses
	names []string        // the names in known, for suggestions
}

// checkClassQuotas applies the rules about class quotas to all partitions.
func (r *Report) checkClassQuotas(t *Tree) {
	c := classQuotaCheck{Report: r}
	if t.Config.HasClasses {
		c.known = map[string]bool{}
		system := priorities.Registry{}
		for _, x := range system.All() {
			c.known[x.Name] = true
		}
		for _, x := range t.Classes {
			c.known[x.Name] = true
		}
		c.names = slices.Sorted(maps.Keys(c.known))
	}
	for _, p := range t.Partitions {
		covered := classCoverage{included: map[string]bool{}, excluded: map[string]int{}}
		c.checkQueue(p.Root, &covered)
		c.checkNeedingQuota(p, &covered)
	}
}

// classCoverage is the set of classes that the class quotas of a partition count.
type classCoverage struct {
	matchesAny bool            // a quota has the operator Exists
	included   map[string]bool // classes of the quotas with In
	notInCount int             // number of quotas with NotIn
	excluded   map[string]int  // by class: number of quotas with NotIn that exclude it
}

func (f *classCoverage) add(s *limits.Selector) {
	switch s.Operator {
	case limits.In:
		for _, class := range s.Classes {
			f.included[class] = true
		}
	case limits.NotIn:
		f.notInCount++
		for _, class := range s.Classes {
			f.excluded[class]++
		}
	case limits.Exists:
		f.matchesAny = true
	}
}

func (f *classCoverage) covers(class string) bool {
	return f.matchesAny || f.included[class] || f.excluded[class] < f.notInCount
}

// checkNeedingQuota checks classesneedingquota, the selectors of the asks that need a class quota.
func (c *classQuotaCheck) checkNeedingQuota(p *Partition, covered *classCoverage) {
	seen := map[string]Position{}
	for i := range p.ClassesNeedingQuota {
		s := &p.ClassesNeedingQuota[i]
		c.checkSelector(p.Subject, s)
		if c.IsMisread(s) {
			continue
		}
		if first, twice := seen[matchText(s)]; twice {
			c.Add(p.Subject, c.At(s), "classquota-selector",
				fmt.Sprintf("the same selector is in line %d already", first.Line), "")
			continue
		}
		seen[matchText(s)] = c.At(s)
		if s.Operator != limits.In {
			continue
		}
		for j, class := range s.Classes {
			if !covered.covers(class) {
				c.Add(p.Subject, c.At(s, "classes", j), "classquota-uncovered",
					fmt.Sprintf("no queue has a class quota that counts asks of class %s, "+
						"so all of them are rejected", Quote(class)), "")
			}
		}
	}
}

// checkQueue checks the class quotas of a queue and of the queues below it. Requires: the parent was
// checked before.
func (c *classQuotaCheck) checkQueue(q *Queue, covered *classCoverage) {
	seen := map[string]Position{}
	byHolder := map[string]quotaHolder{} // by match and holder
	for i := range q.ClassQuotas {
		d := &q.ClassQuotas[i]
		c.checkQuotaName(q, d, seen)
		if c.isSet(d, "match") {
			c.checkSelector(q.Subject, &d.Match)
		} else {
			c.MarkMisread(&d.Match)
			c.Add(q.Subject, c.At(d), "classquota-operator", `key "match" is missing in a class quota`,
				"it selects the asks that the quota counts; "+OperatorHint)
		}
		c.checkHard(q, d)
		c.checkHolders(q, d)
		if c.IsMisread(&d.Match) {
			continue
		}
		covered.add(&d.Match)
		c.checkDuplicateHolders(q, d, byHolder)
		c.checkParentQuotas(q, d)
	}
	for _, child := range q.Children {
		c.checkQueue(child, covered)
	}
}

func (c *classQuotaCheck) checkQuotaName(q *Queue, d *limits.ClassQuota, seen map[string]Position) {
	where := c.At(d, "name")
	if reason := classNameProblem(d.Name); reason != "" {
		c.Add(q.Subject, where, "classquota-name", "the class quota: "+reason, "")
		return
	}
	if first, twice := seen[d.Name]; twice {
		c.Add(q.Subject, where, "classquota-name",
			fmt.Sprintf("the queue has a class quota %s in line %d already", Quote(d.Name), first.Line), "")
		return
	}
	seen[d.Name] = where
}

// checkSelector checks an operator against its classes.
func (c *classQuotaCheck) checkSelector(o *Subject, s *limits.Selector) {
	if c.IsMisread(s) {
		return
	}
	wrong := func(where Position, message, hint string) {
		c.MarkMisread(s)
		c.Add(o, where, "classquota-selector", message, hint)
	}
	switch needs := s.Operator.NeedsClasses(); {
	case needs && len(s.Classes) == 0:
		wrong(c.At(s), fmt.Sprintf("operator %s needs classes", s.Operator), "classes: [a, b]")
	case !needs && len(s.Classes) > 0:
		wrong(c.At(s, "classes", 0), fmt.Sprintf("operator %s takes no classes", s.Operator),
			"only In and NotIn take classes")
	}
	seen := map[string]bool{}
	for i, class := range s.Classes {
		if reason := classNameProblem(class); reason != "" {
			wrong(c.At(s, "classes", i), fmt.Sprintf("%s cannot be a priority class: %s", Quote(class), reason), "")
			continue
		}
		if seen[class] {
			wrong(c.At(s, "classes", i), fmt.Sprintf("class %s is in the list already", Quote(class)), "")
			continue
		}
		seen[class] = true
		if c.known != nil && !c.known[class] {
			c.Add(o, c.At(s, "classes", i), "classquota-class", fmt.Sprintf("there is no priority class %s", Quote(class)),
				DidYouMean(class, c.names))
		}
	}
}

// matchText identifies the asks that a selector matches. The order of its classes has no meaning.
func matchText(s *limits.Selector) string {
	return limits.Selector{Operator: s.Operator, Classes: slices.Sorted(slices.Values(s.Classes))}.String()
}

func (c *classQuotaCheck) checkHard(q *Queue, d *limits.ClassQuota) {
	if d.Hard.IsUnlimited() && !c.IsMisread(&d.Hard) {
		c.Add(q.Subject, c.At(d, "hard"), "classquota-hard", "the class quota limits nothing",
			"hard: {pods: 10}; zero forbids")
	}
}

// checkHolders checks the names of users and groups.
func (c *classQuotaCheck) checkHolders(q *Queue, d *limits.ClassQuota) {
	check := func(kind string, names []string, legal func(string) bool, hint string) {
		for i, name := range names {
			if name != limits.Wildcard && !legal(name) {
				c.Add(q.Subject, c.At(d, kind+"s", i), "classquota-holder",
					fmt.Sprintf("%s name %s is not legal", kind, Quote(name)), hint)
			}
		}
	}
	check("user", d.Users, security.IsUserName, UserNameHint)
	check("group", d.Groups, security.IsGroupName, GroupNameHint)
}

// quotaHolder is a user, a group, or all users, for whom a class quota is.
type quotaHolder struct {
	Position
	quota string
}

// checkDuplicateHolders refuses a second quota of the same match for a user, for a group or for all
// users: it would be ambiguous which of the two counts.
func (c *classQuotaCheck) checkDuplicateHolders(q *Queue, d *limits.ClassQuota, byHolder map[string]quotaHolder) {
	match := matchText(&d.Match)
	claim := func(holder string, where Position) {
		key := match + "\n" + holder
		if first, ok := byHolder[key]; ok {
			c.Add(q.Subject, where, "classquota-holder",
				fmt.Sprintf("quota %s in line %d has the same match and is for %s already", Quote(first.quota), first.Line,
					holder), "")
			return
		}
		byHolder[key] = quotaHolder{where, d.Name}
	}
	if d.CountsAllUsers() {
		claim("all users together", c.At(d))
	}
	for i, name := range d.Users {
		claim("user "+Quote(name), c.At(d, "users", i))
	}
	for i, name := range d.Groups {
		claim("group "+Quote(name), c.At(d, "groups", i))
	}
}

// checkParentQuotas compares a quota for all users with the quotas for all users and of the same match in
// the queues above: a higher quantity could never be used.
func (c *classQuotaCheck) checkParentQuotas(q *Queue, d *limits.ClassQuota) {
	if !d.CountsAllUsers() {
		return
	}
	if q.quotaByMatch == nil {
		q.quotaByMatch = map[string]*limits.ClassQuota{}
	}
	match := matchText(&d.Match)
	q.quotaByMatch[match] = d
	for name, n := range d.Hard.All() {
		for up := q.Above; up != nil; up = up.Above {
			other := up.quotaByMatch[match]
			if other == nil {
				continue
			}
			most, limited := other.Hard.Get(name)
			if !limited {
				continue
			}
			if n > most {
				c.Add(q.Subject, c.At(d, "hard", name), "classquota-above",
					fmt.Sprintf("hard %s %s is more than the %s of quota %s in %s", name, resources.FormatQuantity(name, n),
						resources.FormatQuantity(name, most), Quote(other.Name), up.path()), "")
			}
			break
		}
	}
}

// classNameProblem is the reason why a name cannot name a class or a class quota; empty: it can.
func classNameProblem(name string) string {
	if name == "" {
		return "it has no name"
	}
	if reason := names.SubdomainProblem(name); reason != "" {
		return "the name " + reason
	}
	return ""
}
