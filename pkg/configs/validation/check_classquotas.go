package validation

import (
	"fmt"

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

// checkClassQuotas applies the rules about class quotas to all partitions. listed is whether the
// document lists priority classes.
func (r *Report) checkClassQuotas(partitions []*PartitionDraft, classes []*ClassDraft, listed bool) {
	c := classQuotaCheck{Report: r}
	if listed {
		c.known = map[string]bool{}
		system := priorities.Registry{}
		for _, x := range system.All() {
			c.known[x.Name] = true
		}
		for _, d := range classes {
			c.known[d.Object.Name] = true
		}
		c.names = sortedKeys(c.known)
	}
	for _, p := range partitions {
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

func (f *classCoverage) add(s *ClassSelectorDraft) {
	switch s.Operator {
	case limits.In:
		for _, w := range s.Classes {
			f.included[w.Text] = true
		}
	case limits.NotIn:
		f.notInCount++
		for _, w := range s.Classes {
			f.excluded[w.Text]++
		}
	case limits.Exists:
		f.matchesAny = true
	}
}

func (f *classCoverage) covers(class string) bool {
	return f.matchesAny || f.included[class] || f.excluded[class] < f.notInCount
}

// checkNeedingQuota checks classesneedingquota, the selectors of the asks that need a class quota.
func (c *classQuotaCheck) checkNeedingQuota(p *PartitionDraft, covered *classCoverage) {
	seen := map[string]Position{}
	for _, s := range p.ClassesNeedingQuota {
		c.checkSelector(p, s)
		if s.Broken {
			continue
		}
		if first, twice := seen[s.text]; twice {
			c.Add(p, s.Position, "classquota-selector", fmt.Sprintf("the same selector is in line %d already", first.Line), "")
			continue
		}
		seen[s.text] = s.Position
		if s.Operator != limits.In {
			continue
		}
		for _, w := range s.Classes {
			if !covered.covers(w.Text) {
				c.Add(p, w.Position, "classquota-uncovered",
					fmt.Sprintf("no queue has a class quota that counts asks of class %s, "+
						"so all of them are rejected", Quote(w.Text)), "")
			}
		}
	}
}

// checkQueue checks the class quotas of a queue and of the queues below it. Requires: the parent was
// checked before.
func (c *classQuotaCheck) checkQueue(q *QueueDraft, covered *classCoverage) {
	seen := map[string]Position{}
	byHolder := map[string]Token{} // match and holder to the name of the quota
	for _, d := range q.ClassQuotas {
		c.checkQuotaName(q, d, seen)
		if d.Match == nil {
			c.Add(q, d.Position, "classquota-operator", `key "match" is missing in a class quota`,
				"it selects the asks that the quota counts; "+OperatorHint)
		} else {
			c.checkSelector(q, d.Match)
		}
		c.checkHard(q, d)
		c.checkHolders(q, d)
		if d.Match == nil || d.Match.Broken {
			continue
		}
		covered.add(d.Match)
		c.checkDuplicateHolders(q, d, byHolder)
		c.checkParentQuotas(q, d)
	}
	for _, child := range q.Children {
		c.checkQueue(child, covered)
	}
}

func (c *classQuotaCheck) checkQuotaName(q *QueueDraft, d *ClassQuotaDraft, seen map[string]Position) {
	name := d.Name.Text
	if reason := classNameProblem(name); reason != "" {
		c.Add(q, d.Name.Position, "classquota-name", "the class quota: "+reason, "")
		return
	}
	if first, twice := seen[name]; twice {
		c.Add(q, d.Name.Position, "classquota-name",
			fmt.Sprintf("the queue has a class quota %s in line %d already", Quote(name), first.Line), "")
		return
	}
	seen[name] = d.Name.Position
}

// checkSelector checks an operator against its classes.
func (c *classQuotaCheck) checkSelector(o Subject, s *ClassSelectorDraft) {
	if s.Broken {
		return
	}
	wrong := func(where Position, message, hint string) {
		s.Broken = true
		c.Add(o, where, "classquota-selector", message, hint)
	}
	switch needs := s.Operator.NeedsClasses(); {
	case needs && len(s.Classes) == 0:
		wrong(s.Position, fmt.Sprintf("operator %s needs classes", s.Operator), "classes: [a, b]")
	case !needs && len(s.Classes) > 0:
		wrong(s.Classes[0].Position, fmt.Sprintf("operator %s takes no classes", s.Operator),
			"only In and NotIn take classes")
	}
	seen := map[string]bool{}
	for _, w := range s.Classes {
		if reason := classNameProblem(w.Text); reason != "" {
			wrong(w.Position, fmt.Sprintf("%s cannot be a priority class: %s", Quote(w.Text), reason), "")
			continue
		}
		if seen[w.Text] {
			wrong(w.Position, fmt.Sprintf("class %s is in the list already", Quote(w.Text)), "")
			continue
		}
		seen[w.Text] = true
		if c.known != nil && !c.known[w.Text] {
			c.Add(o, w.Position, "classquota-class", fmt.Sprintf("there is no priority class %s", Quote(w.Text)),
				DidYouMean(w.Text, c.names))
		}
	}
	if !s.Broken {
		s.text = s.build().String()
	}
}

func (c *classQuotaCheck) checkHard(q *QueueDraft, d *ClassQuotaDraft) {
	if len(d.Hard.Texts) == 0 && !d.Hard.Broken {
		c.Add(q, positionOr(d.Hard.Position, d.Position), "classquota-hard", "the class quota limits nothing",
			"hard: {pods: 10}; zero forbids")
	}
}

// checkHolders checks the names of users and groups.
func (c *classQuotaCheck) checkHolders(q *QueueDraft, d *ClassQuotaDraft) {
	check := func(kind string, names []Token, legal func(string) bool, hint string) {
		for _, w := range names {
			if !isWildcard(w) && !legal(w.Text) {
				c.Add(q, w.Position, "classquota-holder", fmt.Sprintf("%s name %s is not legal", kind, Quote(w.Text)), hint)
			}
		}
	}
	check("user", d.Users, security.IsUserName, UserNameHint)
	check("group", d.Groups, security.IsGroupName, GroupNameHint)
}

// checkDuplicateHolders refuses a second quota of the same match for a user, for a group or for all
// users: it would be ambiguous which of the two counts.
func (c *classQuotaCheck) checkDuplicateHolders(q *QueueDraft, d *ClassQuotaDraft, byHolder map[string]Token) {
	claim := func(holder string, where Position) {
		key := d.Match.text + "\n" + holder
		if first, ok := byHolder[key]; ok {
			c.Add(q, where, "classquota-holder", fmt.Sprintf("quota %s in line %d has the same match and is for %s already",
				Quote(first.Text), first.Line, holder), "")
			return
		}
		byHolder[key] = Token{where, d.Name.Text}
	}
	if len(d.Users)+len(d.Groups) == 0 {
		claim("all users together", d.Position)
	}
	for _, w := range d.Users {
		claim("user "+Quote(w.Text), w.Position)
	}
	for _, w := range d.Groups {
		claim("group "+Quote(w.Text), w.Position)
	}
}

// checkParentQuotas compares a quota for all users with the quotas for all users and of the same match in
// the queues above: a higher quantity could never be used.
func (c *classQuotaCheck) checkParentQuotas(q *QueueDraft, d *ClassQuotaDraft) {
	if !d.countsAllUsers() {
		return
	}
	if q.classQuotaByMatch == nil {
		q.classQuotaByMatch = map[string]*ClassQuotaDraft{}
	}
	q.classQuotaByMatch[d.Match.text] = d
	for _, name := range sortedKeys(d.Hard.N) {
		for up := q.ParentQueue; up != nil; up = up.ParentQueue {
			other := up.classQuotaByMatch[d.Match.text]
			if other == nil {
				continue
			}
			most, limited := other.Hard.N[name]
			if !limited {
				continue
			}
			if d.Hard.N[name] > most {
				c.Add(q, d.Hard.Positions[name], "classquota-above", fmt.Sprintf("hard %s %s is more than the %s of quota %s in %s",
					name, resources.FormatQuantity(name, d.Hard.N[name]), resources.FormatQuantity(name, most), Quote(other.Name.Text),
					up.path()), "")
			}
			break
		}
	}
}

func (d *ClassQuotaDraft) countsAllUsers() bool { return len(d.Users)+len(d.Groups) == 0 }

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
