package affinity

import (
	"encoding/json"
	"slices"
)

// resolve finds or makes the counters for the constraints of k. Requires: no allocation of k is on a node.
func (t *Tracker) resolve(k *Kind) {
	c := &k.ask.content
	k.selectsSelf = !slices.ContainsFunc(c.Affinity, func(term Term) bool { return !term.selects(k.namespace, k.labels) })
	var done []string
	for i := range c.Affinity {
		if key := c.Affinity[i].TopologyKey; !slices.Contains(done, key) {
			done = append(done, key)
			k.affinity = append(k.affinity, t.counterOf(key, c.Affinity, nil, opens))
		}
	}
	for i := range c.AntiAffinity {
		term := &c.AntiAffinity[i]
		k.antiAffinity = append(k.antiAffinity, t.counterOf(term.TopologyKey, c.AntiAffinity[i:i+1], nil, closes))
		if h := t.holderOf(term); !slices.Contains(k.holds, h) {
			h.users++
			k.holds = append(k.holds, h)
		}
	}
	for i := range c.Spread {
		k.spread = append(k.spread, spreadCounter{t.spreadCounterOf(k, c.Spread, &c.Spread[i], opens), &c.Spread[i]})
	}
	t.resolvePreferences(k)
}

// spreadCounterOf returns the counter for s, a spread constraint of k; all are the constraints of k of the same sort:
// those that must hold, or the others.
func (t *Tracker) spreadCounterOf(k *Kind, all []Spread, s *Spread, opens bool) *counter {
	var keys []string
	for i := range all {
		keys = append(keys, all[i].TopologyKey)
	}
	scope := &spreadScope{keys: keys, nodesKey: k.ask.content.Nodes, nodes: k.ask.nodes, allNodes: s.AllNodes,
		skipsTainted: s.SkipsTainted}
	of := Term{Namespaces: []string{k.namespace}, Selector: s.Selector, TopologyKey: s.TopologyKey}
	return t.counterOf(s.TopologyKey, []Term{of}, scope, opens)
}

// Values of opens: what a higher count of a counter may do to asks.
const (
	opens  = true  // let some be placed
	closes = false // only keep them away
)

// counterID distinguishes counters.
type counterID struct {
	Topology     string
	Terms        []Term
	Keys         []string
	Nodes        string
	AllNodes     bool
	SkipsTainted bool
	Spread       bool
}

// counterOf finds or makes a counter, for one more kind.
func (t *Tracker) counterOf(topologyKey string, terms []Term, scope *spreadScope, opens bool) *counter {
	id := counterID{Topology: topologyKey, Terms: slices.Clone(terms)}
	for i := range id.Terms {
		id.Terms[i].TopologyKey = ""
	}
	if scope != nil {
		id.Spread, id.Keys, id.AllNodes, id.SkipsTainted = true, scope.keys, scope.allNodes, scope.skipsTainted
		if !scope.allNodes || scope.skipsTainted {
			id.Nodes = scope.nodesKey
		}
	}
	text := textOf(id)
	c := t.counters[text]
	if c == nil {
		c = &counter{id: text, terms: id.Terms, topology: t.topologyOf(topologyKey)}
		if scope != nil {
			id.Terms = nil
			t.enterScope(c, scope, textOf(id))
		}
		if t.counters == nil {
			t.counters = map[string]*counter{}
		}
		t.counters[text] = c
		t.fill(c)
	}
	c.users++
	c.opens = c.opens || opens
	return c
}

// enterScope makes c, which counts nothing yet, a counter of the scope with an ID: s becomes that scope if there is
// none yet.
func (t *Tracker) enterScope(c *counter, s *spreadScope, id string) {
	if known := t.scopes[id]; known != nil {
		s = known
	} else {
		if t.scopes == nil {
			t.scopes = map[string]*spreadScope{}
		}
		t.scopes[id] = s
		s.id, s.topology = id, c.topology
		for _, n := range t.nodes {
			if n != nil {
				s.addNode(n)
			}
		}
	}
	s.counters = append(s.counters, c)
	c.spread = &spreadDomains{spreadScope: s, byCount: []int32{int32(s.domains)}}
}

// leaveScope reverts enterScope.
func (t *Tracker) leaveScope(c *counter) {
	s := c.spread.spreadScope
	s.counters = slices.DeleteFunc(s.counters, func(other *counter) bool { return other == c })
	if len(s.counters) == 0 {
		delete(t.scopes, s.id)
	}
}

// fill counts the allocations that are on nodes already.
func (t *Tracker) fill(c *counter) {
	users := 0
	for _, k := range t.kinds {
		if c.selects(k) {
			k.selectedBy = append(k.selectedBy, c)
			users += k.users
		}
	}
	if users == 0 { // the first of an application: nothing of it is on nodes
		return
	}
	for _, n := range t.nodes {
		if n == nil {
			continue
		}
		for k, count := range n.kinds {
			if last := len(k.selectedBy) - 1; last >= 0 && k.selectedBy[last] == c {
				c.add(c.domainOf(n), count)
			}
		}
	}
}

// holderOf finds or makes the holder of an anti-affinity term. It counts no allocation yet: the kind for which it is
// made has none.
func (t *Tracker) holderOf(term *Term) *holder {
	id := textOf(term)
	h := t.holders[id]
	if h != nil {
		return h
	}
	h = &holder{id: id, term: *term, topology: t.topologyOf(term.TopologyKey)}
	if t.holders == nil {
		t.holders = map[string]*holder{}
	}
	t.holders[id] = h
	for _, k := range t.kinds {
		if term.selects(k.namespace, k.labels) {
			k.refusedBy = append(k.refusedBy, h)
		}
	}
	return h
}

func textOf(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic("affinity: a constraint that was decoded cannot be encoded: " + err.Error())
	}
	return string(text)
}

// forget drops the counters for the constraints of a kind that has no users and is not listed any more.
func (t *Tracker) forget(k *Kind) {
	all := slices.Concat(k.affinity, k.antiAffinity)
	for _, s := range k.spread {
		all = append(all, s.counter)
	}
	for _, p := range k.preferences {
		all = append(all, p.counter)
	}
	for _, c := range all {
		c.users--
		if c.users > 0 {
			continue
		}
		delete(t.counters, c.id)
		if c.spread != nil {
			t.leaveScope(c)
		}
		t.dropTopology(c.topology)
		for _, other := range t.kinds {
			other.selectedBy = slices.DeleteFunc(other.selectedBy, func(x *counter) bool { return x == c })
		}
	}
	for _, h := range k.holds {
		h.users--
		if h.users > 0 {
			continue
		}
		delete(t.holders, h.id)
		t.dropTopology(h.topology)
		for _, other := range t.kinds {
			other.refusedBy = slices.DeleteFunc(other.refusedBy, func(x *holder) bool { return x == h })
		}
	}
}
