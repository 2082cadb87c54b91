package affinity

// A search for the first allowed node need not check the nodes of a refused domain one by one. For that, the constraints of
// an ask are divided into those on one topology whose domains have several nodes, and those on single nodes. What these do
// not say, Check says of each node.

// Division is how the constraints of an ask are divided. It is valid until nodes change their labels, or the topology of a
// constraint changes from domains of one node to larger ones.
type Division struct {
	topology *topology // the one with the most domains of those with domains of several nodes; nil: there is none
	nodes    int       // how many topologies of the ask have domains of one node
}

// Division is how the constraints of the ask are divided now.
func (c Check) Division() (d Division) {
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

// Domain is the domain of n in the topology of d, from 0 on; -1: it is in none, or there is no topology.
func (d Division) Domain(n *Node) int {
	if d.topology == nil {
		return noDomain
	}
	return int(n.domain(d.topology))
}

// DomainAllowed reports whether the constraints on the topology of d leave nodes of a domain to the ask.
func (c Check) DomainAllowed(d Division, domain int) bool {
	k, at := c.kind, int32(domain)
	if d.topology == nil {
		return true
	}
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
	if len(k.ask.content.Ports) > 0 && n.portTaken(k.ask.content.Ports, nil) {
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
