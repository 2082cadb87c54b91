package configs

import (
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/limits"
	"github.com/canopy-scheduler/canopy/pkg/placement"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// build turns a draft into a Partition. Requires: it was checked, without errors.
func (p *partitionDraft) build() Partition {
	out := Partition{
		Name:            p.name,
		Root:            p.root.build(map[string]string{}, nil),
		Nodes:           p.nodes,
		IgnorePriority:  p.ignorePriority,
		Preemption:      p.preemption,
		QuotaPreemption: p.quotaPreemption, NodePressure: p.nodePressure,
		UserResolver: p.resolver,

		NominationTimeout: p.waits, Churn: p.churn,
	}
	for _, s := range p.needQuota {
		out.NeedQuota = append(out.NeedQuota, s.build())
	}
	for _, d := range p.rules {
		out.Rules = append(out.Rules, *d.build())
	}
	return out
}

// build resolves what a queue has from the queues above: properties, and on a parent
// the child template (behaviour.md 2.2, 3.2). Upstream inherits a template only when
// the queue is made, and forgets it on reload (1.7).
func (q *queueDraft) build(inherited map[string]string, template *Template) Queue {
	resolved := resolve(inherited, q.settings)
	out := Queue{
		Name:            q.name,
		Parent:          q.isParent(),
		Max:             q.max.limit(),
		Guaranteed:      q.guaranteed.guarantee(),
		MaxApplications: q.maxApplications.n,
		Submit:          q.submit,
		Admin:           q.admin,
		Settings:        readSettings(resolved),
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
	if q.template != nil {
		template = q.template.build()
	}
	out.Template = template
	below := inheritable(resolved)
	if len(q.children) > 0 {
		out.Children = make([]Queue, 0, len(q.children))
	}
	for _, c := range q.children {
		out.Children = append(out.Children, c.build(below, template))
	}
	return out
}

// limit is the quantities as a max. Nothing but zeroes is no max (behaviour.md 3.4).
func (q *quantities) limit() resources.Limit {
	if !q.isPositive() {
		return resources.Limit{}
	}
	return resources.LimitFromMap(q.n)
}

// guarantee is the quantities as a guarantee. Nothing but zeroes is none.
func (q *quantities) guarantee() resources.Guarantee {
	if !q.isPositive() {
		return resources.Guarantee{}
	}
	return resources.GuaranteeFromMap(q.n)
}

// build makes a template. Its properties are all that a dynamic leaf gets: nothing is
// inherited from the queues above (behaviour.md 2.2).
func (t *templateDraft) build() *Template {
	return &Template{
		MaxApplications: t.maxApplications.n,
		Max:             t.max.limit(),
		Guaranteed:      t.guaranteed.guarantee(),
		Settings:        readSettings(resolve(map[string]string{}, t.settings)),
	}
}

func (l *limitDraft) build() limits.Rule {
	return limits.Rule{
		Description:     l.description,
		Users:           texts(l.users),
		Groups:          texts(l.groups),
		MaxResources:    l.max.limit(),
		MaxApplications: l.maxApplications.n,
	}
}

// build makes a selector. The order in which classes are written says nothing.
func (s *selectorDraft) build() limits.Selector {
	return limits.Selector{Operator: s.operator, Classes: slices.Sorted(slices.Values(texts(s.classes)))}
}

// build makes a class quota. Unlike a max, one of nothing but zeroes is one: it forbids.
func (d *classQuotaDraft) build() limits.ClassQuota {
	return limits.ClassQuota{
		Name: d.name.text, Match: d.match.build(), Users: texts(d.users), Groups: texts(d.groups),
		Hard: resources.LimitFromMap(d.hard.n),
	}
}

func texts(words []word) []string {
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
