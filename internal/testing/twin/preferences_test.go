package twin

import (
	"cmp"
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/affinity"
	"github.com/canopy-scheduler/canopy/pkg/constraints"
	"github.com/canopy-scheduler/canopy/pkg/objects"
)

// Preferences (CON-28 to CON-35): every node is scored for every search, by all allocations.

// inPreferenceOrder returns nodes by their scores for an ask when some allocations are gone, the highest first; ties
// keep the node order.
func (t *Twin) inPreferenceOrder(nodes []*node, ask *objects.Ask, gone []*allocation) []*node {
	own, scores := t.affinityOf(ask), map[*node]int64{}
	var pods []pod
	if own != nil { // without constraints of its own an ask prefers no allocations
		pods = t.pods(gone)
	}
	for _, n := range nodes {
		scores[n] = constraintsOf(ask).Score(n.info()) + affinityScore(n, ask, own, pods)
	}
	nodes = slices.Clone(nodes)
	slices.SortStableFunc(nodes, func(a, b *node) int { return cmp.Compare(scores[b], scores[a]) })
	return nodes
}

// affinityScore returns the part of the score of n that is about allocations.
func affinityScore(n *node, ask *objects.Ask, own *affinity.Ask, pods []pod) (score int64) {
	selected := func(term affinity.Term) (count int64) {
		for _, p := range pods {
			if sameDomain(n, p.on, term.TopologyKey) && term.SelectsTags(p.tags) {
				count++
			}
		}
		return count
	}
	for _, p := range own.PreferredAffinityTerms() {
		score += int64(p.Weight) * selected(p.Term)
	}
	for _, p := range own.PreferredAntiAffinityTerms() {
		score -= int64(p.Weight) * selected(p.Term)
	}
	all := own.PreferredSpreadConstraints()
	for _, s := range all {
		if _, ok := n.attributes[s.TopologyKey]; !ok {
			score -= 1 << 20
			continue
		}
		term := affinity.Term{Namespaces: []string{own.Namespace()}, Selector: s.Selector}
		for _, p := range pods {
			if sameDomain(n, p.on, s.TopologyKey) && p.on.countsFor(ask, all, s) && term.SelectsTags(p.tags) {
				score--
			}
		}
	}
	return score
}

// info reads the attributes of n.
func (n *node) info() *constraints.Node {
	info, err := constraints.NewNode(string(n.id), n.attributes)
	if err != nil {
		panic("twin: attributes that were accepted cannot be read: " + err.Error())
	}
	return info
}
