package quota

import (
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/limits"
	"github.com/canopy-scheduler/canopy/pkg/persistent"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// Class quotas count what the asks and allocations of some priority classes request and use, from
// admission to release (QUO-34). They are checked at admission only (QUO-36): an admitted ask is
// placed like any other, so no decision reads them.

// classQuotas holds the class quotas of a queue, and what counts in them.
type classQuotas struct {
	settings []limits.ClassQuota
	scopes   scopes
	usage    map[classUsageID]*classUsage // per quota and user or group with asks or allocations; nil: none
}

// scopes holds the class quotas of a queue, those with the same match together, with their bounds as vectors.
type scopes []scope

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

// classUsageID names a class quota of a queue and the user or group that it counts; the zero UserOrGroup stands for all
// together.
type classUsageID struct {
	quota       string
	userOrGroup UserOrGroup
}

// classUsage holds what counts in a class quota, for all together or for one user or group. It exists
// while something counts.
type classUsage struct {
	used resources.Vector
	pods int
}

// holdScopes converts class quotas to scopes and holds their resource names.
func holdScopes(quotas []limits.ClassQuota, names *resources.NameTable, by resources.Holder) (out scopes) {
	for _, s := range limits.Scopes(quotas) {
		d := scope{Scope: s}
		for i := range s.Quotas {
			of := s.Quotas[i].Hard.Map()
			var h hard
			h.pods, h.hasPods = of[limits.Pods]
			delete(of, limits.Pods)
			h.max = names.HoldLimit(resources.LimitFromMap(of), by)
			d.hard = append(d.hard, h)
		}
		out = append(out, d)
	}
	return out
}

// release reverts the holds of holdScopes.
func (all scopes) release(names *resources.NameTable, by resources.Holder) {
	for i := range all {
		for _, h := range all[i].hard {
			names.ReleaseBound(h.max, by)
		}
	}
}

// setClassQuotas sets the class quotas of q and holds their resource names. What counts already stays.
func (q *Queue) setClassQuotas(quotas []limits.ClassQuota, names *resources.NameTable) {
	if len(quotas) == 0 {
		q.classes = nil
		return
	}
	c := &classQuotas{settings: quotas, scopes: holdScopes(quotas, names, q.heldBy)}
	if q.classes != nil {
		c.usage = q.classes.usage
	}
	q.classes = c
}

// classQuotaRef is a class quota in which an ask counts, with the usage in which it counts.
type classQuotaRef struct {
	queue *Queue
	quota *limits.ClassQuota
	hard  *hard
	id    classUsageID
}

// usage returns what counts so far; nil: nothing.
func (c *classQuotaRef) usage() *classUsage { return c.queue.classes.usage[c.id] }

// eachClassQuota yields the class quotas in which an ask of a class and of application a counts, from
// the leaf up, until yield returns false.
func (a *Application) eachClassQuota(class string, yield func(classQuotaRef) bool) {
	for q := a.leaf; q != nil; q = q.parent {
		if q.classes == nil {
			continue
		}
		for i := range q.classes.scopes {
			s := &q.classes.scopes[i]
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

// PostClassUsage counts an ask or allocation of v in the class quotas of its class (sign 1), or takes it out of
// them (sign -1).
func (a *Application) PostClassUsage(class string, v resources.Vector, sign int) {
	a.eachClassQuota(class, func(c classQuotaRef) bool {
		of, m := c.queue.classes, c.usage()
		if m == nil {
			m = &classUsage{}
			if of.usage == nil {
				of.usage = map[classUsageID]*classUsage{}
			}
			of.usage[c.id] = m
		}
		addSigned(&m.used, v, sign)
		m.pods += sign
		if m.pods > 0 {
			return true
		}
		delete(of.usage, c.id)
		if len(of.usage) == 0 {
			of.usage = nil
		}
		return true
	})
}

// ClearClassUsage resets what the class quotas of q count, so that all asks and allocations can be posted again after
// class quotas changed. Usage above a bound that was lowered stays (QUO-41).
func (q *Queue) ClearClassUsage() {
	if q.classes != nil {
		q.classes.usage = nil
	}
}

// ClassQuota is a class quota of a queue with its usage, for reading.
type ClassQuota struct {
	limits.ClassQuota
	Used persistent.List[ClassUse] // all together, even if nothing counts; otherwise users before groups, by name
}

// ClassUse is the usage of a class quota by one user or group, or by all together. It is immutable.
type ClassUse struct {
	UserOrGroup UserOrGroup // zero: all together
	Amounts     resources.Amounts
	Pods        int // number of asks and allocations
}

// ClassQuotas returns the class quotas of q, in the order of the configuration.
func (q *Queue) ClassQuotas(names Names) []ClassQuota {
	if q.classes == nil {
		return nil
	}
	out := make([]ClassQuota, len(q.classes.settings))
	for i, quota := range q.classes.settings {
		var used []*ClassUse
		for id, m := range q.classes.usage {
			if id.quota == quota.Name {
				used = append(used, &ClassUse{id.userOrGroup, names.Amounts(m.used), m.pods})
			}
		}
		if quota.CountsAllUsers() && len(used) == 0 {
			used = []*ClassUse{{}}
		}
		slices.SortFunc(used, func(a, b *ClassUse) int { return a.UserOrGroup.Compare(b.UserOrGroup) })
		out[i] = ClassQuota{quota, persistent.ListOf(used...)}
	}
	return out
}
