package configs

import (
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// side is a queue of one of two configurations, and what holds for it from above.
type side struct {
	q       *Queue
	up      *side           // nil: this is root
	ceiling resources.Limit // the effective max of the queue above
	values  map[string]string
	limits  level // its own
}

// differ walks two trees at once.
type differ struct {
	out *PartitionChange
}

// queue compares a queue on both sides, and what is below it. nil: it is not there.
func (d *differ) queue(path string, before, after *side) {
	before.prepare()
	after.prepare()
	kind := kindOf(before, after)
	change := QueueChange{Queue: path, Kind: kind}
	if kind != Removed {
		change.Values = diffValues(before.own(), after.own(), before.above(), after.above())
	}
	if kind != Changed || len(change.Values) > 0 {
		d.out.Queues = append(d.out.Queues, change)
	}
	d.limits(path, before, after)
	was, is := before.children(), after.children()
	names := maps.Clone(was)
	maps.Copy(names, is)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		d.queue(path+"."+name, was[name], is[name])
	}
}

// prepare works out what a side is compared by. A missing one is compared by nothing.
func (s *side) prepare() {
	if s == nil {
		return
	}
	s.limits = levelOf(s.q.Limits)
	var inherited *Template
	if s.up != nil {
		inherited = s.up.q.Template
	}
	q := s.q
	v := map[string]string{"type": "leaf", "submitacl": q.Submit.String(), "adminacl": q.Admin.String()}
	if q.Parent {
		v["type"] = "parent"
	}
	s.ceiling = s.ceiling.Tighten(q.Max)
	putLimit(v, "max ", s.ceiling)
	putLimit(v, "own max ", q.Max)
	for name, n := range q.Guaranteed.All() {
		v["guaranteed "+name] = resources.Text(name, n)
	}
	putCount(v, "maxapplications", q.MaxApplications)
	putProperties(v, "property ", q.Properties)
	groups := []string{}
	for _, r := range q.Limits {
		groups = append(groups, r.Groups...)
	}
	if len(groups) > 1 { // the first one that a user is in answers for the user (behaviour.md 8.3)
		v["order of groups in limits"] = strings.Join(groups, ", ")
	}
	putClassQuotas(v, q.ClassQuotas)
	if q.Template != inherited {
		putTemplate(v, q.Template)
	}
	s.values = v
}

func putTemplate(v map[string]string, t *Template) {
	if t == nil {
		return
	}
	putLimit(v, "childtemplate max ", t.Max)
	for name, n := range t.Guaranteed.All() {
		v["childtemplate guaranteed "+name] = resources.Text(name, n)
	}
	putCount(v, "childtemplate maxapplications", t.MaxApplications)
	putProperties(v, "childtemplate property ", t.Properties)
}

// putProperties leaves out what says the default, as most of what is inherited does.
func putProperties(v map[string]string, prefix string, m map[string]string) {
	for name, value := range m {
		if !isDefault(name, value) {
			v[prefix+name] = value
		}
	}
}

// isDefault reports whether a property has the same effect as leaving it out.
func isDefault(name, value string) bool {
	p, ok := findProperty(name)
	if !ok {
		return value == ""
	}
	s := DefaultSettings()
	if value != "" {
		p.read(&s, value)
	}
	return reflect.DeepEqual(s, DefaultSettings())
}

func putLimit(v map[string]string, prefix string, l resources.Limit) {
	for name, n := range l.All() {
		v[prefix+name] = resources.Text(name, n)
	}
}

func putCount(v map[string]string, name string, n uint64) {
	if n > 0 {
		v[name] = strconv.FormatUint(n, 10)
	}
}

func (s *side) own() map[string]string {
	if s == nil {
		return nil
	}
	return s.values
}

// above is what the queue above is compared by; nil: there is none.
func (s *side) above() map[string]string {
	if s == nil || s.up == nil {
		return nil
	}
	return s.up.values
}

func (s *side) children() map[string]*side {
	out := map[string]*side{}
	if s == nil {
		return out
	}
	for i := range s.q.Children {
		c := &s.q.Children[i]
		out[c.Name] = &side{q: c, up: s, ceiling: s.ceiling}
	}
	return out
}
