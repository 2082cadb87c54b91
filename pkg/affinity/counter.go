package affinity

import "slices"

// counter counts the allocations that a constraint selects, by domain.
type counter struct {
	id       string
	terms    []Term // an allocation is selected if all of them select it
	topology *topology
	users    int  // kinds with the constraint
	opens    bool // a higher count may let an ask be placed

	version uint64 // grows when nodes may be refused, or no longer, in other domains than those whose counts change

	counts counts
	at     []int32 // by the slot of a node: the domain that its allocations count for; noDomain: none
	spread *spreadDomains
}

// counts are numbers of allocations by domain.
type counts struct {
	of    []int32
	total int64
}

func (c *counts) add(domain, number int32) {
	for len(c.of) <= int(domain) {
		c.of = append(c.of, 0)
	}
	c.of[domain] += number
	c.total += int64(number)
}

// in is the number in a domain; 0 for noDomain.
func (c *counts) in(domain int32) int32 {
	if domain < 0 || int(domain) >= len(c.of) {
		return 0
	}
	return c.of[domain]
}

// selects reports whether c selects allocations of k.
func (c *counter) selects(k *Kind) bool {
	return !slices.ContainsFunc(c.terms, func(t Term) bool { return !t.selects(k.namespace, k.labels) })
}

// add adds allocations in a domain; noDomain: they do not count.
func (c *counter) add(domain, number int32) {
	if domain == noDomain || number == 0 {
		return
	}
	lowest, none := int32(0), c.counts.total == 0
	if c.spread != nil {
		lowest = c.spread.lowest
		c.spread.recount(c.counts.in(domain), c.counts.in(domain)+number, domain)
	}
	c.counts.add(domain, number)
	if c.spread != nil && lowest != c.spread.lowest || c.spread == nil && none != (c.counts.total == 0) {
		c.version++
	}
}

// addNode finds the domain that the allocations on n count for. Those that are there are counted by the caller.
func (c *counter) addNode(n *Node) {
	for len(c.at) <= n.slot {
		c.at = append(c.at, noDomain)
	}
	domain := n.domain(c.topology)
	if domain != noDomain && c.spread != nil {
		if !c.spread.covers(n) {
			domain = noDomain
		} else {
			c.spread.addNode(domain, c.counts.in(domain))
			c.version++
		}
	}
	c.at[n.slot] = domain
}

// removeNode reverts addNode.
func (c *counter) removeNode(n *Node) {
	if domain := c.at[n.slot]; domain != noDomain && c.spread != nil {
		c.spread.removeNode(domain, c.counts.in(domain))
		c.version++
	}
	c.at[n.slot] = noDomain
}

// holder counts the allocations whose anti-affinity has a term, by the domain of their nodes: that keeps what the term
// selects out of the domain.
type holder struct {
	id       string
	term     Term
	topology *topology
	users    int // kinds with the term
	counts   counts
}
