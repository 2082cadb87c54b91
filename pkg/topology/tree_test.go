package topology_test

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"

	"gotest.tools/v3/assert"
	"pgregory.net/rapid"

	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/topology"
)

// node is a node of a test, with its labels and what it has free.
type node struct {
	labels map[string]string
	free   resources.Vector
}

func (n node) label(key string) (string, bool) {
	value, ok := n.labels[key]
	return value, ok
}

var levels = []string{"zone", "rack"}

// anew returns a tree of nodes, in the order of their names.
func anew(nodes map[string]node) *topology.Tree[string] {
	t := topology.New[string](levels)
	for _, name := range slices.Sorted(maps.Keys(nodes)) {
		t.Update(name, nodes[name].label, nodes[name].free)
	}
	return t
}

// Whatever happens to nodes: the domains and sums are those that counting anew gives, and each node is in one domain.
func TestTree_FollowsChanges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tree, nodes := topology.New[string](levels), map[string]node{}
		for range rapid.IntRange(0, 60).Draw(t, "steps") {
			name := fmt.Sprint("n", rapid.IntRange(0, 5).Draw(t, "node"))
			if rapid.IntRange(0, 4).Draw(t, "what") == 0 {
				tree.Remove(name)
				delete(nodes, name)
			} else {
				n := node{labels: map[string]string{},
					free: resources.Vector{resources.Quantity(rapid.IntRange(0, 9).Draw(t, "free"))}}
				for _, key := range levels {
					if value := rapid.SampledFrom([]string{"-", "", "a", "b"}).Draw(t, key); value != "-" {
						n.labels[key] = value
					}
				}
				tree.Update(name, n.label, n.free)
				nodes[name] = n
			}
			assert.NilError(t, tree.Verify(anew(nodes)))
			assert.NilError(t, anew(nodes).Verify(tree))
			checkDomains(t, tree, nodes)
		}
	})
}

// checkDomains checks that each node is listed by the finest domain whose labels it has.
func checkDomains(t *rapid.T, tree *topology.Tree[string], nodes map[string]node) {
	listed := 0
	var visit func(d *topology.Domain[string])
	visit = func(d *topology.Domain[string]) {
		listed += len(d.Nodes())
		for _, name := range d.Nodes() {
			assert.Assert(t, tree.DomainOf(name) == d)
			for i, value := range d.Path() {
				got, ok := nodes[name].label(levels[i])
				assert.Assert(t, ok && got == value)
			}
			if next := d.Level() + 1; next < len(levels) {
				_, ok := nodes[name].label(levels[next])
				assert.Assert(t, !ok, "node %s belongs in a domain below %v", name, d.Path())
			}
		}
		assert.Assert(t, d.Count() > 0 || d == tree.Root())
		assert.Assert(t, slices.IsSortedFunc(d.Domains(), func(c, e *topology.Domain[string]) int {
			return slices.Compare(c.Path(), e.Path())
		}))
		for _, c := range d.Domains() {
			visit(c)
		}
	}
	visit(tree.Root())
	assert.Equal(t, listed, len(nodes))
}

// A difference is found, whatever it is.
func TestTree_VerifyFindsDifferences(t *testing.T) {
	one := map[string]node{"n1": {map[string]string{"zone": "a"}, resources.Vector{3}}}
	for _, other := range []map[string]node{
		{},
		{"n1": {map[string]string{"zone": "a"}, resources.Vector{4}}},
		{"n1": {map[string]string{"zone": "a"}, resources.Vector{3, 1}}},
		{"n1": {map[string]string{"zone": "b"}, resources.Vector{3}}},
		{"n1": {map[string]string{"zone": "a", "rack": "1"}, resources.Vector{3}}},
		{"n2": {map[string]string{"zone": "a"}, resources.Vector{3}}},
	} {
		assert.Assert(t, anew(one).Verify(anew(other)) != nil, "%v", other)
	}
}

func TestDomain_WhatItHas(t *testing.T) {
	tree := anew(map[string]node{
		"n1": {map[string]string{"zone": "a", "rack": "1"}, resources.Vector{4, 1}},
		"n2": {map[string]string{"zone": "a", "rack": "2"}, resources.Vector{5, 0}},
		"n3": {map[string]string{"zone": "b", "rack": "1"}, resources.Vector{2, 9}},
		"n4": {map[string]string{"rack": "1"}, resources.Vector{7, 7}},
	})
	var racks []string
	for _, d := range tree.Root().AtLevel(1) {
		racks = append(racks, fmt.Sprint(d.Path()))
	}
	assert.DeepEqual(t, racks, []string{"[a 1]", "[a 2]", "[b 1]"})
	a := tree.Root().AtLevel(0)[0]
	assert.DeepEqual(t, a.Free(), resources.Vector{9, 1})
	assert.Equal(t, a.Share(resources.Vector{3, 2}), 0.5)
	assert.Equal(t, a.Share(resources.Vector{3}), 3.0)
	assert.Equal(t, a.Share(nil), math.Inf(1))
	assert.Equal(t, a.Slots(resources.Vector{4}, 9), 2)
	assert.Equal(t, a.Slots(resources.Vector{4, 1}, 9), 1)
	assert.Equal(t, a.Slots(nil, 9), 9)
	assert.DeepEqual(t, tree.Root().Nodes(), []string{"n4"})
}
