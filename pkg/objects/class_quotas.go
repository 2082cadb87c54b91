package objects

import (
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/limits"
	"github.com/canopy-scheduler/canopy/pkg/persistent"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// Class quotas count what the asks and allocations of some priority classes request and use, from
// admission to release (QUO-34). They are checked at admission only (QUO-36): an admitted ask is
// placed like any other, so no decision reads them.

// scope is the class quotas of a queue with the same match, with their bounds as vectors.
type scope struct {
	limits.Scope
	hard []hard // of Quotas, in that order
}

// hard is the bound of a class quota.
type hard struct {
	max     resources.LimitVector // without pods
	pods    resources.Quantity    // valid if hasPods
	hasPods bool
}

// classUsageID is a class quota of a queue and the user or group that it counts; the zero
// UserOrGroup: all together.
type classUsageID struct {
	quota       string
	userOrGroup UserOrGroup
}

// classUsage is what counts in a class quota, for all together or for one user or group. It exists
// while something counts.
type classUsage struct {
	used resources.Vector
	pods int
}

// scopesOf converts class quotas to scopes and holds their resource names.
func (p *Partition) scopesOf(quotas []limits.ClassQuota, by resources.Holder) (out []scope) {
	for _, s := range limits.Scopes(quotas) {
		d := scope{Scope: s}
		for i := range s.Quotas {
			of := s.Quotas[i].Hard.Map()
			var h hard
			h.pods, h.hasPods = of[limits.Pods]
			delete(of, limits.Pods)
			h.max = p.names.HoldLimit(resources.LimitFromMap(of), by)
			d.hard = append(d.hard, h)
		}
		out = append(out, d)
	}
	return out
}

// anyClassQuotas reports whether a class quota exists or an ask may need one.
func (p *Partition) anyClassQuotas() bool {
	if len(p.conf.ClassesNeedingQuota) > 0 {
		return true
	}
	for _, q := range p.queues {
		if len(q.scopes) > 0 {
			return true
		}
	}
	return false
}

// classQuotaRef is a class quota in which an ask counts, and the usage that it counts for.
type classQuotaRef struct {
	queue *Queue
	quota *limits.ClassQuota
	hard  *hard
	id    classUsageID
}

// usage is what counts so far; nil: nothing.
func (c *classQuotaRef) usage() *classUsage { return c.queue.classUsage[c.id] }

// eachClassQuota yields the class quotas in which an ask of a class and an application counts, from
// the leaf up, until yield returns false.
func (p *Partition) eachClassQuota(a *Application, class string, yield func(classQuotaRef) bool) {
	for q := a.queue; q != nil; q = q.parent {
		for i := range q.scopes {
			s := &q.scopes[i]
			if !s.Match.Matches(class) {
				continue
			}
			count := func(at int, h UserOrGroup) bool {
				if at < 0 {
					return true
				}
				quota := &s.Quotas[at]
				return yield(classQuotaRef{q, quota, &s.hard[at], classUsageID{quota.Name, h}})
			}
			at, group := s.IndexForGroups(a.user.Groups)
			if !count(s.IndexForAll(), UserOrGroup{}) || !count(s.IndexForUser(a.user.Name), UserOrGroup{Name: a.user.Name}) ||
				!count(at, UserOrGroup{Group: true, Name: group}) {
				return
			}
		}
	}
}

// postClassQuotas counts x in the class quotas of its class (sign 1), or takes it out of them (sign
// -1). Requires: x has its shape and its class.
func (p *Partition) postClassQuotas(x *Allocation, sign int) {
	if !p.quotas.hasClassQuotas {
		return
	}
	p.eachClassQuota(x.app, p.PriorityClass(x), func(c classQuotaRef) bool {
		m := c.usage()
		if m == nil {
			m = &classUsage{}
			if c.queue.classUsage == nil {
				c.queue.classUsage = map[classUsageID]*classUsage{}
			}
			c.queue.classUsage[c.id] = m
		}
		addSigned(&m.used, x.shape.Vector(), sign)
		if m.pods += sign; m.pods > 0 {
			return true
		}
		if delete(c.queue.classUsage, c.id); len(c.queue.classUsage) == 0 {
			c.queue.classUsage = nil
		}
		return true
	})
}

// rebuildClassUsage counts all asks and allocations again after class quotas changed. Usage above a
// bound that became smaller stays (QUO-41).
func (p *Partition) rebuildClassUsage() {
	p.quotas.hasClassQuotas = p.anyClassQuotas()
	for _, q := range p.queues {
		q.classUsage = nil
	}
	for _, x := range p.allocations {
		p.postClassQuotas(x, 1)
	}
}

// ClassQuota is a class quota of a queue with its usage, for reading.
type ClassQuota struct {
	limits.ClassQuota
	Used persistent.List[ClassUse] // all together, also if nothing counts; otherwise users before groups, by name
}

// ClassUse is the usage of a class quota by one user or group, or by all together. It is immutable.
type ClassUse struct {
	UserOrGroup UserOrGroup // zero: all together
	Amounts     resources.Amounts
	Pods        int // number of asks and allocations
}

// ClassQuotas are the class quotas of q, in the order of the configuration.
func (p *Partition) ClassQuotas(q *Queue) []ClassQuota {
	if len(q.conf.ClassQuotas) == 0 {
		return nil
	}
	out := make([]ClassQuota, len(q.conf.ClassQuotas))
	for i, quota := range q.conf.ClassQuotas {
		var used []*ClassUse
		for id, m := range q.classUsage {
			if id.quota == quota.Name {
				used = append(used, &ClassUse{id.userOrGroup, p.names.Amounts(m.used), m.pods})
			}
		}
		if quota.CountsAllUsers() && len(used) == 0 {
			used = []*ClassUse{{}}
		}
		slices.SortFunc(used, func(a, b *ClassUse) int { return a.UserOrGroup.compare(b.UserOrGroup) })
		out[i] = ClassQuota{quota, persistent.ListOf(used...)}
	}
	return out
}
