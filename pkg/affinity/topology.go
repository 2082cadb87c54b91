package affinity

// topology is a node label by which a constraint divides the nodes into domains.
type topology struct {
	key     string
	index   int              // in Node.domains
	domains map[string]int32 // numbers of domains by the value of the label
	nodes   []int32          // how many nodes a domain has, by its number
	slots   []int            // the sum of the slots of its nodes: of a single node, its slot
	free    []int32          // numbers of domains without nodes
	users   int              // counters and holders
	shared  int              // domains with more than one node
}

// topologyOf finds or makes the topology of a label, for one more user.
func (t *Tracker) topologyOf(key string) *topology {
	top := t.topologies[key]
	if top == nil {
		top = &topology{key: key, index: len(t.topologies), domains: map[string]int32{}}
		if last := len(t.freeKeys) - 1; last >= 0 {
			top.index, t.freeKeys = t.freeKeys[last], t.freeKeys[:last]
		}
		if t.topologies == nil {
			t.topologies = map[string]*topology{}
		}
		t.topologies[key] = top
		for _, n := range t.nodes {
			if n != nil {
				n.enter(top)
			}
		}
	}
	top.users++
	return top
}

// dropTopology ends one use of top.
func (t *Tracker) dropTopology(top *topology) {
	top.users--
	if top.users > 0 {
		return
	}
	delete(t.topologies, top.key)
	t.freeKeys = append(t.freeKeys, top.index)
}

// enter finds the domain of n in top.
func (n *Node) enter(top *topology) {
	for len(n.domains) <= top.index {
		n.domains = append(n.domains, noDomain)
	}
	n.domains[top.index] = noDomain
	value, ok := n.info.Label(top.key)
	if !ok {
		return
	}
	domain, known := top.domains[value]
	if !known {
		if last := len(top.free) - 1; last >= 0 {
			domain, top.free = top.free[last], top.free[:last]
		} else {
			domain = int32(len(top.nodes))
			top.nodes, top.slots = append(top.nodes, 0), append(top.slots, 0)
		}
		top.domains[value] = domain
	}
	top.nodes[domain]++
	if top.nodes[domain] == 2 {
		top.shared++
	}
	top.slots[domain] += n.slot
	n.domains[top.index] = domain
}

// leave reverts enter. The number of a domain that has lost its last node is used again: its counts are 0.
func (n *Node) leave(top *topology) {
	domain := n.domain(top)
	if domain == noDomain {
		return
	}
	n.domains[top.index] = noDomain
	top.slots[domain] -= n.slot
	top.nodes[domain]--
	if top.nodes[domain] == 1 {
		top.shared--
	}
	if top.nodes[domain] == 0 {
		value, _ := n.info.Label(top.key)
		delete(top.domains, value)
		top.free = append(top.free, domain)
	}
}

// domain returns the domain of n in top; noDomain: it lacks the label.
func (n *Node) domain(top *topology) int32 {
	if top.index >= len(n.domains) {
		return noDomain
	}
	return n.domains[top.index]
}

// single reports whether every domain of top has one node, as for a label with the host name.
func (top *topology) single() bool { return top.shared == 0 }
