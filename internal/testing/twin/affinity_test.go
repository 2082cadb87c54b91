package twin

import (
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/affinity"
	"github.com/canopy-scheduler/canopy/pkg/constraints"
	"github.com/canopy-scheduler/canopy/pkg/objects"
)

// Pod affinity, anti-affinity, topology spread and host ports (CON-13 to CON-25). Nothing is counted in advance: each
// question reads all allocations and all nodes.

// pod holds what affinity reads of an allocation on a node.
type pod struct {
	on   *node
	tags map[string]string
	ask  *affinity.Ask
}

// affinityOf returns the constraints of an ask on the allocations around it; none if they cannot be read.
func (t *Twin) affinityOf(ask *objects.Ask) *affinity.Ask {
	if parsed, known := t.parsed[ask]; known { // asks do not change, and to parse them each time takes most of a run
		return parsed
	}
	parsed, err := affinity.Parse(ask.Tags(), constraintsOf(ask))
	if err != nil || constraintsUnreadable(ask) {
		parsed = nil
	}
	t.parsed[ask] = parsed
	return parsed
}

// constraintsUnreadable reports whether the tags have a constraint that cannot be read.
func constraintsUnreadable(ask *objects.Ask) bool {
	nodes, err := constraints.Parse(ask.Tags())
	if err == nil {
		_, err = affinity.Parse(ask.Tags(), nodes)
	}
	return err != nil
}

// pods returns all allocations on nodes, foreign ones too, without those that are taken to be gone.
func (t *Twin) pods(gone []*allocation) (all []pod) {
	for _, w := range t.allocations {
		if w.node != "" && !slices.Contains(gone, w) {
			all = append(all, pod{t.node(w.node), w.ask.Tags(), t.affinityOf(w.ask)})
		}
	}
	for _, f := range t.foreign {
		parsed, _ := affinity.Parse(f.Tags, nil)
		all = append(all, pod{t.node(f.Node), f.Tags, parsed})
	}
	return all
}

// affinityAllows reports whether other allocations leave n to an ask, when some are gone.
func (t *Twin) affinityAllows(n *node, ask *objects.Ask, gone []*allocation) bool {
	own, pods := t.affinityOf(ask), t.pods(gone)
	if own == nil && !slices.ContainsFunc(pods, func(p pod) bool { return p.ask != nil }) {
		return true
	}
	for _, p := range pods {
		for _, term := range p.ask.AntiAffinityTerms() {
			if sameDomain(n, p.on, term.TopologyKey) && term.SelectsTags(ask.Tags()) {
				return false
			}
		}
		if p.on == n && own.PortsConflict(p.ask) {
			return false
		}
		for _, term := range own.AntiAffinityTerms() {
			if sameDomain(n, p.on, term.TopologyKey) && term.SelectsTags(p.tags) {
				return false
			}
		}
	}
	return t.affinityMet(n, ask, own, pods) && t.spreadMet(n, ask, own, pods)
}

// sameDomain reports whether both nodes have a label with the same value.
func sameDomain(a, b *node, key string) bool {
	value, ok := a.attributes[key]
	other, otherOK := b.attributes[key]
	return ok && otherOK && value == other
}

// affinityMet reports whether each domain of n that an affinity term is about has an allocation that all terms select,
// or none is anywhere and the terms select the ask itself.
func (t *Twin) affinityMet(n *node, ask *objects.Ask, own *affinity.Ask, pods []pod) bool {
	terms := own.AffinityTerms()
	selected := func(tags map[string]string) bool {
		return !slices.ContainsFunc(terms, func(term affinity.Term) bool { return !term.SelectsTags(tags) })
	}
	met, any := true, false
	for _, term := range terms {
		if _, ok := n.attributes[term.TopologyKey]; !ok {
			return false
		}
		found := false
		for _, p := range pods {
			if _, ok := p.on.attributes[term.TopologyKey]; ok && selected(p.tags) {
				any = true
				found = found || sameDomain(n, p.on, term.TopologyKey)
			}
		}
		met = met && found
	}
	return met || !any && selected(ask.Tags())
}

// spreadMet counts, for each spread constraint, the allocations in each domain.
func (t *Twin) spreadMet(n *node, ask *objects.Ask, own *affinity.Ask, pods []pod) bool {
	all := own.SpreadConstraints()
	for _, s := range all {
		domain, ok := n.attributes[s.TopologyKey]
		if !ok {
			return false
		}
		counts := map[string]int{}
		for _, other := range t.nodes {
			if other.countsFor(ask, all, s) {
				counts[other.attributes[s.TopologyKey]] += 0
			}
		}
		term := affinity.Term{Namespaces: []string{own.Namespace()}, Selector: s.Selector}
		for _, p := range pods {
			if p.on.countsFor(ask, all, s) && term.SelectsTags(p.tags) {
				counts[p.on.attributes[s.TopologyKey]]++
			}
		}
		if len(counts) == 0 {
			continue
		}
		fewest := -1
		for _, count := range counts {
			if fewest < 0 || count < fewest {
				fewest = count
			}
		}
		if len(counts) < int(s.MinDomains) {
			fewest = 0
		}
		if counts[domain]+boolToInt(term.SelectsTags(ask.Tags()))-fewest > int(s.MaxSkew) {
			return false
		}
	}
	return true
}

// countsFor reports whether allocations on n count for a spread constraint of an ask, which is one of all.
func (n *node) countsFor(ask *objects.Ask, all []affinity.Spread, s affinity.Spread) bool {
	for _, other := range all {
		if _, ok := n.attributes[other.TopologyKey]; !ok {
			return false
		}
	}
	info := n.info()
	mismatch := constraintsOf(ask).Match(info)
	if s.SkipsTainted && !constraintsOf(ask).Tolerates(info) {
		return false
	}
	return s.AllNodes || mismatch != constraints.SelectorMismatch
}
