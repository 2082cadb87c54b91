package twin

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/constraints"
	"github.com/canopy-scheduler/canopy/pkg/gangs"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// Task groups with a topology (GAN-29 to GAN-31). Every domain is tried, node by node, each time.

// gangAssignment is nodes for members of a gang that are placed together.
type gangAssignment struct {
	t     *Twin
	c     *totals
	nodes []*node // in node order
	used  map[objects.NodeID]resources.Amounts
	asks  []*allocation
	on    []objects.NodeID
}

// clone returns a copy, for a try.
func (g *gangAssignment) clone() *gangAssignment {
	h := *g
	h.used, h.asks, h.on = maps.Clone(g.used), slices.Clone(g.asks), slices.Clone(g.on)
	return &h
}

// place finds the first node that may be used for each member, and returns those that have none. After one without,
// others of its shape have none.
func (g *gangAssignment) place(members []*allocation, may func(*node) bool) (rest []*allocation) {
	for _, w := range members {
		n := find(g.nodes, func(n *node) bool {
			return may(n) && g.c.fits(n, w.ask) && g.free(n).Sub(g.used[n.id]).Covers(w.ask.Amounts) &&
				g.t.predicatesPass(n, w.ask)
		})
		if n == nil || slices.ContainsFunc(rest, func(x *allocation) bool { return sameShape(x.ask, w.ask) }) {
			rest = append(rest, w)
			continue
		}
		g.used[n.id] = g.used[n.id].Add(w.ask.Amounts)
		g.asks, g.on = append(g.asks, w), append(g.on, n.id)
	}
	return rest
}

func (g *gangAssignment) free(n *node) resources.Amounts {
	return g.c.available(n).Sub(g.c.nominatedOnNode[n.id])
}

// placeAll places the members of a in their order: those on required nodes, those of task groups with a topology,
// others.
func (g *gangAssignment) placeAll(a *app, members []*allocation) (ok bool) {
	topologyOf := func(w *allocation) gangs.Topology {
		return find2(a.gang.Virtual, func(v gangs.VirtualGroup) bool { return v.Name == w.ask.TaskGroup() }).Topology
	}
	plain := func(onNode bool) []*allocation {
		return filter(members, func(w *allocation) bool {
			t := topologyOf(w)
			return !t.Declared() && (w.ask.RequiredNode() != "") == onNode
		})
	}
	anywhere := func(*node) bool { return true }
	if len(g.place(plain(true), anywhere)) > 0 {
		return false
	}
	for _, requires := range []bool{true, false} {
		for _, v := range a.gang.Virtual {
			if v.Topology.Declared() && v.Topology.Requires() == requires {
				own := filter(members, func(w *allocation) bool { return w.ask.TaskGroup() == v.Name })
				if !g.placeInTopology(v.Topology, own) {
					return false
				}
			}
		}
	}
	return len(g.place(plain(false), anywhere)) == 0
}

func find2[T any](list []T, is func(T) bool) (x T) {
	if i := slices.IndexFunc(list, is); i >= 0 {
		x = list[i]
	}
	return x
}

// placeInTopology places the members of a task group: in one domain of the first level, or of a coarser one; or, if
// none is required, in several.
func (g *gangAssignment) placeInTopology(t gangs.Topology, members []*allocation) (ok bool) {
	for level := t.First(); level >= 0 && level >= t.Required; level-- {
		if g.placeInOne(t.Levels, g.domains(t.Levels, nil, level+1), members) {
			return true
		}
	}
	return !t.Requires() && len(g.placeIn(t.Levels, nil, members)) == 0
}

// path returns the values of the labels of a node, up to the first that it lacks.
func (n *node) path(levels []string) (path []string) {
	for _, label := range levels {
		value, ok := n.attributes[label]
		if !ok {
			break
		}
		path = append(path, value)
	}
	return path
}

func within(path, domain []string) bool {
	return len(path) >= len(domain) && slices.Equal(path[:len(domain)], domain)
}

// domains returns the domains of so many labels within another one, in the order of their values.
func (g *gangAssignment) domains(levels, of []string, labels int) (all [][]string) {
	for _, n := range g.nodes {
		if path := n.path(levels); within(path, of) && len(path) >= labels {
			all = append(all, path[:labels])
		}
	}
	slices.SortFunc(all, slices.Compare)
	return slices.CompactFunc(all, slices.Equal)
}

// placeInOne places members in that domain, of those that take all, which has the least free.
func (g *gangAssignment) placeInOne(levels []string, domains [][]string, members []*allocation) (ok bool) {
	var best []string
	least := math.Inf(1)
	for _, d := range domains {
		if try := g.clone(); len(try.placeIn(levels, d, members)) > 0 {
			continue
		}
		if share := g.shareOf(levels, d, members); best == nil || share < least {
			best, least = d, share
		}
	}
	return best != nil && len(g.placeIn(levels, best, members)) == 0
}

// shareOf returns how many times a domain has free what members request that require no node, of the scarcest resource.
func (g *gangAssignment) shareOf(levels, domain []string, members []*allocation) float64 {
	var requested resources.Amounts
	for _, w := range members {
		if w.ask.RequiredNode() == "" {
			requested = requested.Add(w.ask.Amounts)
		}
	}
	share := math.Inf(1)
	for name, wanted := range requested.All() {
		var free resources.Quantity
		for _, n := range g.nodes {
			if n.schedulable && within(n.path(levels), domain) {
				free += max(0, g.free(n).Get(name))
			}
		}
		if wanted > 0 {
			share = min(share, float64(free)/float64(wanted))
		}
	}
	return share
}

// placeIn places as many members in a domain as it takes, and returns the others.
func (g *gangAssignment) placeIn(levels, domain []string, members []*allocation) (rest []*allocation) {
	rest = members
	if len(domain) < len(levels) {
		below := g.domains(levels, domain, len(domain)+1)
		for len(rest) > 0 && !g.placeInOne(levels, below, rest) {
			most, fullest := 0, -1
			for i, d := range below {
				if took := len(rest) - len(g.clone().placeIn(levels, d, rest)); took > most {
					most, fullest = took, i
				}
			}
			if fullest < 0 {
				return g.place(rest, func(n *node) bool { return slices.Equal(n.path(levels), domain) })
			}
			rest = g.placeIn(levels, below[fullest], rest)
			below = slices.Delete(below, fullest, fullest+1)
			if len(rest) > 0 {
				continue
			}
			return nil
		}
		return nil
	}
	return g.place(rest, func(n *node) bool { return slices.Equal(n.path(levels), domain) })
}

// requiresTopology reports whether a task group of a requires a topology domain.
func requiresTopology(a *app) bool {
	return slices.ContainsFunc(a.gang.Virtual, func(v gangs.VirtualGroup) bool { return v.Topology.Requires() })
}

// inDomain returns an ask limited to the domain of the members of its task group that run, if that requires one and
// they were placed together.
func (t *Twin) inDomain(ask *objects.Ask) *objects.Ask {
	a := t.app(ask.App)
	v := find2(a.gang.Virtual, func(v gangs.VirtualGroup) bool { return v.Name == ask.TaskGroup() })
	if !v.Topology.Requires() || ask.Placeholder ||
		!slices.ContainsFunc(a.groups, func(g *taskGroup) bool { return g.name == v.Name && g.replaced > 0 }) {
		return ask
	}
	levels := v.Topology.Levels[:v.Topology.Required+1]
	running := filter(t.allocationsOf(a.id), func(w *allocation) bool {
		return w.node != "" && !w.ask.Placeholder && w.ask.TaskGroup() == v.Name &&
			len(t.node(w.node).path(levels)) == len(levels)
	})
	if len(running) == 0 {
		return ask
	}
	first := slices.MinFunc(running, func(w, x *allocation) int { return cmp.Compare(w.ask.Key, x.ask.Key) })
	labels := map[string]string{}
	for i, value := range t.node(first.node).path(levels) {
		labels[levels[i]] = value
	}
	if maps.Equal(labels, ask.Constraints().Domain()) {
		return ask
	}
	return ask.WithConstraints(&objects.AskConstraints{Nodes: (*constraints.Ask)(nil).InDomain(labels)})
}

// keepDomain limits the pending asks of an application to the domains of its members that run.
func (t *Twin) keepDomain(id objects.AppID) {
	a := t.app(id)
	if a.waits {
		return
	}
	for _, w := range t.allocationsOf(id) {
		if limited := t.inDomain(w.ask); w.node == "" && limited != w.ask {
			t.unnominate(w)
			t.unreserve(w)
			w.ask = limited
		}
	}
}
