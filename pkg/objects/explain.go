package objects

import (
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// Queries of an explanation that decisions do not need. Nothing here changes state.

// EachNode yields all nodes in no order.
func (p *Partition) EachNode(yield func(*Node) bool) {
	for _, n := range p.lists.nodes.all {
		if !yield(n) {
			return
		}
	}
}

// ForeignAllocation finds a foreign allocation by its key.
func (p *Partition) ForeignAllocation(key AllocationKey) (*Foreign, bool) {
	f, ok := p.foreign.byKey[key]
	return f, ok
}

// ResourceName is the name of a resource.
func (p *Partition) ResourceName(k resources.Index) string { return p.names.Name(k) }
