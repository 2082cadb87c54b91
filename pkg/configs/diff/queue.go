package diff

import (
	"cmp"
	"strings"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// diffQueue is a queue of one of the two configurations, with what it inherits. The zero value is one that does not
// exist on that side.
type diffQueue struct {
	q            *configs.Queue
	parent       *diffQueue      // nil: this is root
	effectiveMax resources.Limit // of the queue above; of this queue after computeValues
	values       values
	limits       namedLimits // of the queue itself
}

// treeDiff compares two queue trees in one walk.
type treeDiff struct {
	spelling
	out   PartitionChange
	yield func()
}

// compareQueues compares a queue of both configurations, and the queues below it.
func (d *treeDiff) compareQueues(path string, before, after *diffQueue) {
	d.yield()
	before.computeValues(d.yield)
	after.computeValues(d.yield)
	kind := kindOf(before.q, after.q)
	change := QueueChange{Queue: path, Kind: kind}
	if kind != Removed {
		change.Values = d.diff(before.values, after.values, before.parentValues(), after.parentValues())
	}
	if kind != Changed || len(change.Values) > 0 {
		d.out.Queues = append(d.out.Queues, change)
	}
	d.compareLimits(path, before, after)
	was, is := before.children(), after.children()
	for _, name := range keysOfBoth(was, is) {
		d.compareQueues(path+"."+name, cmp.Or(was[name], &diffQueue{}), cmp.Or(is[name], &diffQueue{}))
	}
}

// computeValues computes the values by which a queue is compared.
func (s *diffQueue) computeValues(yield func()) {
	q := s.q
	if q == nil {
		return
	}
	var inherited *configs.ChildTemplate
	if s.parent != nil {
		inherited = s.parent.q.ChildTemplate
	}
	if len(q.Limits) > 0 {
		s.limits = namedLimitsOf(q.Limits, yield)
	}
	v := values{}
	v.put("type", map[bool]string{false: "leaf", true: "parent"}[q.Parent])
	v.put("submitacl", q.SubmitACL.String())
	v.put("adminacl", q.AdminACL.String())
	s.effectiveMax = s.effectiveMax.Tighten(q.Max)
	v.putLimit("max ", s.effectiveMax)
	v.putPercents("max ", q.Max.Percents())
	v.putLimit("own max ", q.Max)
	v.putGuarantee("guaranteed ", q.Guaranteed)
	v.putCount("maxapplications", q.MaxApplications)
	v.putProperties("property ", q.Properties)
	groups := []string{}
	for _, r := range q.Limits {
		groups = append(groups, r.Groups...)
	}
	if len(groups) > 1 { // an application counts for the first group that a limit names (LIM-6)
		v.put("order of groups in limits", strings.Join(groups, ", "))
	}
	putClassQuotas(v, q.ClassQuotas)
	if q.ChildTemplate != inherited {
		v.putChildTemplate(q.ChildTemplate)
	}
	s.values = v
}

// Templates compares two child templates.
func Templates(before, after *configs.ChildTemplate) []ValueChange {
	was, is := values{}, values{}
	was.putChildTemplate(before)
	is.putChildTemplate(after)
	return spelling{}.diff(was, is, nil, nil)
}

func (v values) putChildTemplate(t *configs.ChildTemplate) {
	if t == nil {
		return
	}
	v.putLimit("childtemplate max ", t.Max)
	v.putGuarantee("childtemplate guaranteed ", t.Guaranteed)
	v.putCount("childtemplate maxapplications", t.MaxApplications)
	v.putProperties("childtemplate property ", t.Properties)
}

// putProperties adds properties, except those that have the default value.
func (v values) putProperties(prefix string, properties map[string]string) {
	for name, text := range properties {
		if !configs.IsDefaultProperty(name, text) {
			v.put(prefix+name, text)
		}
	}
}

// parentValues are the values of the queue above; nil: there is none.
func (s *diffQueue) parentValues() values {
	if s.parent == nil {
		return nil
	}
	return s.parent.values
}

func (s *diffQueue) children() map[string]*diffQueue {
	out := map[string]*diffQueue{}
	if s.q == nil {
		return out
	}
	for i := range s.q.Children {
		c := &s.q.Children[i]
		out[c.Name] = &diffQueue{q: c, parent: s, effectiveMax: s.effectiveMax}
	}
	return out
}
