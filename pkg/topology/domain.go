package topology

import (
	"math"
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// Path returns the values of the labels of d, the coarsest first; empty for the root.
func (d *Domain[N]) Path() (path []string) {
	for ; d != nil && d.parent != nil; d = d.parent {
		path = append(path, d.value)
	}
	slices.Reverse(path)
	return path
}

// Level returns the index of the last label that the nodes of d have in common; -1 for the root.
func (d *Domain[N]) Level() int { return d.level }

// Domains returns the domains below d, in the order of their values. Read-only.
func (d *Domain[N]) Domains() []*Domain[N] { return d.children }

// Nodes returns the nodes of d that have no label of the next level; of the last level, all nodes of d. They are in no
// order. Read-only.
func (d *Domain[N]) Nodes() []N { return d.nodes }

// Count returns how many nodes d has, with those of the domains below.
func (d *Domain[N]) Count() int { return d.count }

// Free returns the sum of what the nodes of d have free. Read-only.
func (d *Domain[N]) Free() resources.Vector { return d.free }

// Changed returns a number that differs after each Update or Remove of a node of d.
func (d *Domain[N]) Changed() uint64 { return d.changed }

// AtLevel returns the domains of a level, the index of a label, in d: ordered by the values of their labels, the
// coarsest first.
func (d *Domain[N]) AtLevel(level int) (all []*Domain[N]) {
	if d.level == level-1 {
		return d.children
	}
	for _, c := range d.children {
		all = append(all, c.AtLevel(level)...)
	}
	return all
}

// Share returns how many times the free resources of d hold what is requested, for the scarcest resource; +Inf: nothing
// is requested.
func (d *Domain[N]) Share(requested resources.Vector) float64 {
	share := math.Inf(1)
	for k, n := range requested {
		if n > 0 {
			share = min(share, float64(d.free.At(resources.Index(k)))/float64(n))
		}
	}
	return share
}

// Slots returns an upper bound for the number of asks for v that fit the nodes of d together, at most bound: nodes take
// whole asks, so less may fit than what they have free in all.
func (d *Domain[N]) Slots(v resources.Vector, bound int) int {
	count := resources.Quantity(bound)
	for k, n := range v {
		if n > 0 {
			count = min(count, d.free.At(resources.Index(k))/n)
		}
	}
	return int(count)
}
