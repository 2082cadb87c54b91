package configs

import (
	"fmt"

	"github.com/canopy-scheduler/canopy/pkg/limits"
	"github.com/canopy-scheduler/canopy/pkg/names"
	"github.com/canopy-scheduler/canopy/pkg/priorities"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// classCheck applies the rules about class quotas, which take the classes of the document.
type classCheck struct {
	*report
	known map[string]bool // classes that exist; nil: the document does not say which do
	names []string        // the same, for suggestions
}

// checkQuotasOfClasses applies the rules about class quotas to all partitions.
func (r *report) checkQuotasOfClasses(partitions []*partitionDraft, classes []*classDraft, listed bool) {
	c := classCheck{report: r}
	if listed {
		c.known = map[string]bool{}
		system := priorities.Registry{}
		for _, x := range system.All() {
			c.known[x.Name] = true
		}
		for _, d := range classes {
			c.known[d.class.Name] = true
		}
		c.names = sortedKeys(c.known)
	}
	for _, p := range partitions {
		found := coverage{in: map[string]bool{}, out: map[string]int{}}
		c.queue(p.root, &found)
		c.needed(p, &found)
	}
}

// coverage is which classes some class quota of a partition counts asks of.
type coverage struct {
	any   bool            // there is one with Exists
	in    map[string]bool // classes of those with In
	notIn int             // how many there are with NotIn,
	out   map[string]int  // and how many of them leave a class out
}

func (f *coverage) add(s *selectorDraft) {
	switch s.operator {
	case limits.In:
		for _, w := range s.classes {
			f.in[w.text] = true
		}
	case limits.NotIn:
		f.notIn++
		for _, w := range s.classes {
			f.out[w.text]++
		}
	case limits.Exists:
		f.any = true
	}
}

func (f *coverage) has(class string) bool { return f.any || f.in[class] || f.out[class] < f.notIn }

// needed checks the selectors of the asks that need a quota.
func (c *classCheck) needed(p *partitionDraft, found *coverage) {
	seen := map[string]at{}
	for _, s := range p.needQuota {
		c.selector(p, s)
		if s.broken {
			continue
		}
		if first, twice := seen[s.text]; twice {
			c.add(p, s.at, "classquota-selector", fmt.Sprintf("what line %d finds is found here again", first.line), "")
			continue
		}
		seen[s.text] = s.at
		if s.operator != limits.In {
			continue
		}
		for _, w := range s.classes {
			if !found.has(w.text) {
				c.add(p, w.at, "classquota-uncovered", fmt.Sprintf("no queue has a quota that counts asks of class %s, "+
					"so all of them are refused", quote(w.text)), "")
			}
		}
	}
}

// queue checks the class quotas of a queue and of those below it. Requires: the queue above was
// checked before.
func (c *classCheck) queue(q *queueDraft, found *coverage) {
	seen := map[string]at{}
	taken := map[string]word{} // who has a quota of which match: which
	for _, d := range q.classQuotas {
		c.quotaName(q, d, seen)
		if d.match == nil {
			c.add(q, d.at, "classquota-operator", `key "match" is missing in a class quota`, "which asks it counts; "+operatorHint)
		} else {
			c.selector(q, d.match)
		}
		c.hard(q, d)
		c.people(q, d)
		if d.match == nil || d.match.broken {
			continue
		}
		found.add(d.match)
		c.twice(q, d, taken)
		c.above(q, d)
	}
	for _, child := range q.children {
		c.queue(child, found)
	}
}

func (c *classCheck) quotaName(q *queueDraft, d *classQuotaDraft, seen map[string]at) {
	name := d.name.text
	if why := notClassName(name); why != "" {
		c.add(q, d.name.at, "classquota-name", "the class quota: "+why, "")
		return
	}
	if first, twice := seen[name]; twice {
		c.add(q, d.name.at, "classquota-name", fmt.Sprintf("the queue has a class quota %s in line %d already", quote(name), first.line), "")
		return
	}
	seen[name] = d.name.at
}

// selector checks an operator against its classes.
func (c *classCheck) selector(o owner, s *selectorDraft) {
	if s.broken {
		return
	}
	wrong := func(where at, message, hint string) {
		s.broken = true
		c.add(o, where, "classquota-selector", message, hint)
	}
	switch needs := s.operator.NeedsClasses(); {
	case needs && len(s.classes) == 0:
		wrong(s.at, fmt.Sprintf("operator %s needs classes", s.operator), "classes: [a, b]")
	case !needs && len(s.classes) > 0:
		wrong(s.classes[0].at, fmt.Sprintf("operator %s has no classes", s.operator), "In and NotIn have")
	}
	seen := map[string]bool{}
	for _, w := range s.classes {
		if why := notClassName(w.text); why != "" {
			wrong(w.at, fmt.Sprintf("%s can be no priority class: %s", quote(w.text), why), "")
			continue
		}
		if seen[w.text] {
			wrong(w.at, fmt.Sprintf("class %s is in the list already", quote(w.text)), "")
			continue
		}
		seen[w.text] = true
		if c.known != nil && !c.known[w.text] {
			c.add(o, w.at, "classquota-class", fmt.Sprintf("there is no priority class %s", quote(w.text)),
				didYouMean(w.text, c.names))
		}
	}
	if !s.broken {
		s.text = s.build().String()
	}
}

func (c *classCheck) hard(q *queueDraft, d *classQuotaDraft) {
	if len(d.hard.texts) == 0 && !d.hard.broken {
		c.add(q, placeOr(d.hard.at, d.at), "classquota-hard", "the class quota limits nothing",
			"hard: {pods: 10}; zero forbids")
	}
}

// people checks the names of users and groups.
func (c *classCheck) people(q *queueDraft, d *classQuotaDraft) {
	check := func(kind string, names []word, legal func(string) bool, hint string) {
		for _, w := range names {
			if !isWildcard(w) && !legal(w.text) {
				c.add(q, w.at, "classquota-holder", fmt.Sprintf("%s name %s is not legal", kind, quote(w.text)), hint)
			}
		}
	}
	check("user", d.users, security.IsUserName, userNameHint)
	check("group", d.groups, security.IsGroupName, groupNameHint)
}

// twice refuses a second quota of the same match for somebody: which of them counts would be
// anybody's guess.
func (c *classCheck) twice(q *queueDraft, d *classQuotaDraft, taken map[string]word) {
	take := func(who string, where at) {
		key := d.match.text + "\n" + who
		if first, ok := taken[key]; ok {
			c.add(q, where, "classquota-holder", fmt.Sprintf("%s has quota %s of the same match already, in line %d",
				who, quote(first.text), first.line), "")
			return
		}
		taken[key] = word{where, d.name.text}
	}
	if len(d.users)+len(d.groups) == 0 {
		take("everybody together", d.at)
	}
	for _, w := range d.users {
		take("user "+quote(w.text), w.at)
	}
	for _, w := range d.groups {
		take("group "+quote(w.text), w.at)
	}
}

// above compares a quota for everybody with those of the same match and for everybody in the
// queues above: what is more than theirs can never be used.
func (c *classCheck) above(q *queueDraft, d *classQuotaDraft) {
	if !d.forAll() {
		return
	}
	if q.quotaForAll == nil {
		q.quotaForAll = map[string]*classQuotaDraft{}
	}
	q.quotaForAll[d.match.text] = d
	for _, name := range sortedKeys(d.hard.n) {
		for up := q.up; up != nil; up = up.up {
			other := up.quotaForAll[d.match.text]
			if other == nil {
				continue
			}
			most, limited := other.hard.n[name]
			if !limited {
				continue
			}
			if d.hard.n[name] > most {
				c.add(q, d.hard.places[name], "classquota-above", fmt.Sprintf("hard %s %s is more than the %s of quota %s in %s",
					name, resources.Text(name, d.hard.n[name]), resources.Text(name, most), quote(other.name.text), up.path()), "")
			}
			break
		}
	}
}

func (d *classQuotaDraft) forAll() bool { return len(d.users)+len(d.groups) == 0 }

// notClassName says why a name is none of a class, or of a quota, in words; empty: it is.
func notClassName(name string) string {
	if name == "" {
		return "it has no name"
	}
	if why := names.NotSubdomain(name); why != "" {
		return "the name " + why
	}
	return ""
}
