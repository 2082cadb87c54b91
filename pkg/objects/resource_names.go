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
	settings := quota.Settings{
		Max: q.conf.Max, Guaranteed: q.conf.Guaranteed, MaxApplications: q.conf.MaxApplications, Limits: q.conf.Limits,
		ClassQuotas: q.conf.ClassQuotas,
	}
	formerBy, formerExtra := q.quota.HeldBy(), q.extraResources
	former := q.quota.Configure(&settings, p.names, by)
	q.extraResources = nil
	if len(q.conf.Limits) > 0 || q.conf.ChildTemplate != nil {
		q.eachExtraName(func(name string) { q.extraResources = append(q.extraResources, p.names.HoldName(name, by)) })
	}
	former.Release(p.names)
	releaseIndexes(p.names, formerExtra, formerBy)
	p.applySettings(q)
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
		for name := range t.Max.All() {
			yield(name)
		}
		for name := range t.Guaranteed.All() {
			yield(name)
		}
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
