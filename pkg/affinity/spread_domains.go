package affinity

import "github.com/canopy-scheduler/canopy/pkg/constraints"

// spreadDomains is what a spread constraint needs to know of domains besides their counts: which there are, and the
// lowest count of all.
type spreadDomains struct {
	keys         []string         // of all spread constraints of the ask: a node without one of them does not count
	nodes        *constraints.Ask // of the ask
	nodesKey     string           // its key
	allNodes     bool             // nodes count that nodes does not select
	skipsTainted bool             // nodes do not count whose taints nodes does not tolerate

	nodeCounts []int32 // by domain; a domain without nodes is none
	domains    int     // with nodes
	byCount    []int32 // how many of these have that count
	lowest     int32   // the lowest count of all, if there is a domain
}

// covers reports whether allocations on n count, and its domain.
func (s *spreadDomains) covers(n *Node) bool {
	for _, key := range s.keys {
		if _, ok := n.info.Label(key); !ok {
			return false
		}
	}
	return (s.allNodes || s.nodes.Selects(n.info)) && (!s.skipsTainted || s.nodes.Tolerates(n.info))
}

// addNode records a further node of a domain with that count.
func (s *spreadDomains) addNode(domain, count int32) {
	for len(s.nodeCounts) <= int(domain) {
		s.nodeCounts = append(s.nodeCounts, 0)
	}
	if s.nodeCounts[domain]++; s.nodeCounts[domain] == 1 {
		s.domains++
		s.enter(count)
	}
}

// removeNode records that a domain with that count has one node less.
func (s *spreadDomains) removeNode(domain, count int32) {
	if s.nodeCounts[domain]--; s.nodeCounts[domain] == 0 {
		s.domains--
		s.leave(count)
	}
}

// recount records another count of a domain.
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
