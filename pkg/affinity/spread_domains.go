package affinity

import "github.com/canopy-scheduler/canopy/pkg/constraints"

// spreadScope holds the nodes on which allocations count for spread constraints, and their domains in one topology.
// Counters share it: most asks that spread have the same, whatever they select.
type spreadScope struct {
	id       string
	topology *topology
	counters []*counter

	keys         []string         // of all spread constraints of the ask: a node counts only with all of them
	nodes        *constraints.Ask // of the ask
	nodesKey     string           // its key
	allNodes     bool             // nodes that nodes does not select count too
	skipsTainted bool             // nodes with taints that nodes does not tolerate do not count

	at         []int32 // by the slot of a node: its domain; noDomain: it does not count
	nodeCounts []int32 // by domain; a domain without nodes is none
	domains    int     // with nodes
}

// covers reports whether allocations on n count.
func (s *spreadScope) covers(n *Node) bool {
	for _, key := range s.keys {
		if _, ok := n.info.Label(key); !ok {
			return false
		}
	}
	return (s.allNodes || s.nodes.Selects(n.info)) && (!s.skipsTainted || s.nodes.Tolerates(n.info))
}

// addNode decides whether n counts. The caller counts the allocations that are on it.
func (s *spreadScope) addNode(n *Node) {
	for len(s.at) <= n.slot {
		s.at = append(s.at, noDomain)
	}
	s.at[n.slot] = noDomain
	domain := n.domain(s.topology)
	if domain == noDomain || !s.covers(n) {
		return
	}
	s.at[n.slot] = domain
	for len(s.nodeCounts) <= int(domain) {
		s.nodeCounts = append(s.nodeCounts, 0)
	}
	s.nodeCounts[domain]++
	first := s.nodeCounts[domain] == 1
	if first {
		s.domains++
	}
	for _, c := range s.counters {
		c.version++
		if first {
			c.spread.enter(c.counts.in(domain))
		}
	}
}

// removeNode reverts addNode.
func (s *spreadScope) removeNode(n *Node) {
	domain := s.at[n.slot]
	if domain == noDomain {
		return
	}
	s.at[n.slot] = noDomain
	s.nodeCounts[domain]--
	last := s.nodeCounts[domain] == 0
	if last {
		s.domains--
	}
	for _, c := range s.counters {
		c.version++
		if last {
			c.spread.leave(c.counts.in(domain))
		}
	}
}

// spreadDomains holds the counts of the domains of a spread constraint, and the lowest of them.
type spreadDomains struct {
	*spreadScope
	byCount []int32 // how many domains have that count
	lowest  int32   // the lowest count of all, if there is a domain
}

// recount moves a domain from one count to another.
func (s *spreadDomains) recount(before, after, domain int32) {
	if int(domain) < len(s.nodeCounts) && s.nodeCounts[domain] > 0 {
		s.enter(after)
		s.leave(before)
	}
}

// enter adds a domain with that count.
func (s *spreadDomains) enter(count int32) {
	for len(s.byCount) <= int(count) {
		s.byCount = append(s.byCount, 0)
	}
	s.byCount[count]++
	if count < s.lowest || s.byCount[s.lowest] == 0 {
		s.lowest = count
	}
}

// leave removes a domain with that count.
func (s *spreadDomains) leave(count int32) {
	s.byCount[count]--
	for s.byCount[s.lowest] == 0 && int(s.lowest) < len(s.byCount)-1 {
		s.lowest++
	}
}
