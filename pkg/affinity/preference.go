package affinity

// Preferences order the nodes that an ask may be placed on, and refuse none. Each adds a part to the preference score:
// a weight times the allocations that the preference selects in the domain of the node.

// PreferredTerm is a term of preferred pod affinity or anti-affinity.
type PreferredTerm struct {
	Weight int32 `json:"weight"` // from 1 to constraints.MaxWeight
	Term
}

// missingLabel is the count that a node without the topology label of a spread constraint with ScheduleAnyway gets. It
// is so high that any node with the label is better.
const missingLabel = 1 << 20

// preference is a part of the score of nodes for a kind.
type preference struct {
	*counter
	weight  int64 // of each allocation that is selected in the domain
	missing int64 // the part of a node without the label
}

// PreferredAffinityTerms returns the terms of the preferred pod affinity. Read-only.
func (a *Ask) PreferredAffinityTerms() []PreferredTerm {
	if a == nil {
		return nil
	}
	return a.content.PreferredAffinity
}

// PreferredAntiAffinityTerms returns the terms of the preferred pod anti-affinity. Read-only.
func (a *Ask) PreferredAntiAffinityTerms() []PreferredTerm {
	if a == nil {
		return nil
	}
	return a.content.PreferredAntiAffinity
}

// PreferredSpreadConstraints returns the topology spread constraints with ScheduleAnyway. Read-only.
func (a *Ask) PreferredSpreadConstraints() []Spread {
	if a == nil {
		return nil
	}
	return a.content.PreferredSpread
}

// MayBeRefused reports whether a has other constraints than preferences.
func (a *Ask) MayBeRefused() bool {
	return a != nil && len(a.content.Affinity)+len(a.content.AntiAffinity)+len(a.content.Spread)+len(a.content.Ports) > 0
}

// resolvePreferences finds or makes the counters for the preferences of k.
func (t *Tracker) resolvePreferences(k *Kind) {
	c := &k.ask.content
	add := func(terms []PreferredTerm, sign int64) {
		for i := range terms {
			term := &terms[i]
			k.preferences = append(k.preferences,
				preference{counter: t.counterOf(term.TopologyKey, []Term{term.Term}, nil, closes),
					weight: sign * int64(term.Weight)})
		}
	}
	add(c.PreferredAffinity, 1)
	add(c.PreferredAntiAffinity, -1)
	for i := range c.PreferredSpread {
		s := &c.PreferredSpread[i]
		k.preferences = append(k.preferences,
			preference{t.spreadCounterOf(k, c.PreferredSpread, s, closes), -1, -missingLabel})
	}
}

// Prefers reports whether the ask has preferences about the allocations around it.
func (c Check) Prefers() bool { return c.kind != nil && len(c.kind.preferences) > 0 }

// ScoreWithout returns how much the ask would prefer n because of the allocations around it, if some were gone. Higher
// is better. It does not overflow: the length of a tag bounds the terms, and a count has 32 bits.
func (c Check) ScoreWithout(n *Node, gone []Gone) (score int64) {
	if c.kind == nil {
		return 0
	}
	for i := range c.kind.preferences {
		p := &c.kind.preferences[i]
		score += p.of(n.domain(p.topology), gone)
	}
	return score
}

// of returns the part of a domain.
func (p *preference) of(domain int32, gone []Gone) int64 {
	if domain == noDomain {
		return p.missing
	}
	return p.weight * int64(p.countWithout(domain, gone))
}

// NodeScore returns the part of the score of n that follows from topologies of single nodes. It changes only when
// something of n changes.
func (c Check) NodeScore(n *Node) int64 { return c.scoreOn(n, true) }

// DomainScore returns the part of the score that follows from the larger topologies: the same for all nodes of the
// domains of n.
func (c Check) DomainScore(n *Node) int64 { return c.scoreOn(n, false) }

func (c Check) scoreOn(n *Node, single bool) (score int64) {
	if c.kind == nil {
		return 0
	}
	for i := range c.kind.preferences {
		if p := &c.kind.preferences[i]; p.topology.single() == single {
			score += p.of(n.domain(p.topology), nil)
		}
	}
	return score
}

// Drawing yields the slots of the nodes whose NodeScore preferred affinity raises, some repeatedly. Other nodes have a
// NodeScore of 0 or less.
func (c Check) Drawing(yield func(slot int) bool) {
	if c.kind == nil {
		return
	}
	for i := range c.kind.preferences {
		p := &c.kind.preferences[i]
		if p.weight < 0 || !p.topology.single() {
			continue
		}
		for domain := range p.counts.each {
			if !yield(p.topology.slots[domain]) {
				return
			}
		}
	}
}
