package twin

import (
	"maps"
	"math"

	"github.com/canopy-scheduler/canopy/pkg/fairness"
	"github.com/canopy-scheduler/canopy/pkg/policies"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// queueKey returns the sort key of siblings.
func (t *Twin) queueKey(c *totals, q *queue) policies.QueueKey {
	return policies.QueueKey{
		Path: string(q.path), Priority: t.exposedPriority(c, q), Share: t.share(c, q), Pending: c.pending[q.path].Sum(),
	}
}

// exposedPriority returns the current priority of q for its parent (PRI-9, PRI-16). Fence and offset of root
// have no effect.
func (t *Twin) exposedPriority(c *totals, q *queue) policies.CurrentPriority {
	var top policies.CurrentPriority
	for _, child := range q.children {
		top = higherPriority(top, t.exposedPriority(c, child))
	}
	for _, a := range t.apps {
		if a.leaf == q.path {
			top = higherPriority(top, t.selectionPriority(c, a))
		}
	}
	if !top.Pending || q == t.root {
		return top
	}
	shown := int64(q.conf.PriorityOffset)
	if q.conf.PriorityPolicy != policies.PriorityFence {
		shown += int64(top.Value)
	}
	return policies.Pending(int32(min(max(shown, math.MinInt32), math.MaxInt32)))
}

// priority returns the highest priority of an application's pending asks.
func (c *totals) priority(a *app) policies.CurrentPriority {
	var top policies.CurrentPriority
	for _, w := range c.apps[a.id].asks {
		top = higherPriority(top, policies.Pending(w.ask.Priority))
	}
	return top
}

func higherPriority(a, b policies.CurrentPriority) policies.CurrentPriority {
	if !a.Pending || b.Pending && b.Value > a.Value {
		return b
	}
	return a
}

// share returns the fair share of q: the largest ratio of usage to guarantee over all resources, or to the
// fair max without a guarantee (ORD-17).
func (t *Twin) share(c *totals, q *queue) resources.Share {
	var top resources.Share
	fair := t.fairMax(c, q)
	for name, n := range c.allocated[q.path].All() {
		of, measured := q.guaranteed().Get(name)
		if !measured {
			of, measured = fair[name]
		}
		if !measured {
			continue
		}
		if s := resources.Fraction(n, of); s.Compare(top) > 0 {
			top = s
		}
	}
	return top
}

// fairMax returns the capacity of the cluster, overwritten by the max of every queue from root down.
func (t *Twin) fairMax(c *totals, q *queue) map[string]resources.Quantity {
	if c.capacity.IsZero() {
		return nil
	}
	fair := c.capacity.Map()
	for _, above := range t.pathQueues(q.path)[1:] {
		maps.Copy(fair, above.max().Map())
	}
	return fair
}

// appKey returns the sort key of the applications of a leaf.
func (t *Twin) appKey(c *totals, a *app) policies.AppKey {
	leaf, name := t.queue(a.leaf), string(a.id)
	if kind, _ := overTime(leaf); kind == fairness.Users {
		name = a.user.Name
	}
	return policies.AppKey{
		ID: string(a.id), Priority: t.selectionPriority(c, a), Submitted: a.submitted.UnixNano(),
		Shares: t.shares(c, a), Started: a.allocationsMade > 0, Usage: t.usageKey(leaf, name),
	}
}

// shares returns the ratios of an application's usage to the guarantee of its leaf, or the quantity itself
// without one (ORD-29, ORD-30).
func (t *Twin) shares(c *totals, a *app) resources.Shares {
	var shares resources.Shares
	for name, n := range c.apps[a.id].allocated.All() {
		of, _ := t.queue(a.leaf).guaranteed().Get(name)
		if of > 0 {
			shares = append(shares, resources.Fraction(n, of))
		} else {
			shares = append(shares, resources.RawShare(n))
		}
	}
	shares.Sort()
	return shares
}

// nodeKey returns the sort key of nodes. The conversions fix the rounding, so that equal keys are equal to
// the last bit (ORD-39, ORD-46).
func (t *Twin) nodeKey(c *totals, n *node) policies.NodeKey {
	var used, weights float64
	available := c.available(n)
	for _, w := range t.order.Weights {
		if of := n.total.Get(w.Resource); of != 0 {
			free := float64(available.Get(w.Resource)) / float64(of)
			used += float64(w.Weight * float64(1-free))
			weights += w.Weight
		}
	}
	score := 0.0
	if weights != 0 {
		score = used / weights
	}
	if t.order.Sort == policies.NodeSortBinPacking {
		score = 1 - score
	}
	return policies.NodeKey{Score: score, ID: string(n.id)}
}
