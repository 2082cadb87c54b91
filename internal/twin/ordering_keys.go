package twin

import (
	"maps"
	"math"

	"github.com/canopy-scheduler/canopy/pkg/policies"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// queueKey is what siblings are compared by.
func (t *Twin) queueKey(c *totals, q *queue) policies.QueueKey {
	return policies.QueueKey{
		Path: string(q.path), Priority: t.exposedPriority(c, q), Share: t.share(c, q), Pending: c.pending[q.path].Sum(),
	}
}

// exposedPriority is the priority that q shows its parent (sheet 3.9). Root has no parent, so
// neither its fence nor its offset means anything.
func (t *Twin) exposedPriority(c *totals, q *queue) policies.CurrentPriority {
	var top policies.CurrentPriority
	for _, child := range q.children {
		top = higherPriority(top, t.exposedPriority(c, child))
	}
	for _, a := range t.apps {
		if a.leaf == q.path {
			top = higherPriority(top, c.priority(a))
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

// priority is the highest of an application's pending asks.
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

// share is how well q is served: the largest part it has of what it is promised, type
// by type, or of its fair maximum where nothing is promised (sheet 3.10).
func (t *Twin) share(c *totals, q *queue) resources.Share {
	var top resources.Share
	fair := t.fairMax(c, q)
	for name, n := range c.allocated[q.path].All() {
		of, measured := q.conf.Guaranteed.Get(name)
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

// fairMax is the cluster, overwritten by every queue's own maximum on the way down.
func (t *Twin) fairMax(c *totals, q *queue) map[string]resources.Quantity {
	if c.capacity.IsZero() {
		return nil
	}
	fair := c.capacity.Map()
	for _, above := range t.pathQueues(q.path)[1:] {
		maps.Copy(fair, above.conf.Max.Map())
	}
	return fair
}

// appKey is what the applications of a leaf are compared by.
func (t *Twin) appKey(c *totals, a *app) policies.AppKey {
	return policies.AppKey{
		ID: string(a.id), Priority: c.priority(a), Submitted: a.submitted.UnixNano(), Shares: t.shares(c, a),
		Started: a.allocationsMade > 0,
	}
}

// shares is what an application uses of what its leaf is promised, or the bare
// quantity where that says nothing (sheet 3.11).
func (t *Twin) shares(c *totals, a *app) resources.Shares {
	var shares resources.Shares
	for name, n := range c.apps[a.id].allocated.All() {
		of, _ := t.queue(a.leaf).conf.Guaranteed.Get(name)
		if of > 0 {
			shares = append(shares, resources.Fraction(n, of))
		} else {
			shares = append(shares, resources.RawShare(n))
		}
	}
	shares.Sort()
	return shares
}

// nodeKey is what nodes are compared by. The conversions pin the rounding, so that
// equal means equal to the last bit (sheet 5.5).
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
