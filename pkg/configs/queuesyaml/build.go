package queuesyaml

import (
	"maps"
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/limits"
	"github.com/canopy-scheduler/canopy/pkg/placement"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// build turns a draft into a Partition. Requires: the draft was checked and has no errors.
func (p *partitionDraft) build() configs.Partition {
	out := configs.Partition{
		Name:                   p.name,
		Root:                   p.root.build(map[string]string{}, nil),
		NodeSortPolicy:         p.nodeSortPolicy,
		PriorityDisabled:       p.priorityDisabled,
		PreemptionEnabled:      p.preemptionEnabled,
		QuotaPreemptionEnabled: p.quotaPreemptionEnabled, NodePressureEnabled: p.nodePressureEnabled,
		UserGroupResolver: p.userGroupResolver,

		NominationTimeout: p.nominationTimeout, Churn: p.churn,
	}
	for _, s := range p.classesNeedingQuota {
		out.ClassesNeedingQuota = append(out.ClassesNeedingQuota, s.build())
	}
	for _, d := range p.placementRules {
		out.PlacementRules = append(out.PlacementRules, *d.build())
	}
	return out
}

// build resolves what a queue inherits: properties and, on a parent, the child template
// (QUE-17, QUE-23). YuniKorn inherits a template only when it creates the queue, and
// loses it on reload.
func (q *queueDraft) build(inherited map[string]string, template *configs.ChildTemplate) configs.Queue {
	resolved := resolve(inherited, q.settings)
	out := configs.Queue{
		Name:            q.name,
		Parent:          q.isParent(),
		Max:             q.max.limit(),
		Guaranteed:      q.guaranteed.guarantee(),
		MaxApplications: q.maxApplications.n,
		SubmitACL:       q.submitACL,
		AdminACL:        q.adminACL,
		Settings:        configs.ReadSettings(resolved),
	}
	for _, l := range q.limits {
		out.Limits = append(out.Limits, l.build())
	}
	for _, d := range q.classQuotas {
		out.ClassQuotas = append(out.ClassQuotas, d.build())
	}
	if !out.Parent {
		return out
	}
	if q.childTemplate != nil {
		template = q.childTemplate.build()
	}
	out.ChildTemplate = template
	below := configs.InheritedProperties(resolved)
	if len(q.children) > 0 {
		out.Children = make([]configs.Queue, 0, len(q.children))
	}
	for _, c := range q.children {
		out.Children = append(out.Children, c.build(below, template))
	}
	return out
}

// resolve overrides the inherited properties with the queue's own ones. A queue without
// properties of its own shares the inherited map.
func resolve(inherited map[string]string, own []setting) map[string]string {
	if len(own) == 0 {
		return inherited
	}
	out := maps.Clone(inherited)
	for _, s := range own {
		out[s.name.text] = s.value.text
	}
	return out
}

// limit converts the quantities to a max. If all are zero the max is not set (CFG-43).
func (q *quantities) limit() resources.Limit {
	if !q.isPositive() {
		return resources.Limit{}
	}
	return resources.LimitFromMap(q.n)
}

// guarantee converts the quantities to a guarantee. If all are zero it is not set (CFG-43).
func (q *quantities) guarantee() resources.Guarantee {
	if !q.isPositive() {
		return resources.Guarantee{}
	}
	return resources.GuaranteeFromMap(q.n)
}

// build makes a template. A dynamic leaf has the properties of its template only: it
// inherits none from the queues above (QUE-19).
func (t *childTemplateDraft) build() *configs.ChildTemplate {
	return &configs.ChildTemplate{
		MaxApplications: t.maxApplications.n,
		Max:             t.max.limit(),
		Guaranteed:      t.guaranteed.guarantee(),
		Settings:        configs.ReadSettings(resolve(map[string]string{}, t.settings)),
	}
}

func (l *limitDraft) build() limits.Limit {
	return limits.Limit{
		Description:     l.description,
		Users:           tokenTexts(l.users),
		Groups:          tokenTexts(l.groups),
		MaxResources:    l.max.limit(),
		MaxApplications: l.maxApplications.n,
	}
}

// build makes a selector. The order in which classes are written has no meaning.
func (s *classSelectorDraft) build() limits.Selector {
	return limits.Selector{Operator: s.operator, Classes: slices.Sorted(slices.Values(tokenTexts(s.classes)))}
}

// build makes a class quota. Unlike a max, a quota of zeroes only is set: it forbids the resources.
func (d *classQuotaDraft) build() limits.ClassQuota {
	return limits.ClassQuota{
		Name: d.name.text, Match: d.match.build(), Users: tokenTexts(d.users), Groups: tokenTexts(d.groups),
		Hard: resources.LimitFromMap(d.hard.n),
	}
}

func tokenTexts(words []token) []string {
	if len(words) == 0 {
		return nil
	}
	out := make([]string, 0, len(words))
	for _, w := range words {
		out = append(out, w.text)
	}
	return out
}

func (d *ruleDraft) build() *placement.Rule {
	out := &placement.Rule{Kind: d.kind, Create: d.create, Filter: d.filter}
	if d.kind == placement.Fixed || d.kind == placement.Tag {
		out.Value = d.value.text
	}
	if d.parent != nil {
		out.Parent = d.parent.build()
	}
	return out
}
