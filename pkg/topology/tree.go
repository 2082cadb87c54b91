package topology

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// Tree holds nodes of type N by topology domains. It belongs to its caller, and is not safe for concurrent use.
type Tree[N comparable] struct {
	levels  []string
	root    *Domain[N]
	entries map[N]*entry[N]
	changes uint64 // how many there were
}

// Domain holds the nodes with the same values of the first labels of a Tree. The root has all nodes.
type Domain[N comparable] struct {
	value    string // of the last of these labels; empty for the root
	level    int    // index of that label; -1: the root
	parent   *Domain[N]
	children []*Domain[N] // in the order of their values
	nodes    []N          // those without the label of the next level, in no order
	count    int          // of nodes, with those of the children
	free     resources.Vector
	changed  uint64 // the last change of a node of the domain
}

// entry holds what a Tree knows of a node.
type entry[N comparable] struct {
	domain *Domain[N]
	index  int // in domain.nodes
	free   resources.Vector
}

// New returns a Tree without nodes, of labels of which the coarsest is the first.
func New[N comparable](levels []string) *Tree[N] {
	return &Tree[N]{levels: levels, root: &Domain[N]{level: -1}, entries: map[N]*entry[N]{}}
}

// Levels returns the labels, the coarsest first. Read-only.
func (t *Tree[N]) Levels() []string { return t.levels }

// Root returns the domain of all nodes.
func (t *Tree[N]) Root() *Domain[N] { return t.root }

// DomainOf returns the finest domain that has a node; nil: the node is unknown.
func (t *Tree[N]) DomainOf(n N) *Domain[N] {
	if e := t.entries[n]; e != nil {
		return e.domain
	}
	return nil
}

// Update records the labels of a node, and what it has free: no quantity is negative. The node may be new.
func (t *Tree[N]) Update(n N, label func(key string) (value string, ok bool), free resources.Vector) {
	e := t.entries[n]
	if e == nil {
		e = &entry[N]{}
		t.entries[n] = e
	}
	if e.domain == nil || !t.hasLabels(e.domain, label) {
		t.leave(e) // before the new domain is found: a domain that it leaves empty is removed
		t.join(n, e, t.domainFor(label))
	}
	t.changes++
	for d := e.domain; d != nil; d = d.parent {
		d.free.Sub(e.free)
		d.free.Add(free)
		d.changed = t.changes
	}
	e.free = append(e.free[:0], free...)
}

// Remove forgets a node, if it is known.
func (t *Tree[N]) Remove(n N) {
	if e := t.entries[n]; e != nil {
		t.leave(e)
		delete(t.entries, n)
	}
}

// hasLabels reports whether d is the finest domain of a node with these labels.
func (t *Tree[N]) hasLabels(d *Domain[N], label func(key string) (value string, ok bool)) bool {
	if next := d.level + 1; next < len(t.levels) {
		if _, ok := label(t.levels[next]); ok {
			return false
		}
	}
	for ; d.parent != nil; d = d.parent {
		if value, ok := label(t.levels[d.level]); !ok || value != d.value {
			return false
		}
	}
	return true
}

// domainFor finds or makes the finest domain of a node with these labels: it ends before the first label that the node
// lacks.
func (t *Tree[N]) domainFor(label func(key string) (value string, ok bool)) *Domain[N] {
	d := t.root
	for i, key := range t.levels {
		value, ok := label(key)
		if !ok {
			break
		}
		at, found := slices.BinarySearchFunc(d.children, value,
			func(c *Domain[N], value string) int { return cmp.Compare(c.value, value) })
		if !found {
			d.children = slices.Insert(d.children, at, &Domain[N]{value: value, level: i, parent: d})
		}
		d = d.children[at]
	}
	return d
}

func (t *Tree[N]) join(n N, e *entry[N], d *Domain[N]) {
	e.domain, e.index = d, len(d.nodes)
	d.nodes = append(d.nodes, n)
	for ; d != nil; d = d.parent {
		d.count++
	}
}

// leave takes the node of e out of its domain, if it has one, and removes domains that become empty.
func (t *Tree[N]) leave(e *entry[N]) {
	if e.domain == nil {
		return
	}
	nodes, last := e.domain.nodes, len(e.domain.nodes)-1
	nodes[e.index] = nodes[last]
	t.entries[nodes[e.index]].index = e.index
	e.domain.nodes = nodes[:last]
	t.changes++
	for d := e.domain; d != nil; d = d.parent {
		d.free.Sub(e.free)
		d.changed = t.changes
		d.count--
		if d.count == 0 && d.parent != nil {
			d.parent.children = slices.DeleteFunc(d.parent.children, func(c *Domain[N]) bool { return c == d })
		}
	}
	e.domain, e.free = nil, e.free[:0]
}

// Verify returns an error if want, which has the same nodes and was made anew, has other domains or sums.
func (t *Tree[N]) Verify(want *Tree[N]) error {
	if len(t.entries) != len(want.entries) {
		return fmt.Errorf("topology %v has %d nodes; there are %d", t.levels, len(t.entries), len(want.entries))
	}
	for n, e := range want.entries {
		if got := t.DomainOf(n); got == nil || !slices.Equal(got.Path(), e.domain.Path()) {
			return fmt.Errorf("topology %v has node %v in %v; its labels say %v", t.levels, n, got.Path(), e.domain.Path())
		}
	}
	return t.root.verify(want.root)
}

func (d *Domain[N]) verify(want *Domain[N]) error {
	if d.value != want.value || d.count != want.count || len(d.children) != len(want.children) ||
		!d.free.Covers(want.free) || !want.free.Covers(d.free) {
		return fmt.Errorf("domain %v has %d nodes, %d domains and %v free; counted anew, %v has %d, %d and %v",
			d.Path(), d.count, len(d.children), d.free, want.Path(), want.count, len(want.children), want.free)
	}
	for i, c := range d.children {
		if err := c.verify(want.children[i]); err != nil {
			return err
		}
	}
	return nil
}
