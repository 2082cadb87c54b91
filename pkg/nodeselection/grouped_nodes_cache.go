package nodeselection

import (
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/objects"
)

// Bounds on the number of groupedNodes that are kept, and how many searches ago an own one must have been searched at
// least to be Replaced: otherwise kinds that take turns would fill one for each search.
const (
	maxShared  = 16
	maxOwn     = 8
	longUnused = 1024
)

// groupedNodesCache has the groupedNodes that were last searched, and the nodes that changed since.
type groupedNodesCache struct {
	part        *objects.Partition
	shared, own []*groupedNodes
	searches    uint64
	changed     []*objects.Node // since the position base
	base        uint64
	labels      []string // buffer of Check.searchGroups
}

// add records that n has changed.
func (c *groupedNodesCache) add(n *objects.Node) {
	if len(c.shared)+len(c.own) == 0 {
		return
	}
	c.changed = append(c.changed, n)
	if len(c.changed) > 2*objects.NodeCount(c.part)+64 { // what was not searched for so long is filled anew
		half := len(c.changed) / 2
		c.base += uint64(half)
		c.changed = append(c.changed[:0], c.changed[half:]...)
	}
}

// invalidate makes all groupedNodes be filled anew before their next search.
func (c *groupedNodesCache) invalidate() {
	c.base += uint64(len(c.changed)) + 1
	c.changed = c.changed[:0]
}

// ofKind is the groupedNodes of a kind whose constraints are about labels, up to date; nil: it has none of its own.
func (c *groupedNodesCache) ofKind(kind searchKind, labels []string) *groupedNodes {
	i := slices.IndexFunc(c.own, func(k *groupedNodes) bool { return k.kind.same(&kind) })
	if i < 0 {
		return nil
	}
	k := c.own[i]
	if version := kind.check.NodeVersion(); k.version != version || !slices.Equal(k.labels, labels) {
		k.version, k.labels, k.at = version, slices.Clone(labels), nil
	}
	return c.refresh(k)
}

// sharedBy is the groupedNodes that all kinds share whose constraints are about labels, up to date.
func (c *groupedNodesCache) sharedBy(labels []string) *groupedNodes {
	i := slices.IndexFunc(c.shared, func(k *groupedNodes) bool { return slices.Equal(k.labels, labels) })
	if i < 0 {
		if len(c.shared) == maxShared {
			last := longestUnused(c.shared)
			c.shared = slices.Delete(c.shared, last, last+1)
		}
		i = len(c.shared)
		c.shared = append(c.shared, newGroupedNodes(labels, nil))
	}
	return c.refresh(c.shared[i])
}

// refresh brings k up to date.
func (c *groupedNodesCache) refresh(k *groupedNodes) *groupedNodes {
	masks := objects.ShapesAdded(c.part)
	if k.at == nil || k.upTo < c.base {
		k.fill(c.part)
	} else {
		k.update(c.changed[k.upTo-c.base:], c.part, k.masks != masks)
	}
	c.searches++
	k.masks, k.upTo, k.usedAt = masks, c.base+uint64(len(c.changed)), c.searches
	return k
}

// keep begins to keep groupedNodes for a kind of its own, from its next search on, if there is space.
func (c *groupedNodesCache) keep(kind searchKind, labels []string) {
	if len(c.own) == maxOwn {
		i := longestUnused(c.own)
		if c.searches-c.own[i].usedAt < longUnused {
			return
		}
		c.own = slices.Delete(c.own, i, i+1)
	}
	k := newGroupedNodes(labels, &kind)
	k.usedAt = c.searches
	c.own = append(c.own, k)
}

func longestUnused(all []*groupedNodes) (longest int) {
	for i, k := range all {
		if k.usedAt < all[longest].usedAt {
			longest = i
		}
	}
	return longest
}
