package objects

import "github.com/canopy-scheduler/canopy/pkg/resources"

// Every book has its quantities by the number of the resource. What a name stands for must not
// change under a book, so whatever brings a name holds it: a node and a foreign allocation what
// they have, a queue what its settings say, a shape what its asks ask for. A name that nothing
// holds is in no book any more, and its number is free (ADR 38).

// intern makes the dense form of q's settings, whose names are held. Those of a dynamic queue
// are held as those of asks are: tags of applications may say what they are.
func (p *Partition) intern(q *Queue) {
	by := resources.Cluster
	if !q.managed {
		by = resources.Asks
	}
	simple := len(q.conf.Limits)+len(q.conf.ClassQuotas)+len(q.scopes)+len(q.further) == 0 && q.conf.Template == nil && q.heldBy == by
	if simple && p.names.Requantify(q.max, q.conf.Max) && p.names.Requantify(q.guaranteed, resources.Limit(q.conf.Guaranteed)) {
		p.useRules(q) // the names are those that it holds already
		return
	}
	former := q.holds()
	q.heldBy = by
	q.max = p.names.HoldLimit(q.conf.Max, by)
	q.guaranteed = p.names.HoldGuarantee(q.conf.Guaranteed, by)
	q.scopes = p.scopesOf(q.conf.ClassQuotas, by)
	q.further = nil
	if len(q.conf.Limits) > 0 || q.conf.Template != nil {
		q.eachFurther(func(name string) { q.further = append(q.further, p.names.HoldName(name, by)) })
	}
	p.release(former)
	p.useRules(q)
}

// useRules finds out what q goes by that depends on more than its own settings, and counts those.
func (p *Partition) useRules(q *Queue) {
	p.countSettings(q, 1)
	p.rule(q)
	q.rule.enforced = p.conf.QuotaPreemption && q.conf.QuotaDelay > 0
}

// countSettings counts the settings of q among those of all queues, with -1 for a queue that goes.
func (p *Partition) countSettings(q *Queue, n int) {
	bounds, scoped := n > 0 && q.boundsApplications(), n > 0 && len(q.scopes) > 0
	p.bounds += count(bounds) - count(q.bounds)
	p.scoped += count(scoped) - count(q.scoped)
	q.bounds, q.scoped = bounds, scoped
}

// holding is the names that a queue holds.
type holding struct {
	max, guaranteed resources.Bound
	scopes          []scope
	further         []resources.Kind
	by              resources.Holder
}

func (q *Queue) holds() holding { return holding{q.max, q.guaranteed, q.scopes, q.further, q.heldBy} }

// release takes back what intern held.
func (p *Partition) release(h holding) {
	p.names.ReleaseBound(h.max, h.by)
	p.names.ReleaseBound(h.guaranteed, h.by)
	for i := range h.scopes {
		for _, x := range h.scopes[i].hard {
			p.names.ReleaseBound(x.max, h.by)
		}
	}
	for _, k := range h.further {
		p.names.ReleaseKind(k, h.by)
	}
}

// eachFurther yields the names in the limits of q, for accounts, which come and go, and in its
// template, for dynamic queues.
func (q *Queue) eachFurther(yield func(name string)) {
	for _, rule := range q.conf.Limits {
		for name := range rule.MaxResources.All() {
			yield(name)
		}
	}
	if t := q.conf.Template; t != nil {
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

// mayPeak notes that the RM says that an ask of shape s runs, on whatever node. Of decided
// placements it is known: they are where a node has what they ask for.
func (p *Partition) mayPeak(s *Shape) {
	p.placed.Raise(s.vector)
	if p.measured != p.names.Given() {
		p.unsound = true // shares have to be measured in the new resource too
	}
}

// forgetKind frees the number of a name, before another name can get it. No book has any of it,
// but for what applications once held.
func (p *Partition) forgetKind(k resources.Kind) {
	if p.placed.At(k) == 0 {
		return
	}
	p.placed[k] = 0
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
