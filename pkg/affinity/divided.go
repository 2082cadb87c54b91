package affinity

import "slices"

// A search for the best node should not check the nodes of a refused domain one by one, nor score each node of a
// domain. So it groups the nodes by labels: for the constraints and preferences about the larger topologies, whose
// domains have several nodes, all nodes of a group are alike. Constraints and preferences about single nodes, host
// ports included, are checked and scored for each node.

// AppendDivision appends the labels by which nodes are to be grouped. Among the topologies with domains of several
// nodes these are the labels of all preferences, with prefers, and the one of the constraints with the most domains.
// Checks may ignore the other constraints. The result changes only when nodes change their labels, or the constraints
// in use change.
func (c Check) AppendDivision(labels []string, prefers bool) []string {
	if c.kind == nil {
		return labels
	}
	before := len(labels)
	if prefers {
		for i := range c.kind.preferences {
			if top := c.kind.preferences[i].topology; !top.single() && !slices.Contains(labels, top.key) {
				labels = append(labels, top.key)
			}
		}
	}
	var most *topology
	for top := range c.kind.eachTopology {
		if !top.single() && (most == nil || len(top.domains) > len(most.domains) ||
			len(top.domains) == len(most.domains) && top.key < most.key) {
			most = top
		}
	}
	if most != nil && !slices.Contains(labels, most.key) {
		labels = append(labels, most.key)
	}
	slices.Sort(labels[before:])
	return labels
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

// DomainAllowed reports whether the constraints on topologies of some labels leave n to the ask.
func (c Check) DomainAllowed(n *Node, labels []string) bool {
	return c.kind == nil || c.kind.allowsOn(n, func(top *topology) bool { return slices.Contains(labels, top.key) })
}

// NodeAllowed reports whether the constraints on single nodes, host ports included, leave n to the ask. It changes only
// when something of n changes, or NodeVersion.
func (c Check) NodeAllowed(n *Node) bool {
	k := c.kind
	if k == nil {
		return true
	}
	if k.ask != nil && len(k.ask.content.Ports) > 0 && n.portTaken(k.ask.content.Ports, nil) {
		return false
	}
	return k.allowsOn(n, (*topology).single)
}

// allowsOn reports whether the constraints on some topologies leave n to asks of k.
func (k *Kind) allowsOn(n *Node, on func(*topology) bool) bool {
	for i := range k.spread {
		if s := &k.spread[i]; on(s.topology) && !s.allows(n.domain(s.topology), nil) {
			return false
		}
	}
	found, total := true, int64(0)
	for _, c := range k.affinity {
		total += c.counts.total
		if on(c.topology) {
			domain := n.domain(c.topology)
			if domain == noDomain {
				return false
			}
			found = found && c.counts.in(domain) > 0
		}
	}
	if !found && (total > 0 || !k.selectsSelf) {
		return false
	}
	for _, a := range k.antiAffinity {
		if on(a.topology) && a.counts.in(n.domain(a.topology)) > 0 {
			return false
		}
	}
	for _, h := range k.refusedBy {
		if on(h.topology) && h.counts.in(n.domain(h.topology)) > 0 {
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

// Same reports whether the ask of c is of the same kind as that of other.
func (c Check) Same(other Check) bool { return c.kind == other.kind }
