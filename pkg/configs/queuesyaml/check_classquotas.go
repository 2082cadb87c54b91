package queuesyaml

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
	*report
	known map[string]bool // classes that exist; nil: the document has no key priorityclasses
	names []string        // the names in known, for suggestions
}

// checkClassQuotas applies the rules about class quotas to all partitions. listed is whether the
// document lists priority classes.
func (r *report) checkClassQuotas(partitions []*partitionDraft, classes []*classDraft, listed bool) {
	c := classQuotaCheck{report: r}
	if listed {
		c.known = map[string]bool{}
		system := priorities.Registry{}
		for _, x := range system.All() {
			c.known[x.Name] = true
		}
		for _, d := range classes {
			c.known[d.object.Name] = true
		}
		c.names = sortedKeys(c.known)
	}
	for _, p := range partitions {
		covered := classCoverage{included: map[string]bool{}, excluded: map[string]int{}}
		c.checkQueue(p.root, &covered)
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

func (f *classCoverage) add(s *classSelectorDraft) {
	switch s.operator {
	case limits.In:
		for _, w := range s.classes {
			f.included[w.text] = true
		}
	case limits.NotIn:
		f.notInCount++
		for _, w := range s.classes {
			f.excluded[w.text]++
		}
	case limits.Exists:
		f.matchesAny = true
	}
}

func (f *classCoverage) covers(class string) bool {
	return f.matchesAny || f.included[class] || f.excluded[class] < f.notInCount
}

// checkNeedingQuota checks classesneedingquota, the selectors of the asks that need a class quota.
func (c *classQuotaCheck) checkNeedingQuota(p *partitionDraft, covered *classCoverage) {
	seen := map[string]position{}
	for _, s := range p.classesNeedingQuota {
		c.checkSelector(p, s)
		if s.broken {
			continue
		}
		if first, twice := seen[s.text]; twice {
			c.add(p, s.position, "classquota-selector", fmt.Sprintf("the same selector is in line %d already", first.line), "")
			continue
		}
		seen[s.text] = s.position
		if s.operator != limits.In {
			continue
		}
		for _, w := range s.classes {
			if !covered.covers(w.text) {
				c.add(p, w.position, "classquota-uncovered", fmt.Sprintf("no queue has a class quota that counts asks of class %s, "+
					"so all of them are rejected", quote(w.text)), "")
			}
		}
	}
}

// checkQueue checks the class quotas of a queue and of the queues below it. Requires: the parent was
// checked before.
func (c *classQuotaCheck) checkQueue(q *queueDraft, covered *classCoverage) {
	seen := map[string]position{}
	byHolder := map[string]token{} // match and holder to the name of the quota
	for _, d := range q.classQuotas {
		c.checkQuotaName(q, d, seen)
		if d.match == nil {
			c.add(q, d.position, "classquota-operator", `key "match" is missing in a class quota`, "it selects the asks that the quota counts; "+operatorHint)
		} else {
			c.checkSelector(q, d.match)
		}
		c.checkHard(q, d)
		c.checkHolders(q, d)
		if d.match == nil || d.match.broken {
			continue
		}
		covered.add(d.match)
		c.checkDuplicateHolders(q, d, byHolder)
		c.checkParentQuotas(q, d)
	}
	for _, child := range q.children {
		c.checkQueue(child, covered)
	}
}

func (c *classQuotaCheck) checkQuotaName(q *queueDraft, d *classQuotaDraft, seen map[string]position) {
	name := d.name.text
	if reason := classNameProblem(name); reason != "" {
		c.add(q, d.name.position, "classquota-name", "the class quota: "+reason, "")
		return
	}
	if first, twice := seen[name]; twice {
		c.add(q, d.name.position, "classquota-name", fmt.Sprintf("the queue has a class quota %s in line %d already", quote(name), first.line), "")
		return
	}
	seen[name] = d.name.position
}

// checkSelector checks an operator against its classes.
func (c *classQuotaCheck) checkSelector(o subject, s *classSelectorDraft) {
	if s.broken {
		return
	}
	wrong := func(where position, message, hint string) {
		s.broken = true
		c.add(o, where, "classquota-selector", message, hint)
	}
	switch needs := s.operator.NeedsClasses(); {
	case needs && len(s.classes) == 0:
		wrong(s.position, fmt.Sprintf("operator %s needs classes", s.operator), "classes: [a, b]")
	case !needs && len(s.classes) > 0:
		wrong(s.classes[0].position, fmt.Sprintf("operator %s takes no classes", s.operator), "only In and NotIn take classes")
	}
	seen := map[string]bool{}
	for _, w := range s.classes {
		if reason := classNameProblem(w.text); reason != "" {
			wrong(w.position, fmt.Sprintf("%s cannot be a priority class: %s", quote(w.text), reason), "")
			continue
		}
		if seen[w.text] {
			wrong(w.position, fmt.Sprintf("class %s is in the list already", quote(w.text)), "")
			continue
		}
		seen[w.text] = true
		if c.known != nil && !c.known[w.text] {
			c.add(o, w.position, "classquota-class", fmt.Sprintf("there is no priority class %s", quote(w.text)),
				suggestion(w.text, c.names))
		}
	}
	if !s.broken {
		s.text = s.build().String()
	}
}

func (c *classQuotaCheck) checkHard(q *queueDraft, d *classQuotaDraft) {
	if len(d.hard.texts) == 0 && !d.hard.broken {
		c.add(q, positionOr(d.hard.position, d.position), "classquota-hard", "the class quota limits nothing",
			"hard: {pods: 10}; zero forbids")
	}
}

// checkHolders checks the names of users and groups.
func (c *classQuotaCheck) checkHolders(q *queueDraft, d *classQuotaDraft) {
	check := func(kind string, names []token, legal func(string) bool, hint string) {
		for _, w := range names {
			if !isWildcard(w) && !legal(w.text) {
				c.add(q, w.position, "classquota-holder", fmt.Sprintf("%s name %s is not legal", kind, quote(w.text)), hint)
			}
		}
	}
	check("user", d.users, security.IsUserName, userNameHint)
	check("group", d.groups, security.IsGroupName, groupNameHint)
}

// checkDuplicateHolders refuses a second quota of the same match for a user, for a group or for all
// users: it would be ambiguous which of the two counts.
func (c *classQuotaCheck) checkDuplicateHolders(q *queueDraft, d *classQuotaDraft, byHolder map[string]token) {
	claim := func(holder string, where position) {
		key := d.match.text + "\n" + holder
		if first, ok := byHolder[key]; ok {
			c.add(q, where, "classquota-holder", fmt.Sprintf("quota %s in line %d has the same match and is for %s already",
				quote(first.text), first.line, holder), "")
			return
		}
		byHolder[key] = token{where, d.name.text}
	}
	if len(d.users)+len(d.groups) == 0 {
		claim("all users together", d.position)
	}
	for _, w := range d.users {
		claim("user "+quote(w.text), w.position)
	}
	for _, w := range d.groups {
		claim("group "+quote(w.text), w.position)
	}
}

// checkParentQuotas compares a quota for all users with the quotas for all users and of the same match in
// the queues above: a higher quantity could never be used.
func (c *classQuotaCheck) checkParentQuotas(q *queueDraft, d *classQuotaDraft) {
	if !d.countsAllUsers() {
		return
	}
	if q.classQuotaByMatch == nil {
		q.classQuotaByMatch = map[string]*classQuotaDraft{}
	}
	q.classQuotaByMatch[d.match.text] = d
	for _, name := range sortedKeys(d.hard.n) {
		for up := q.parentQueue; up != nil; up = up.parentQueue {
			other := up.classQuotaByMatch[d.match.text]
			if other == nil {
				continue
			}
			most, limited := other.hard.n[name]
			if !limited {
				continue
			}
			if d.hard.n[name] > most {
				c.add(q, d.hard.positions[name], "classquota-above", fmt.Sprintf("hard %s %s is more than the %s of quota %s in %s",
					name, resources.FormatQuantity(name, d.hard.n[name]), resources.FormatQuantity(name, most), quote(other.name.text), up.path()), "")
			}
			break
		}
	}
}

func (d *classQuotaDraft) countsAllUsers() bool { return len(d.users)+len(d.groups) == 0 }

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
