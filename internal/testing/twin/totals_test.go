package twin

import (
	"github.com/canopy-scheduler/canopy/pkg/lifecycle"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// totals are all sums at one moment. They are computed for every question.
type totals struct {
	capacity        resources.Amounts // of all nodes, schedulable or not
	deficit         resources.Amounts // what the allocations of nodes exceed their capacities by
	pending         map[objects.QueuePath]resources.Amounts
	allocated       map[objects.QueuePath]resources.Amounts
	apps            map[objects.AppID]*appTotals
	allocatedOnNode map[objects.NodeID]resources.Amounts
	foreignOnNode   map[objects.NodeID]resources.Amounts
	// of the asks that have reserved the node or are nominated for it, or to be placed there in the place of a placeholder
	// of another
	nominatedOnNode map[objects.NodeID]resources.Amounts
	asks, running   int // numbers of pending asks and of allocations

	sides map[objects.QueuePath]map[string]*fairSide // of the queues that were looked at, only because they take long
}

// appTotals are the sums of an application.
type appTotals struct {
	pending, allocated, placeholders resources.Amounts
	asks                             []*allocation // pending
	running                          int
	counts                           bool // among the running applications

	group    string // the group whose limits count for it, if grouped
	hasGroup bool
	limits   []applicableLimit // the limits that count for it
}

func (t *Twin) total() *totals {
	c := &totals{
		pending:         map[objects.QueuePath]resources.Amounts{},
		allocated:       map[objects.QueuePath]resources.Amounts{},
		apps:            map[objects.AppID]*appTotals{},
		allocatedOnNode: map[objects.NodeID]resources.Amounts{},
		foreignOnNode:   map[objects.NodeID]resources.Amounts{},
		nominatedOnNode: map[objects.NodeID]resources.Amounts{},
		sides:           map[objects.QueuePath]map[string]*fairSide{},
	}
	for _, n := range t.nodes {
		c.capacity = c.capacity.Add(n.total)
	}
	for _, f := range t.foreign {
		c.foreignOnNode[f.Node] = c.foreignOnNode[f.Node].Add(f.Amounts)
	}
	for _, w := range t.nominees {
		c.nominatedOnNode[w.nominated] = c.nominatedOnNode[w.nominated].Add(w.ask.Amounts)
	}
	for _, n := range t.nodes {
		for _, w := range t.reservedOn(n.id) {
			c.nominatedOnNode[n.id] = c.nominatedOnNode[n.id].Add(w.ask.Amounts)
		}
	}
	for _, y := range t.allocations {
		if y.replacedBy != nil && y.replacedOn != y.node {
			c.nominatedOnNode[y.replacedOn] = c.nominatedOnNode[y.replacedOn].Add(y.replacedBy.ask.Amounts)
		}
	}
	for _, a := range t.apps {
		h := &appTotals{}
		h.group, h.hasGroup = t.limitedGroup(a)
		h.limits = t.applicableLimits(a, h)
		c.apps[a.id] = h
	}
	for _, w := range t.allocations {
		c.add(w)
	}
	for _, n := range t.nodes {
		for name, used := range c.allocatedOnNode[n.id].All() {
			if excess := used - n.total.Get(name); excess > 0 {
				c.deficit = c.deficit.Add(resources.FromMap(map[string]resources.Quantity{name: excess}))
			}
		}
	}
	for _, a := range t.apps {
		h := c.apps[a.id]
		h.counts = a.state == lifecycle.Running || h.running > 0 && a.state != lifecycle.Completing
		for _, q := range t.pathQueues(a.leaf) {
			c.pending[q.path] = c.pending[q.path].Add(h.pending)
			c.allocated[q.path] = c.allocated[q.path].Add(h.allocated).Add(h.placeholders)
		}
	}
	return c
}

func (c *totals) add(w *allocation) {
	h := c.apps[w.ask.App]
	if w.node == "" {
		c.asks++
		h.asks = append(h.asks, w)
		h.pending = h.pending.Add(w.ask.Amounts)
		return
	}
	c.running++
	h.running++
	c.allocatedOnNode[w.node] = c.allocatedOnNode[w.node].Add(w.ask.Amounts)
	if w.ask.Placeholder {
		h.placeholders = h.placeholders.Add(w.ask.Amounts)
	} else {
		h.allocated = h.allocated.Add(w.ask.Amounts)
	}
}

// free returns what the cluster has left when used is allocated: what one node lacks, the others have.
func (c *totals) free(used resources.Amounts) resources.Amounts {
	return c.capacity.Sub(used.Sub(c.deficit))
}

// available returns the free resources of a node; negative after a shrink.
func (c *totals) available(n *node) resources.Amounts {
	return n.total.Sub(c.allocatedOnNode[n.id]).Sub(c.foreignOnNode[n.id])
}
