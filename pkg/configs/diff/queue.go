package diff

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// diffQueue is a queue of one of the two configurations, with what it inherits.
type diffQueue struct {
	q            *configs.Queue
	parent       *diffQueue      // nil: this is root
	effectiveMax resources.Limit // of the queue above; of this queue after computeValues
	values       map[string]string
	limits       limitsByHolder // of the queue itself
}

// treeDiff compares two queue trees in one walk.
type treeDiff struct {
	out     PartitionChange
	yield   func()
	respell func([]ValueChange) // restores the spelling of quantities

	last   *boundChange  // the last change of a limit; nil: there was none
	kind   Kind          // of last
	values []ValueChange // of last; LimitChanges share them
}

// compareQueues compares a queue of both configurations, and the queues below it. nil: the queue does not
// exist on that side.
func (d *treeDiff) compareQueues(path string, before, after *diffQueue) {
	d.yield()
	before.computeValues(d.yield)
	after.computeValues(d.yield)
	kind := kindOf(before, after)
	change := QueueChange{Queue: path, Kind: kind}
	if kind != Removed {
		change.Values = diffValues(before.ownValues(), after.ownValues(), before.parentValues(), after.parentValues())
	}
	d.respell(change.Values)
	if kind != Changed || len(change.Values) > 0 {
		d.out.Queues = append(d.out.Queues, change)
	}
	d.compareLimits(path, before, after)
	was, is := before.children(), after.children()
	names := maps.Clone(was)
	maps.Copy(names, is)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		d.compareQueues(path+"."+name, was[name], is[name])
	}
}

// computeValues computes the values by which a queue is compared. A nil queue has none.
func (s *diffQueue) computeValues(yield func()) {
	if s == nil {
		return
	}
	s.limits = limitsByHolderOf(s.q.Limits, yield)
	var inherited *configs.ChildTemplate
	if s.parent != nil {
		inherited = s.parent.q.ChildTemplate
	}
	q := s.q
	v := map[string]string{"type": "leaf", "submitacl": q.SubmitACL.String(), "adminacl": q.AdminACL.String()}
	if q.Parent {
		v["type"] = "parent"
	}
	s.effectiveMax = s.effectiveMax.Tighten(q.Max)
	putLimit(v, "max ", s.effectiveMax)
	putLimit(v, "own max ", q.Max)
	for name, n := range q.Guaranteed.All() {
		v["guaranteed "+name] = resources.FormatQuantity(name, n)
	}
	putCount(v, "maxapplications", q.MaxApplications)
	putProperties(v, "property ", q.Properties)
	groups := []string{}
	for _, r := range q.Limits {
		groups = append(groups, r.Groups...)
	}
	if len(groups) > 1 { // an application counts for the first group that a limit names (LIM-6)
		v["order of groups in limits"] = strings.Join(groups, ", ")
	}
	putClassQuotas(v, q.ClassQuotas)
	if q.ChildTemplate != inherited {
		putChildTemplate(v, q.ChildTemplate)
	}
	s.values = v
}

// Templates compares two child templates.
func Templates(before, after *configs.ChildTemplate) []ValueChange {
	was, is := map[string]string{}, map[string]string{}
	putChildTemplate(was, before)
	putChildTemplate(is, after)
	return diffValues(was, is, nil, nil)
}

func putChildTemplate(v map[string]string, t *configs.ChildTemplate) {
	if t == nil {
		return
	}
	putLimit(v, "childtemplate max ", t.Max)
	for name, n := range t.Guaranteed.All() {
		v["childtemplate guaranteed "+name] = resources.FormatQuantity(name, n)
	}
	putCount(v, "childtemplate maxapplications", t.MaxApplications)
	putProperties(v, "childtemplate property ", t.Properties)
}

// putProperties adds properties to v, except those that have the default value.
func putProperties(v map[string]string, prefix string, m map[string]string) {
	for name, value := range m {
		if !configs.IsDefaultProperty(name, value) {
			v[prefix+name] = value
		}
	}
}

func putLimit(v map[string]string, prefix string, l resources.Limit) {
	for name, n := range l.All() {
		v[prefix+name] = resources.FormatQuantity(name, n)
	}
}

func putCount(v map[string]string, name string, n uint64) {
	if n > 0 {
		v[name] = strconv.FormatUint(n, 10)
	}
}

func (s *diffQueue) ownValues() map[string]string {
	if s == nil {
		return nil
	}
	return s.values
}

// parentValues are the values of the queue above; nil: there is none.
func (s *diffQueue) parentValues() map[string]string {
	if s == nil || s.parent == nil {
		return nil
	}
	return s.parent.values
}

func (s *diffQueue) children() map[string]*diffQueue {
	out := map[string]*diffQueue{}
	if s == nil {
		return out
	}
	for i := range s.q.Children {
		c := &s.q.Children[i]
		out[c.Name] = &diffQueue{q: c, parent: s, effectiveMax: s.effectiveMax}
	}
	return out
}
