package twin

import (
	"iter"
	"maps"
	"math/big"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// Quotas that are percents (QUO-63 to QUO-69), from their definition: for each queue and resource anew.

// quotas are the effective quotas of a queue.
type quotas struct {
	max        resources.Limit
	guaranteed resources.Guarantee
}

func (q *queue) max() resources.Limit {
	if q.inForce != nil {
		return q.inForce.max
	}
	return q.conf.Max.Effective(func(name string) resources.Quantity {
		n, _ := q.conf.Max.Get(name)
		return n
	})
}

func (q *queue) guaranteed() resources.Guarantee {
	if q.inForce != nil {
		return q.inForce.guaranteed
	}
	return q.conf.Guaranteed.Effective(func(name string) resources.Quantity {
		n, _ := q.conf.Guaranteed.Get(name)
		return n
	})
}

// followNodes puts the quotas in force that follow from the nodes.
func (t *Twin) followNodes() {
	capacity := t.total().capacity
	if t.lastCapacity.IsZero() && !capacity.IsZero() || !capacity.Covers(t.lastCapacity) {
		t.unsettled = t.now
	}
	t.lastCapacity = capacity
	for _, q := range t.allQueues(t.root)[1:] {
		q.inForce = &quotas{
			q.conf.Max.Effective(func(name string) resources.Quantity { return t.maxOf(q, name) }),
			q.conf.Guaranteed.Effective(func(name string) resources.Quantity { return t.guaranteeOf(q, name) }),
		}
	}
}

// forgetNodes has the quotas of queues as in a partition that is new.
func (t *Twin) forgetNodes() {
	t.lastCapacity = resources.Amounts{}
	for _, q := range t.allQueues(t.root) {
		q.inForce = nil
	}
}

// nearest returns the nearest queue above q that names a resource; nil: there is none.
func (t *Twin) nearest(q *queue, names func(*queue) bool) (found *queue) {
	for _, above := range t.pathQueues(q.path) {
		if above != q && above != t.root && names(above) {
			found = above
		}
	}
	return found
}

func part(p resources.Percent, of resources.Quantity) resources.Quantity {
	n := new(big.Int).Mul(big.NewInt(int64(p)), big.NewInt(int64(of)))
	return resources.Quantity(n.Div(n, big.NewInt(10_000)).Int64())
}

func (t *Twin) maxOf(q *queue, name string) resources.Quantity {
	p, ok := q.conf.Max.Percent(name)
	if !ok {
		n, _ := q.conf.Max.Get(name)
		return n
	}
	base := t.nearest(q, func(above *queue) bool {
		_, written := above.conf.Max.Get(name)
		_, percent := above.conf.Max.Percent(name)
		return written || percent
	})
	if base == nil {
		return part(p, t.lastCapacity.Get(name))
	}
	return part(p, t.maxOf(base, name))
}

func guarantees(q *queue, name string) bool {
	_, written := q.conf.Guaranteed.Get(name)
	_, percent := q.conf.Guaranteed.Percent(name)
	return written || percent
}

func (t *Twin) guaranteeOf(q *queue, name string) resources.Quantity {
	names := func(above *queue) bool { return guarantees(above, name) }
	base := t.nearest(q, names)
	of := t.lastCapacity.Get(name)
	if base != nil {
		of = t.guaranteeOf(base, name)
	}
	whole := func(q *queue) resources.Quantity {
		if p, ok := q.conf.Guaranteed.Percent(name); ok {
			return part(p, of)
		}
		n, _ := q.conf.Guaranteed.Get(name)
		return n
	}
	sum, some := new(big.Int), false
	for _, other := range t.allQueues(t.root)[1:] {
		if guarantees(other, name) && t.nearest(other, names) == base {
			_, percent := other.conf.Guaranteed.Percent(name)
			sum.Add(sum, big.NewInt(int64(whole(other))))
			some = some || percent
		}
	}
	if !some || sum.Cmp(big.NewInt(int64(of))) <= 0 {
		return whole(q)
	}
	n := new(big.Int).Mul(big.NewInt(int64(whole(q))), big.NewInt(int64(of)))
	return resources.Quantity(n.Div(n, sum).Int64())
}

// namesOfQuota yields the names of a quota, those of percents with a quantity of 0.
func namesOfQuota(q interface {
	All() iter.Seq2[string, resources.Quantity]
	PercentMap() map[string]resources.Percent
}) quantities {
	all := maps.Collect(q.All())
	for name := range q.PercentMap() {
		all[name] = 0
	}
	return resources.LimitFromMap(all).All()
}

// countPercents counts the queues with quotas that are percents.
func countPercents(occurrences map[string]int, p *objects.Partition) {
	for q := range objects.EachQueue(p) {
		most, least := q.ConfiguredQuotas()
		for name := range most.Percents() {
			if n, _ := q.Max().Get(name); n > 0 {
				occurrences["a max in percent above zero"]++
			}
		}
		for name := range least.Percents() {
			if n, _ := q.Guaranteed().Get(name); n > 0 {
				occurrences["a guarantee in percent above zero"]++
			}
		}
		for name, n := range least.All() {
			if reduced, _ := q.Guaranteed().Get(name); reduced < n {
				occurrences["a guarantee is scaled down"]++
			}
		}
		if above, ok := q.Quota().AboveMax(p); ok && most.HasPercents() {
			occurrences["above a max in percent"]++
			if above.Due.Equal(q.Quota().SettledFrom()) {
				occurrences["a max in percent settles"]++
			}
		}
	}
}
