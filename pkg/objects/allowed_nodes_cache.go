package objects

import "slices"

// Bounds on the number of kinds of asks for which allowedNodes are kept: of so many nodes together at most.
const (
	minAllowedNodes = 16
	maxAllowedNodes = 64
	maxNodesOfKinds = 1 << 18
)

// allowedNodesCache has the allowedNodes of the kinds that were last searched, and the nodes that changed since.
type allowedNodesCache struct {
	kinds    []*allowedNodes
	searches uint64
	changed  []*Node // since the position base
	base     uint64
	masks    uint64 // how often the masks of all nodes have changed
}

// add records that n, of so many nodes, has changed.
func (c *allowedNodesCache) add(n *Node, nodes int) {
	if len(c.kinds) == 0 {
		return
	}
	if c.changed = append(c.changed, n); len(c.changed) > 2*nodes+64 { // to fill anew costs less
		c.invalidate()
	}
}

// invalidate makes each allowedNodes be filled anew before its next search.
func (c *allowedNodesCache) invalidate() {
	c.base += uint64(len(c.changed)) + 1
	c.changed = c.changed[:0]
}

// of is the allowedNodes of a kind, up to date; nil: they are not kept. There are so many nodes, which o has in order.
func (c *allowedNodesCache) of(kind searchKind, o *ordering, nodes int) *allowedNodes {
	i := slices.IndexFunc(c.kinds, func(k *allowedNodes) bool { return k.kind.same(kind) })
	if i < 0 {
		return nil
	}
	k := c.kinds[i]
	d, version := kind.check.Division(), kind.check.NodeVersion()
	if k.upTo < c.base || !k.division.Equal(d) || k.version != version {
		k.division, k.version = d, version
		k.fill(o, nodes)
	} else {
		k.update(append(k.joining, c.changed[k.upTo-c.base:]...), o, k.masks != c.masks)
	}
	c.searches++
	k.masks = c.masks
	k.upTo, k.usedAt = c.base+uint64(len(c.changed)), c.searches
	return k
}

// keep begins to keep the allowedNodes of a kind, of so many nodes, in the place of those that were not searched for longest.
func (c *allowedNodesCache) keep(kind searchKind, nodes int) {
	for len(c.kinds) >= min(max(minAllowedNodes, maxNodesOfKinds/max(nodes, 1)), maxAllowedNodes) {
		i := 0
		for j, k := range c.kinds {
			if k.usedAt < c.kinds[i].usedAt {
				i = j
			}
		}
		c.kinds = slices.Delete(c.kinds, i, i+1)
	}
	if len(c.kinds) == 0 {
		c.invalidate()
	}
	c.kinds = append(c.kinds, newAllowedNodes(kind))
}
