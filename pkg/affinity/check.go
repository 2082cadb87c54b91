package affinity

// Refusal names the constraint by which a node is refused to an ask, or is Allowed.
type Refusal uint8

// The refusals, in the order of the checks, which is that of the plugins of kube-scheduler.
const (
	Allowed        Refusal = iota
	PortTaken              // an allocation on the node uses a host port of the ask
	SpreadExceeded         // the node lacks the label of a spread constraint, or its domain has too many already
	// the node lacks the label of an affinity term, or its domain has nothing that the affinity selects
	AffinityMissing
	AntiAffinity       // its domain has an allocation that the anti-affinity of the ask selects
	OthersAntiAffinity // its domain has an allocation whose anti-affinity selects the ask
)

// Check answers for one ask which nodes are refused. It is valid until the Tracker changes. The zero value allows every
// node.
type Check struct {
	kind *Kind // nil: nothing can refuse the ask
}

// Gone is an allocation that a Check takes to be gone.
type Gone struct {
	Kind *Kind
	Node *Node
}

// Check returns the check for an ask with constraints a (nil: none) and tags. Requires: the Tracker was notified of all
// nodes and allocations.
func (t *Tracker) Check(a *Ask, tags map[string]string) Check {
	if a.Key() == "" && len(t.holders) == 0 {
		return Check{}
	}
	k := t.kindOf(a, tags)
	if k.ask == nil && len(k.refusedBy) == 0 {
		return Check{}
	}
	return Check{k}
}

// Kind returns the kind of an allocation with constraints a (nil: none) and tags, for Gone.
func (t *Tracker) Kind(a *Ask, tags map[string]string) *Kind { return t.kindOf(a, tags) }

// MayRefuse reports whether there may be nodes that are refused.
func (c Check) MayRefuse() bool { return c.kind != nil }

// Refusal returns the reason why n is refused, or Allowed.
func (c Check) Refusal(n *Node) Refusal { return c.RefusalWithout(n, nil) }

// RefusalWithout returns the reason why n would be refused if some allocations were gone, or Allowed.
func (c Check) RefusalWithout(n *Node, gone []Gone) Refusal {
	k := c.kind
	if k == nil {
		return Allowed
	}
	if k.ask != nil {
		switch {
		case len(k.ask.content.Ports) > 0 && n.portTaken(k.ask.content.Ports, gone):
			return PortTaken
		case !k.spreadAllows(n, gone):
			return SpreadExceeded
		case len(k.affinity) > 0 && !k.affinityAllows(n, gone):
			return AffinityMissing
		}
		for _, a := range k.antiAffinity {
			if d := n.domain(a.topology); d != noDomain && a.countWithout(d, gone) > 0 {
				return AntiAffinity
			}
		}
	}
	for _, h := range k.refusedBy {
		if d := n.domain(h.topology); d != noDomain && h.countWithout(d, gone) > 0 {
			return OthersAntiAffinity
		}
	}
	return Allowed
}

// spreadAllows reports whether the spread constraints of k allow n: the node has their labels, and its domain would not
// exceed the lowest count by more than the max skew.
func (k *Kind) spreadAllows(n *Node, gone []Gone) bool {
	for i := range k.spread {
		if c := &k.spread[i]; !c.allows(n.domain(c.topology), gone) {
			return false
		}
	}
	return true
}

// allows reports whether one spread constraint allows a domain.
func (c *spreadCounter) allows(domain int32, gone []Gone) bool {
	if domain == noDomain {
		return false
	}
	lowest, any := c.lowestWithout(gone)
	if !any {
		return true // no node counts
	}
	if int(c.MinDomains) > c.counter.spread.domains {
		lowest = 0
	}
	count := c.countWithout(domain, gone)
	if c.SelectsItself {
		count++
	}
	return count-lowest <= c.MaxSkew
}

// affinityAllows reports whether n has the label of every affinity term, and its domains each an allocation that all
// terms select. The first allocation of a group that selects itself needs none: otherwise none could ever be placed.
func (k *Kind) affinityAllows(n *Node, gone []Gone) bool {
	found, total := true, int64(0)
	for _, c := range k.affinity {
		domain := n.domain(c.topology)
		if domain == noDomain {
			return false
		}
		found = found && c.countWithout(domain, gone) > 0
		total += c.totalWithout(gone)
	}
	return found || total == 0 && k.selectsSelf
}

// portTaken reports whether an allocation on n uses one of the ports.
func (n *Node) portTaken(ports []Port, gone []Gone) bool {
	for i := range ports {
		for j := range n.ports {
			if used := &n.ports[j]; used.conflicts(&ports[i]) && used.users > used.usersAmong(n, gone) {
				return true
			}
		}
	}
	return false
}

// usersAmong counts the allocations on n that use the port and are gone.
func (u *usedPort) usersAmong(n *Node, gone []Gone) (users int32) {
	for _, g := range gone {
		if g.Node != n || g.Kind.ask == nil {
			continue
		}
		for _, port := range g.Kind.ask.content.Ports {
			if port == u.Port {
				users++
			}
		}
	}
	return users
}

// countWithout returns the count of a domain without what is gone.
func (c *counter) countWithout(domain int32, gone []Gone) int32 {
	count := c.counts.in(domain)
	for _, g := range gone {
		if c.domainOf(g.Node) == domain && c.selects(g.Kind) {
			count--
		}
	}
	return count
}

func (c *counter) totalWithout(gone []Gone) int64 {
	total := c.counts.total
	for _, g := range gone {
		if c.domainOf(g.Node) != noDomain && c.selects(g.Kind) {
			total--
		}
	}
	return total
}

// lowestWithout returns the lowest count of the domains without what is gone; any is false if there is no domain.
func (c *counter) lowestWithout(gone []Gone) (lowest int32, any bool) {
	s := c.spread
	if s.domains == 0 || c.totalWithout(gone) == c.counts.total {
		return s.lowest, s.domains > 0
	}
	for domain, nodes := range s.nodeCounts {
		if nodes == 0 {
			continue
		}
		if count := c.countWithout(int32(domain), gone); !any || count < lowest {
			lowest, any = count, true
		}
	}
	return lowest, any
}

func (h *holder) countWithout(domain int32, gone []Gone) int32 {
	count := h.counts.in(domain)
	for _, g := range gone {
		for _, other := range g.Kind.holds {
			if other == h && g.Node.domain(h.topology) == domain {
				count--
			}
		}
	}
	return count
}
