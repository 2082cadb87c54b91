package affinity

import "slices"

// A search for the best allowed node need not check the nodes of a refused domain one by one, nor score those of a domain. For
// that, the constraints of an ask are divided into those on one topology whose domains have several nodes, and those on single
// nodes. What these do not say, Check says of each node. Preferences are divided into those on any of the larger topologies
// and those on single nodes, which together are the score.

// Division is how the constraints and preferences of an ask are divided. It is valid until nodes change their labels, or a
// topology changes from domains of one node to larger ones.
type Division struct {
	topology  *topology   // of constraints: the one with the most domains of those with domains of several nodes; nil: there is none
	nodes     int         // how many topologies of constraints have domains of one node
	preferred []*topology // of preferences: all with domains of several nodes
}

// Equal reports whether both are the same division.
func (d Division) Equal(other Division) bool {
	return d.topology == other.topology && d.nodes == other.nodes && slices.Equal(d.preferred, other.preferred)
}

// Division is how the constraints and preferences of the ask are divided now.
func (c Check) Division() (d Division) {
	if c.kind == nil {
		return d
	}
	for i := range c.kind.preferences {
		if top := c.kind.preferences[i].topology; !top.single() && !slices.Contains(d.preferred, top) {
			d.preferred = append(d.preferred, top)
		}
	}
	for top := range c.kind.eachTopology {
		switch {
		case top.single():
			d.nodes++
		case d.topology == nil || len(top.domains) > len(d.topology.domains) ||
			len(top.domains) == len(d.topology.domains) && top.key < d.topology.key:
			d.topology = top
		}
	}
	return d
}

// eachTopology yields the topology of each constraint that may refuse nodes to k.
func (k *Kind) eachTopology(yield func(*topology) bool) {
	for _, list := range [][]*counter{k.affinity, k.antiAffinity} {
		for _, c := range list {
			if !yield(c.topology) {
				return
			}
		}
	}
	for _, c := range k.spread {
		if !yield(c.topology) {
			return
		}
	}
	for _, h := range k.refusedBy {
		if !yield(h.topology) {
			return
		}
	}
}

// AppendDomains appends the domains of n in the topologies of d. If there is no topology, n may be nil.
func (d Division) AppendDomains(domains []int32, n *Node) []int32 {
	own := int32(noDomain)
	if d.topology != nil {
		own = n.domain(d.topology)
	}
	domains = append(domains, own)
	for _, top := range d.preferred {
		domains = append(domains, n.domain(top))
	}
	return domains
}

// DomainAllowed reports whether the constraints on the topology of d leave nodes of some domains (AppendDomains) to the ask.
func (c Check) DomainAllowed(d Division, domains []int32) bool {
	if d.topology == nil {
		return true
	}
	k, at := c.kind, domains[0]
	for i := range k.spread {
		if s := &k.spread[i]; s.topology == d.topology && !s.allows(at, nil) {
			return false
		}
	}
	if k.affinityOn(func(top *topology) bool { return top == d.topology }) && !k.affinityMet(at) {
		return false
	}
	for _, a := range k.antiAffinity {
		if a.topology == d.topology && a.counts.in(at) > 0 {
			return false
		}
	}
	for _, h := range k.refusedBy {
		if h.topology == d.topology && h.counts.in(at) > 0 {
			return false
		}
	}
	return true
}

// NodeAllowed reports whether the constraints on single nodes, host ports included, leave n to the ask. It changes only when
// something of n changes, or NodeVersion.
func (c Check) NodeAllowed(n *Node) bool {
	k := c.kind
	if k == nil {
		return true
	}
	if k.ask != nil && len(k.ask.content.Ports) > 0 && n.portTaken(k.ask.content.Ports, nil) {
		return false
	}
	for i := range k.spread {
		if s := &k.spread[i]; s.topology.single() && !s.allows(n.domain(s.topology), nil) {
			return false
		}
	}
	if k.affinityOn((*topology).single) && !k.affinityAllows(n, nil) {
		return false
	}
	for _, a := range k.antiAffinity {
		if a.topology.single() && a.counts.in(n.domain(a.topology)) > 0 {
			return false
		}
	}
	for _, h := range k.refusedBy {
		if h.topology.single() && h.counts.in(n.domain(h.topology)) > 0 {
			return false
		}
	}
	return true
}

// NodeVersion changes when NodeAllowed may change for nodes of which nothing else changes.
func (c Check) NodeVersion() (version uint64) {
	k := c.kind
	if k == nil {
		return 0
	}
	for _, a := range k.affinity {
		version += a.version
	}
	for _, s := range k.spread {
		if s.topology.single() {
			version += s.version
		}
	}
	return version
}

// affinityOn reports whether k has affinity, and that on such topologies only.
func (k *Kind) affinityOn(is func(*topology) bool) bool {
	for _, c := range k.affinity {
		if !is(c.topology) {
			return false
		}
	}
	return len(k.affinity) > 0
}

// affinityMet is affinityAllows for a domain that is the same in all topologies of the affinity, which are one.
func (k *Kind) affinityMet(domain int32) bool {
	if domain == noDomain {
		return false
	}
	found, total := true, int64(0)
	for _, c := range k.affinity {
		found = found && c.counts.in(domain) > 0
		total += c.counts.total
	}
	return found || total == 0 && k.selectsSelf
}

// Same reports whether the ask of c is of the same kind as that of other.
func (c Check) Same(other Check) bool { return c.kind == other.kind }

// Constrained reports whether the ask has constraints of its own.
func (c Check) Constrained() bool { return c.kind != nil && c.kind.ask != nil }
