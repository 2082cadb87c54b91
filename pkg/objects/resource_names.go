package objects

import (
	"github.com/canopy-scheduler/canopy/pkg/feasibility"
	"github.com/canopy-scheduler/canopy/pkg/quota"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// Vectors have quantities by the index of the resource, which must not change while a vector has
// it. So whatever has a name holds it: a node and a foreign allocation their resources, a queue
// those of its settings, a shape the requested ones. A name without a holder is in no vector, and
// its index is free (ADR 38, NOD-37).

// internNames converts the settings of q to vectors and holds their resource names. A dynamic queue
// holds them as asks do, since tags of applications may bring them.
func (p *Partition) internNames(q *Queue) {
	by := resources.Cluster
	if !q.managed {
		by = resources.Asks
	}
	q.effective = quota.Effective{Max: q.conf.Max, Guaranteed: q.conf.Guaranteed, SettledFrom: q.effective.SettledFrom}
	percents := q.conf.Max.HasPercents() || q.conf.Guaranteed.HasPercents()
	if percents { // of nothing, until SetEffectiveQuotas says of what
		q.effective.Max = q.conf.Max.Effective(written(q.conf.Max.Get))
		q.effective.Guaranteed = q.conf.Guaranteed.Effective(written(q.conf.Guaranteed.Get))
	}
	settings := quota.Settings{
		Max: q.effective.Max, Guaranteed: q.effective.Guaranteed, MaxApplications: q.conf.MaxApplications,
		Limits: q.conf.Limits, ClassQuotas: q.conf.ClassQuotas,
	}
	formerBy, formerExtra := q.quota.HeldBy(), q.extraResources
	former := q.quota.Configure(&settings, p.names, by)
	if percents || q.quota.HasPercents() {
		q.quota.SetPercents(q.conf.Max, p.names)
	}
	q.extraResources = nil
	if len(q.conf.Limits) > 0 || q.conf.ChildTemplate != nil {
		q.eachExtraName(func(name string) { q.extraResources = append(q.extraResources, p.names.HoldName(name, by)) })
	}
	former.Release(p.names)
	releaseIndexes(p.names, formerExtra, formerBy)
	p.applySettings(q)
}

// written returns the quantities that get finds, and 0 for a percent.
func written(get func(string) (resources.Quantity, bool)) func(string) resources.Quantity {
	return func(name string) resources.Quantity {
		n, _ := get(name)
		return n
	}
}

// SetEffectiveQuotas puts the effective quotas of q in force. They must name the resources that its settings name.
func SetEffectiveQuotas(p *Partition, q *Queue, e quota.Effective) {
	q.effective = e
	q.quota.SetEffective(&e, p.names)
	quotasChanged(p, q)
}

// applySettings updates what depends on the settings of q, and the counts of settings.
func (p *Partition) applySettings(q *Queue) {
	p.quotas.CountSettings(&q.quota, false)
	q.updatePolicy(&p.conf)
	delay := q.conf.QuotaPreemptionDelay
	q.quota.SetEnforcement(p.conf.QuotaPreemptionEnabled && delay > 0 && q.managed, delay)
}

// releaseNames reverts the holds of internNames.
func (q *Queue) releaseNames(names *resources.NameTable) {
	q.quota.HeldNames().Release(names)
	releaseIndexes(names, q.extraResources, q.quota.HeldBy())
}

func releaseIndexes(names *resources.NameTable, held []resources.Index, by resources.Holder) {
	for _, k := range held {
		names.ReleaseIndex(k, by)
	}
}

// eachExtraName yields the names in the limits of q, which accounts use, and in its child template,
// which dynamic queues use.
func (q *Queue) eachExtraName(yield func(name string)) {
	for _, rule := range q.conf.Limits {
		for name := range rule.MaxResources.All() {
			yield(name)
		}
	}
	if t := q.conf.ChildTemplate; t != nil {
		eachQuotaName(t.Max, t.Guaranteed, yield)
	}
}

// eachQuotaName yields the names of a max and a guarantee, those of percents included.
func eachQuotaName(most resources.Limit, least resources.Guarantee, yield func(name string)) {
	for name := range most.All() {
		yield(name)
	}
	for name := range most.Percents() {
		yield(name)
	}
	for name := range least.All() {
		yield(name)
	}
	for name := range least.Percents() {
		yield(name)
	}
}

// overflows reports whether a total would exceed 64 bits with an ask of these amounts.
func (p *Partition) overflows(amounts resources.Amounts) bool {
	pending, allocated := p.root.Pending(), p.root.Allocated()
	for name, n := range amounts.All() {
		var asked, used resources.Quantity // of a name that is in no vector yet: none
		if k, known := p.names.Lookup(name); known {
			asked, used = pending.At(k), allocated.At(k)
		}
		if resources.Overflow(asked, used, n) {
			return true
		}
	}
	return false
}

// notePlacedResources records the resources of a reported allocation in placedResources. Decided placements
// need no record: their nodes have these resources.
func (p *Partition) notePlacedResources(s *feasibility.Shape) {
	p.placedResources.SetMax(s.Vector())
	if p.journal.order.namesGivenAtRefresh != p.names.Assigned() {
		p.journal.post(Change{Kind: ResourceAdded}) // shares need denominators for it
	}
}

// forgetResource removes the quantities of a resource index that is freed. They are zero except for
// peaks of applications.
func (p *Partition) forgetResource(k resources.Index) {
	if p.placedResources.At(k) == 0 {
		return
	}
	p.placedResources[k] = 0
	for _, a := range p.apps {
		if a.peak.At(k) != 0 {
			peak := p.Peak(a)
			a.ownExtra().formerPeak = &peak
			a.peak[k] = 0
		}
	}
}

// Peak is, per resource, the most that the allocations of an application or its placeholders ever
// used at once (APP-44).
func (p *Partition) Peak(a *Application) resources.Amounts {
	now := p.names.Amounts(a.peak)
	if a.extra.formerPeak == nil {
		return now
	}
	peak := a.extra.formerPeak.Map()
	for name, n := range now.All() {
		peak[name] = max(peak[name], n)
	}
	return resources.FromMap(peak)
}

// ResourceCount is the number of resource indexes in use. It only grows.
func (p *Partition) ResourceCount() int { return p.names.Len() }

// ResourceIndex returns the index of a resource in the vectors of p, until that posts ResourceAdded; ok is false if it
// has none.
func ResourceIndex(p *Partition, name string) (k resources.Index, ok bool) {
	return p.names.Lookup(name)
}
