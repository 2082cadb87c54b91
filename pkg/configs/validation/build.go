package validation

import (
	"maps"
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/limits"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// Finish resolves what queues inherit, and returns the configuration, without checksum and spellings. Requires: the
// tree was checked and has no errors.
func (t *Tree) Finish() *configs.Config {
	c := &t.Config
	c.Classes, c.Budgets = buildNamed(t.Classes), buildNamed(t.Budgets)
	for i := range c.Partitions {
		p := &c.Partitions[i]
		p.Budgets = c.Budgets
		for j := range p.ClassesNeedingQuota {
			sortClasses(&p.ClassesNeedingQuota[j])
		}
		p.Root.Parent = true
		finishQueue(&p.Root, map[string]string{}, nil)
	}
	return c
}

// finishQueue resolves what a queue inherits: properties and, on a parent, the child template
// (QUE-17, QUE-23). YuniKorn inherits a template only when it creates the queue, and
// loses it on reload.
func finishQueue(q *configs.Queue, inherited map[string]string, template *configs.ChildTemplate) {
	resolved := resolve(inherited, q.Properties)
	q.Settings = configs.ReadSettings(resolved)
	q.Max, q.Guaranteed = withoutZeroes(q.Max, q.Guaranteed)
	for i := range q.ClassQuotas {
		sortClasses(&q.ClassQuotas[i].Match)
	}
	q.Parent = q.Parent || len(q.Children) > 0
	switch t := q.ChildTemplate; {
	case !q.Parent:
		q.ChildTemplate = nil
		return
	case t == nil:
		q.ChildTemplate = template
	default: // a dynamic leaf has the properties of its template only: it inherits none from the queues above (QUE-19)
		t.Settings = configs.ReadSettings(resolve(map[string]string{}, t.Properties))
		t.Max, t.Guaranteed = withoutZeroes(t.Max, t.Guaranteed)
	}
	below := configs.InheritedProperties(resolved)
	for i := range q.Children {
		finishQueue(&q.Children[i], below, q.ChildTemplate)
	}
}

// resolve overrides the inherited properties with the queue's own ones. A queue without
// properties of its own shares the inherited map.
func resolve(inherited, own map[string]string) map[string]string {
	if len(own) == 0 {
		return inherited
	}
	out := maps.Clone(inherited)
	maps.Copy(out, own)
	return out
}

// withoutZeroes returns a max and a guarantee. One that has nothing but zeroes is not set (CFG-43).
func withoutZeroes(max resources.Limit, guaranteed resources.Guarantee) (resources.Limit, resources.Guarantee) {
	if !isPositive(max.All()) && !max.HasPercents() {
		max = resources.Limit{}
	}
	if !isPositive(guaranteed.All()) && !guaranteed.HasPercents() {
		guaranteed = resources.Guarantee{}
	}
	return max, guaranteed
}

// sortClasses sorts the classes of a selector: the order in which they are written has no meaning.
func sortClasses(s *limits.Selector) { slices.Sort(s.Classes) }
