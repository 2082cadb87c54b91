package objects

import (
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/limits"
	"github.com/canopy-scheduler/canopy/pkg/persistent"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// Class quotas count what asks of some priority classes ask for and hold, from when they are
// taken in until they are gone (priority.md S3-4, 5). They are asked at the door of the books
// only: what was taken in is placed like anything else, so no decision looks at them.

// scope is the quotas of a queue that have the same match, with their dense form.
type scope struct {
	limits.Scope
	hard []hard // of Quotas
}

// hard is what a class quota allows.
type hard struct {
	max     resources.LimitVector // without pods
	pods    resources.Quantity    // looked at if bounded
	hasPods bool
}

// classUsageID is who is counted in which quota of a queue. A zero Holder is everybody together.
type classUsageID struct {
	quota       string
	userOrGroup UserOrGroup
}

// classUsage is what counts in a quota, for everybody or for one of those whom it counts. It is
// there as long as something does.
type classUsage struct {
	used resources.Vector
	pods int
}

// scopesOf is the dense form of quotas, whose names are held.
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

// anyClassQuotas reports whether anything has to be counted, or asked, by class.
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

// classQuotaRef is a place where an ask counts.
type classQuotaRef struct {
	queue *Queue
	quota *limits.ClassQuota
	hard  *hard
	id    classUsageID
}

// usage is what is counted there; nil: nothing.
func (c *classQuotaRef) usage() *classUsage { return c.queue.classUsage[c.id] }

// eachClassQuota goes through the quotas that an ask of a class and an application counts in, from
// the leaf up, until yield has enough.
func (p *Partition) eachClassQuota(a *Application, class string, yield func(classQuotaRef) bool) {
	for q := a.queue; q != nil; q = q.parent {
		for i := range q.scopes {
			s := &q.scopes[i]
			if !s.Match.Matches(class) {
				continue
			}
			more := func(at int, h UserOrGroup) bool {
				if at < 0 {
					return true
				}
				quota := &s.Quotas[at]
				return yield(classQuotaRef{q, quota, &s.hard[at], classUsageID{quota.Name, h}})
			}
			at, group := s.IndexForGroups(a.user.Groups)
			if !more(s.IndexForAll(), UserOrGroup{}) || !more(s.IndexForUser(a.user.Name), UserOrGroup{Name: a.user.Name}) ||
				!more(at, UserOrGroup{Group: true, Name: group}) {
				return
			}
		}
	}
}

// postClassQuotas counts x in the quotas of its class, or takes it out of them. Requires: it has its
// shape and its class.
func (p *Partition) postClassQuotas(x *Allocation, sign int) {
	if !p.hasClassQuotas {
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
		addSigned(&m.used, x.shape.vector, sign)
		if m.pods += sign; m.pods > 0 {
			return true
		}
		if delete(c.queue.classUsage, c.id); len(c.queue.classUsage) == 0 {
			c.queue.classUsage = nil
		}
		return true
	})
}

// rebuildClassUsage counts everything anew, after quotas changed. Nobody is asked: what is over a quota
// that was made smaller stays.
func (p *Partition) rebuildClassUsage() {
	p.hasClassQuotas = p.anyClassQuotas()
	for _, q := range p.queues {
		q.classUsage = nil
	}
	for _, x := range p.allocations {
		p.postClassQuotas(x, 1)
	}
}

// ClassQuota is a class quota of a queue and what counts in it, for reading.
type ClassQuota struct {
	limits.ClassQuota
	Used persistent.List[ClassUse] // everybody together, also when nothing counts; or else users before groups, in name order
}

// ClassUse is what counts for one of those whom a class quota counts. It is immutable.
type ClassUse struct {
	UserOrGroup UserOrGroup // zero: everybody together
	Amounts     resources.Amounts
	Pods        int // asks and allocations
}

// ClassQuotas are the quotas of q, in the order of the document.
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
