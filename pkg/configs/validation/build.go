package validation

import (
	"maps"
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/limits"
	"github.com/canopy-scheduler/canopy/pkg/placement"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// Build turns a draft into a Config, without checksum and spellings. Requires: the draft was checked and has
// no errors.
func (d *DocumentDraft) Build() *configs.Config {
	c := &configs.Config{
		Classes: buildNamed(d.Classes), HasClasses: d.HasClasses, Budgets: buildNamed(d.Budgets), HasBudgets: d.HasBudgets,
	}
	for _, x := range d.Partitions {
		p := x.build()
		p.Budgets = c.Budgets
		c.Partitions = append(c.Partitions, p)
	}
	return c
}

// build turns a draft into a Partition. Requires: the draft was checked and has no errors.
func (p *PartitionDraft) build() configs.Partition {
	out := p.Partition
	out.Root = p.Root.build(map[string]string{}, nil)
	for _, s := range p.ClassesNeedingQuota {
		out.ClassesNeedingQuota = append(out.ClassesNeedingQuota, s.build())
	}
	for _, d := range p.PlacementRules {
		out.PlacementRules = append(out.PlacementRules, *d.build())
	}
	return out
}

// build resolves what a queue inherits: properties and, on a parent, the child template
// (QUE-17, QUE-23). YuniKorn inherits a template only when it creates the queue, and
// loses it on reload.
func (q *QueueDraft) build(inherited map[string]string, template *configs.ChildTemplate) configs.Queue {
	resolved := resolve(inherited, q.Settings)
	out := configs.Queue{
		Name:            q.Name,
		Parent:          q.isParent(),
		Max:             q.Max.limit(),
		Guaranteed:      q.Guaranteed.guarantee(),
		MaxApplications: q.MaxApplications.N,
		SubmitACL:       q.SubmitACL,
		AdminACL:        q.AdminACL,
		Settings:        configs.ReadSettings(resolved),
	}
	for _, l := range q.Limits {
		out.Limits = append(out.Limits, l.build())
	}
	for _, d := range q.ClassQuotas {
		out.ClassQuotas = append(out.ClassQuotas, d.build())
	}
	if !out.Parent {
		return out
	}
	if q.ChildTemplate != nil {
		template = q.ChildTemplate.build()
	}
	out.ChildTemplate = template
	below := configs.InheritedProperties(resolved)
	if len(q.Children) > 0 {
		out.Children = make([]configs.Queue, 0, len(q.Children))
	}
	for _, c := range q.Children {
		out.Children = append(out.Children, c.build(below, template))
	}
	return out
}

// resolve overrides the inherited properties with the queue's own ones. A queue without
// properties of its own shares the inherited map.
func resolve(inherited map[string]string, own []Setting) map[string]string {
	if len(own) == 0 {
		return inherited
	}
	out := maps.Clone(inherited)
	for _, s := range own {
		out[s.Name.Text] = s.Value.Text
	}
	return out
}

// limit converts the quantities to a max. If all are zero the max is not set (CFG-43).
func (q *Quantities) limit() resources.Limit {
	if !q.isPositive() {
		return resources.Limit{}
	}
	return resources.LimitFromMap(q.N)
}

// guarantee converts the quantities to a guarantee. If all are zero it is not set (CFG-43).
func (q *Quantities) guarantee() resources.Guarantee {
	if !q.isPositive() {
		return resources.Guarantee{}
	}
	return resources.GuaranteeFromMap(q.N)
}

// build makes a template. A dynamic leaf has the properties of its template only: it
// inherits none from the queues above (QUE-19).
func (t *ChildTemplateDraft) build() *configs.ChildTemplate {
	return &configs.ChildTemplate{
		MaxApplications: t.MaxApplications.N,
		Max:             t.Max.limit(),
		Guaranteed:      t.Guaranteed.guarantee(),
		Settings:        configs.ReadSettings(resolve(map[string]string{}, t.Settings)),
	}
}

func (l *LimitDraft) build() limits.Limit {
	return limits.Limit{
		Description:     l.Description,
		Users:           tokenTexts(l.Users),
		Groups:          tokenTexts(l.Groups),
		MaxResources:    l.Max.limit(),
		MaxApplications: l.MaxApplications.N,
	}
}

// build makes a selector. The order in which classes are written has no meaning.
func (s *ClassSelectorDraft) build() limits.Selector {
	return limits.Selector{Operator: s.Operator, Classes: slices.Sorted(slices.Values(tokenTexts(s.Classes)))}
}

// build makes a class quota. Unlike a max, a quota of zeroes only is set: it forbids the resources.
func (d *ClassQuotaDraft) build() limits.ClassQuota {
	return limits.ClassQuota{
		Name: d.Name.Text, Match: d.Match.build(), Users: tokenTexts(d.Users), Groups: tokenTexts(d.Groups),
		Hard: resources.LimitFromMap(d.Hard.N),
	}
}

func tokenTexts(words []Token) []string {
	if len(words) == 0 {
		return nil
	}
	out := make([]string, 0, len(words))
	for _, w := range words {
		out = append(out, w.Text)
	}
	return out
}

func (d *PlacementRuleDraft) build() *placement.Rule {
	out := &placement.Rule{Kind: d.Kind, Create: d.Create, Filter: d.Filter}
	if d.Kind.Needs() != "" {
		out.Value = d.Value.Text
	}
	if d.Parent != nil {
		out.Parent = d.Parent.build()
	}
	return out
}
