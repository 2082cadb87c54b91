package twin

import (
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// counts is everything added up at one moment. One is made for every question and
// thrown away with the answer.
type counts struct {
	capacity   resources.Amounts // of all nodes, schedulable or not
	pending    map[objects.QueuePath]resources.Amounts
	allocated  map[objects.QueuePath]resources.Amounts
	apps       map[objects.AppID]*held
	bound      map[objects.NodeID]resources.Amounts
	occupied   map[objects.NodeID]resources.Amounts
	held       map[objects.NodeID]resources.Amounts // for those who wait for the node
	asks, runs int                                  // how many are pending, how many have a node
}

// held is what an application has.
type held struct {
	pending, allocated, placeholders resources.Amounts
	asks                             []*work // pending
	runs                             int

	group   string // whose limits count for it, if grouped
	grouped bool
	bounds  []bound // the limits that count for it
}

func (t *Twin) count() *counts {
	c := &counts{
		pending:   map[objects.QueuePath]resources.Amounts{},
		allocated: map[objects.QueuePath]resources.Amounts{},
		apps:      map[objects.AppID]*held{},
		bound:     map[objects.NodeID]resources.Amounts{},
		occupied:  map[objects.NodeID]resources.Amounts{},
		held:      map[objects.NodeID]resources.Amounts{},
	}
	for _, n := range t.nodes {
		c.capacity = c.capacity.Add(n.total)
	}
	for _, f := range t.foreign {
		c.occupied[f.Node] = c.occupied[f.Node].Add(f.Amounts)
	}
	for _, w := range t.nominees {
		c.held[w.nominated] = c.held[w.nominated].Add(w.ask.Amounts)
	}
	for _, a := range t.apps {
		h := &held{}
		h.group, h.grouped = t.groupOf(a)
		h.bounds = t.bounds(a, h)
		c.apps[a.id] = h
	}
	for _, w := range t.work {
		c.add(w)
	}
	for _, a := range t.apps {
		h := c.apps[a.id]
		for _, q := range t.along(a.leaf) {
			c.pending[q.path] = c.pending[q.path].Add(h.pending)
			c.allocated[q.path] = c.allocated[q.path].Add(h.allocated).Add(h.placeholders)
		}
	}
	return c
}

func (c *counts) add(w *work) {
	h := c.apps[w.ask.App]
	if w.node == "" {
		c.asks++
		h.asks = append(h.asks, w)
		h.pending = h.pending.Add(w.ask.Amounts)
		return
	}
	c.runs++
	h.runs++
	c.bound[w.node] = c.bound[w.node].Add(w.ask.Amounts)
	if w.ask.Placeholder {
		h.placeholders = h.placeholders.Add(w.ask.Amounts)
	} else {
		h.allocated = h.allocated.Add(w.ask.Amounts)
	}
}

// available is what is left on a node; negative after a shrink.
func (c *counts) available(n *node) resources.Amounts {
	return n.total.Sub(c.bound[n.id]).Sub(c.occupied[n.id])
}
