package objects

import "github.com/canopy-scheduler/canopy/pkg/resources"

// Every book has its quantities by the number of the resource. What a name stands for must not
// change under a book, so whatever brings a name holds it: a node and a foreign allocation what
// they have, a queue what its settings say, a shape what its asks ask for. A name that nothing
// holds is in no book any more, and its number is free (ADR 38).

// internNames makes the dense form of q's settings, whose names are held. Those of a dynamic queue
// are held as those of asks are: tags of applications may say what they are.
func (p *Partition) internNames(q *Queue) {
	by := resources.Cluster
	if !q.managed {
		by = resources.Asks
	}
	simple := len(q.conf.Limits)+len(q.conf.ClassQuotas)+len(q.scopes)+len(q.extraKinds) == 0 && q.conf.ChildTemplate == nil && q.namesHeldBy == by
	if simple && p.names.UpdateQuantities(q.max, q.conf.Max) && p.names.UpdateQuantities(q.guaranteed, resources.Limit(q.conf.Guaranteed)) {
		p.applySettings(q) // the names are those that it holds already
		return
	}
	former := q.heldNames()
	q.namesHeldBy = by
	q.max = p.names.HoldLimit(q.conf.Max, by)
	q.guaranteed = p.names.HoldGuarantee(q.conf.Guaranteed, by)
	q.scopes = p.scopesOf(q.conf.ClassQuotas, by)
	q.extraKinds = nil
	if len(q.conf.Limits) > 0 || q.conf.ChildTemplate != nil {
		q.eachExtraName(func(name string) { q.extraKinds = append(q.extraKinds, p.names.HoldName(name, by)) })
	}
	p.releaseNames(former)
	p.applySettings(q)
}

// applySettings finds out what q goes by that depends on more than its own settings, and counts those.
func (p *Partition) applySettings(q *Queue) {
	p.countSettings(q, 1)
	p.updatePolicy(q)
	q.policy.maxEnforced = p.conf.QuotaPreemptionEnabled && q.conf.QuotaPreemptionDelay > 0
}

// countSettings counts the settings of q among those of all queues, with -1 for a queue that goes.
func (p *Partition) countSettings(q *Queue, n int) {
	bounds, scoped := n > 0 && q.hasMaxApplications(), n > 0 && len(q.scopes) > 0
	p.maxAppsQueues += boolToInt(bounds) - boolToInt(q.maxAppsCounted)
	p.classQuotaQueues += boolToInt(scoped) - boolToInt(q.classQuotasCounted)
	q.maxAppsCounted, q.classQuotasCounted = bounds, scoped
}

// heldNames is the names that a queue holds.
type heldNames struct {
	max, guaranteed resources.LimitVector
	scopes          []scope
	extraKinds      []resources.Index
	heldBy          resources.Holder
}

func (q *Queue) heldNames() heldNames {
	return heldNames{q.max, q.guaranteed, q.scopes, q.extraKinds, q.namesHeldBy}
}

// releaseNames takes back what intern held.
func (p *Partition) releaseNames(h heldNames) {
	p.names.ReleaseBound(h.max, h.heldBy)
	p.names.ReleaseBound(h.guaranteed, h.heldBy)
	for i := range h.scopes {
		for _, x := range h.scopes[i].hard {
			p.names.ReleaseBound(x.max, h.heldBy)
		}
	}
	for _, k := range h.extraKinds {
		p.names.ReleaseIndex(k, h.heldBy)
	}
}

// eachExtraName yields the names in the limits of q, for accounts, which come and go, and in its
// template, for dynamic queues.
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

// overflows reports whether the books could not hold an ask of these amounts.
func (p *Partition) overflows(amounts resources.Amounts) bool {
	v := p.names.Hold(amounts, resources.Asks)
	defer p.names.Release(v, resources.Asks)
	return p.root.pending.Overflows(p.root.allocated, v)
}

// notePlacedKinds notes that the RM says that an ask of shape s runs, on whatever node. Of decided
// placements it is known: they are where a node has what they ask for.
func (p *Partition) notePlacedKinds(s *Shape) {
	p.placedKinds.SetMax(s.vector)
	if p.namesGivenAtRefresh != p.names.Assigned() {
		p.sharesStale = true // shares have to be measured in the new resource too
	}
}

// forgetKind frees the number of a name, before another name can get it. No book has any of it,
// but for what applications once held.
func (p *Partition) forgetKind(k resources.Index) {
	if p.placedKinds.At(k) == 0 {
		return
	}
	p.placedKinds[k] = 0
	for _, a := range p.apps {
		if a.peak.At(k) != 0 {
			most := p.Peak(a)
			a.formerPeak = &most
			a.peak[k] = 0
		}
	}
}

// Peak is, resource by resource, the most that the allocations of an application or its
// placeholders ever held at once (behaviour.md 11.4, maxUsedResource).
func (p *Partition) Peak(a *Application) resources.Amounts {
	now := p.names.Amounts(a.peak)
	if a.formerPeak == nil {
		return now
	}
	most := a.formerPeak.Map()
	for name, n := range now.All() {
		most[name] = max(most[name], n)
	}
	return resources.FromMap(most)
}
