package resources_test

import (
	"fmt"
	"testing"

	"gotest.tools/v3/assert"
	"pgregory.net/rapid"

	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// heldAmounts is a Hold that was not released.
type heldAmounts struct {
	amounts amounts
	vector  vector
	by      resources.Holder
}

// For any sequence of holds and releases: a name exists exactly as long as it is held, with one index all that
// time; a new name gets the lowest free index; and a vector can be turned back into amounts.
func TestNameTable_NamesExistWhileHeld(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		freed := map[resources.Index]bool{} // since the last check
		n := resources.NewNameTableWithBounds(6, 3, func(k resources.Index) { freed[k] = true })
		var held []heldAmounts
		number := map[string]resources.Index{}
		pinned := 0
		t.Repeat(map[string]func(*rapid.T){
			"hold": func(t *rapid.T) {
				m := rapid.MapOfN(rapid.StringMatching("[a-i]"), rapid.Custom(func(t *rapid.T) quantity {
					return quantity(rapid.Int64Range(1, 9).Draw(t, "quantity"))
				}), 1, 3).Draw(t, "amounts")
				h := heldAmounts{amounts: resources.FromMap(m), by: resources.Holder(rapid.IntRange(0, 1).Draw(t, "by"))}
				err := n.Admit(h.amounts, h.by)
				assert.Equal(t, err == nil, admits(n, number, h), "%v", err)
				if err != nil {
					return
				}
				used := map[resources.Index]bool{}
				for _, k := range number {
					used[k] = true
				}
				h.vector = n.Hold(h.amounts, h.by)
				for name := range h.amounts.All() {
					k, ok := n.Lookup(name)
					assert.Assert(t, ok)
					if before, known := number[name]; known {
						assert.Equal(t, k, before, "a name has another index")
						continue
					}
					for lower := range k {
						assert.Assert(t, used[lower], "%s has index %d although %d was free", name, k, lower)
					}
					used[k], number[name] = true, k
				}
				held = append(held, h)
			},
			"release": func(t *rapid.T) {
				if len(held) == 0 {
					t.Skip("nothing is held")
				}
				i := rapid.IntRange(0, len(held)-1).Draw(t, "which")
				n.Release(held[i].vector, held[i].by)
				held = append(held[:i], held[i+1:]...)
			},
			"pin": func(*rapid.T) { n.PinNumbers(); pinned++ },
			"unpin": func(t *rapid.T) {
				if pinned == 0 {
					t.Skip("nothing is pinned")
				}
				n.UnpinNumbers()
				pinned--
			},
			"": func(t *rapid.T) {
				want, askOnly := map[string][2]int{}, 0
				for _, h := range held {
					for name := range h.amounts.All() {
						c := want[name]
						c[h.by]++
						want[name] = c
					}
					assertEqual(t, n.Amounts(h.vector), h.amounts)
					assertEqual(t, n.Amounts(n.Vector(h.amounts)), h.amounts)
				}
				for name, k := range number {
					c, is := want[name]
					if !is && pinned == 0 {
						_, exists := n.Lookup(name)
						assert.Assert(t, !exists && freed[k], "%s is not held, but not freed", name)
						delete(number, name)
						continue
					}
					assert.Equal(t, n.Name(k), name)
					cluster, asks := n.HoldCounts(k)
					assert.Equal(t, [2]int{cluster, asks}, c)
					if asks > 0 && cluster == 0 {
						askOnly++
					}
				}
				assert.Equal(t, n.AskOnly(), askOnly)
				clear(freed)
			},
		})
	})
}

// admits reports whether Admit should return nil.
func admits(n *resources.NameTable, number map[string]resources.Index, h heldAmounts) bool {
	fresh := 0
	for name := range h.amounts.All() {
		if _, known := number[name]; !known {
			fresh++
		}
	}
	return fresh == 0 || len(number)+fresh <= 6 && (h.by == resources.Cluster || n.AskOnly()+fresh <= 3)
}

func TestNameTable_Bounds(t *testing.T) {
	one := func(i int) amounts { return resources.FromMap(map[string]quantity{fmt.Sprint("r", i): 1}) }
	n := resources.NewNameTable()
	for i := range resources.MaxAskNames {
		assert.NilError(t, n.Admit(one(i), resources.Asks))
		n.Hold(one(i), resources.Asks)
	}
	assert.Error(t, n.Admit(one(1000), resources.Asks),
		`resource name "r1000": no node and no configuration knows it, and asks have 64 such names, of at most 64`)
	for i := resources.MaxAskNames; i < resources.MaxNames; i++ {
		assert.NilError(t, n.Admit(one(i), resources.Cluster), "the other names are for nodes and the configuration")
		n.Hold(one(i), resources.Cluster)
	}
	assert.NilError(t, n.Admit(resources.FromMap(map[string]quantity{"r0": 1, "r255": 1}), resources.Asks))
	assert.Error(t, n.Admit(resources.FromMap(map[string]quantity{"r0": 1, "r256": 1}), resources.Cluster),
		`resource name "r256": more than 256 different resource names in one partition`)
	assert.Equal(t, n.Len(), resources.MaxNames, "Admit must not add names")
}

func TestNameTable_CloneIsIndependent(t *testing.T) {
	n := resources.NewNameTableWithBounds(6, 3, func(resources.Index) { t.Error("the clone calls freed") })
	a := resources.FromMap(map[string]quantity{"a": 1, "b": 1})
	v := n.Hold(a, resources.Asks)
	c := n.Clone()
	c.Release(v, resources.Asks)
	c.Hold(resources.FromMap(map[string]quantity{"c": 1}), resources.Cluster)
	assert.DeepEqual(t, n.Amounts(v).Map(), a.Map())
	assert.Equal(t, n.AskOnly(), 2)
	_, known := n.Lookup("c")
	assert.Assert(t, !known)
}
