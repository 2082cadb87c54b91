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
	max     resources.Bound    // without pods
	pods    resources.Quantity // looked at if bounded
	bounded bool
}

// meterID is who is counted in which quota of a queue. A zero Holder is everybody together.
type meterID struct {
	quota  string
	holder Holder
}

// meter is what counts in a quota, for everybody or for one of those whom it counts. It is
// there as long as something does.
type meter struct {
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
			h.pods, h.bounded = of[limits.Pods]
			delete(of, limits.Pods)
			h.max = p.names.HoldLimit(resources.LimitFromMap(of), by)
			d.hard = append(d.hard, h)
		}
		out = append(out, d)
	}
	return out
}

// isMetered reports whether anything has to be counted, or asked, by class.
func (p *Partition) isMetered() bool {
	if len(p.conf.NeedQuota) > 0 {
		return true
	}
	for _, q := range p.queues {
		if len(q.scopes) > 0 {
			return true
		}
	}
	return false
}

// counted is a place where an ask counts.
type counted struct {
	queue *Queue
	quota *limits.ClassQuota
	hard  *hard
	id    meterID
}

// meter is what is counted there; nil: nothing.
func (c *counted) meter() *meter { return c.queue.meters[c.id] }

// eachQuota goes through the quotas that an ask of a class and an application counts in, from
// the leaf up, until yield has enough.
func (p *Partition) eachQuota(a *Application, class string, yield func(counted) bool) {
	for q := a.queue; q != nil; q = q.parent {
		for i := range q.scopes {
			s := &q.scopes[i]
			if !s.Match.Matches(class) {
				continue
			}
			more := func(at int, h Holder) bool {
				if at < 0 {
					return true
				}
				quota := &s.Quotas[at]
				return yield(counted{q, quota, &s.hard[at], meterID{quota.Name, h}})
			}
			at, group := s.OfGroups(a.user.Groups)
			if !more(s.All(), Holder{}) || !more(s.OfUser(a.user.Name), Holder{Name: a.user.Name}) ||
				!more(at, Holder{Group: true, Name: group}) {
				return
			}
		}
	}
}

// meter counts x in the quotas of its class, or takes it out of them. Requires: it has its
// shape and its class.
func (p *Partition) meter(x *Allocation, sign int) {
	if !p.metered {
		return
	}
	p.eachQuota(x.app, p.PriorityClass(x), func(c counted) bool {
		m := c.meter()
		if m == nil {
			m = &meter{}
			if c.queue.meters == nil {
				c.queue.meters = map[meterID]*meter{}
			}
			c.queue.meters[c.id] = m
		}
		move(&m.used, x.shape.vector, sign)
		if m.pods += sign; m.pods > 0 {
			return true
		}
		if delete(c.queue.meters, c.id); len(c.queue.meters) == 0 {
			c.queue.meters = nil
		}
		return true
	})
}

// remeter counts everything anew, after quotas changed. Nobody is asked: what is over a quota
// that was made smaller stays.
func (p *Partition) remeter() {
	p.metered = p.isMetered()
	for _, q := range p.queues {
		q.meters = nil
	}
	for _, x := range p.work {
		p.meter(x, 1)
	}
}

// ClassQuota is a class quota of a queue and what counts in it, for reading.
type ClassQuota struct {
	limits.ClassQuota
	Used persistent.List[ClassUse] // everybody together, also when nothing counts; or else users before groups, in name order
}

// ClassUse is what counts for one of those whom a class quota counts. It is immutable.
type ClassUse struct {
	Holder  Holder // zero: everybody together
	Amounts resources.Amounts
	Pods    int // asks and allocations
}

// ClassQuotas are the quotas of q, in the order of the document.
func (p *Partition) ClassQuotas(q *Queue) []ClassQuota {
	if len(q.conf.ClassQuotas) == 0 {
		return nil
	}
	out := make([]ClassQuota, len(q.conf.ClassQuotas))
	for i, quota := range q.conf.ClassQuotas {
		var used []*ClassUse
		for id, m := range q.meters {
			if id.quota == quota.Name {
				used = append(used, &ClassUse{id.holder, p.names.Amounts(m.used), m.pods})
			}
		}
		if quota.ForAll() && len(used) == 0 {
			used = []*ClassUse{{}}
		}
		slices.SortFunc(used, func(a, b *ClassUse) int { return a.Holder.compare(b.Holder) })
		out[i] = ClassQuota{quota, persistent.ListOf(used...)}
	}
	return out
}
