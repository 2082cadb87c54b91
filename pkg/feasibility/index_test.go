package feasibility

import (
	"cmp"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"gotest.tools/v3/assert"
)

// indexItem is an item of an index in these tests.
type indexItem struct {
	entry   Entry[*indexItem]
	key, id int
}

func entryOfItem(t *indexItem) *Entry[*indexItem] { return &t.entry }

func compareIndexItems(a, b *indexItem) int {
	return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.id, b.id))
}

// abbreviations are abbreviated keys of different precision: of none, of some and of all of the key.
var abbreviations = []func(*indexItem) uint64{
	nil,
	func(t *indexItem) uint64 { return uint64(t.key+1e6) / 8 },
	func(t *indexItem) uint64 { return uint64(t.key + 1e6) },
}

// randomizeMask gives t up to two random slots.
func (t *indexItem) randomizeMask(r *rand.Rand, slots int) {
	t.entry.Mask = t.entry.Mask[:0]
	for range r.IntN(3) {
		t.entry.Mask.Set(r.IntN(slots), true)
	}
}

// TestIndex_AgreesWithScan inserts, removes, moves and looks up entries at random, and compares
// each result with a scan of all items.
func TestIndex_AgreesWithScan(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 1))
		x := Index[*indexItem]{Order: orderOf(Order[*indexItem]{Entry: entryOfItem, Compare: compareIndexItems,
			Abbreviate: abbreviations[seed%3]})}
		slots, size := []int{3, 64, 200}[r.IntN(3)], []int{maxFew, 5, 100, 2000}[r.IntN(4)]
		var all []*indexItem
		for step := range 5000 {
			all = randomOperation(r, &x, all, step, slots, size)
			f := Mask{}
			for range r.IntN(3) {
				f.Set(r.IntN(slots), true)
			}
			got, _ := x.First(f)
			assert.Assert(t, got == scanFirst(all, f), "seed %d, step %d", seed, step)
			if step%97 == 0 {
				assert.NilError(t, x.Check("items"), "seed %d, step %d", seed, step)
				assert.Equal(t, x.n, len(all), "seed %d, step %d", seed, step)
				assert.Assert(t, x.Lowest() == scanFirst(all, nil), "seed %d, step %d", seed, step)
			}
		}
	}
}

// Resort finds changed keys wherever they are, and builds nothing if the order is the same.
func TestIndex_ResortOnlyIfOutOfOrder(t *testing.T) {
	const n = 200
	x := Index[*indexItem]{Order: orderOf(Order[*indexItem]{Entry: entryOfItem, Compare: compareIndexItems,
		Abbreviate: abbreviations[2]})}
	all := make([]*indexItem, n)
	for i := range all {
		all[i] = &indexItem{key: 10 * i, id: i}
		all[i].entry.Mask.Set(1, true)
		x.Reindex(all[i], true)
	}
	for i := range all { // the order stays
		all[i].key += 5
	}
	root := x.root
	x.Resort()
	assert.Assert(t, x.root == root, "it was built again")
	assert.NilError(t, x.Check("items"))
	for i := range all {
		was := all[i].key
		all[i].key = 10*n - was
		x.Resort()
		assert.NilError(t, x.Check("items"), "item %d", i)
		all[i].key = was
		x.Resort()
		assert.NilError(t, x.Check("items"), "item %d", i)
	}
	assert.Equal(t, x.Len(), n)
}

// randomOperation changes an index and the list of its items.
func randomOperation(r *rand.Rand, x *Index[*indexItem], all []*indexItem, step, slots, size int) []*indexItem {
	op := r.IntN(20)
	if len(all) == 0 || op < 6 && len(all) < size {
		m := &indexItem{key: r.IntN(50), id: step}
		m.randomizeMask(r, slots)
		x.Reindex(m, true)
		return append(all, m)
	}
	i := r.IntN(len(all))
	switch m := all[i]; {
	case op < 8 || op < 14 && step > 3500:
		x.Reindex(m, false)
		return slices.Delete(all, i, i+1)
	case op == 19:
		for _, m := range all {
			m.key = r.IntN(50)
		}
		x.Rebuild()
	default:
		m.key += r.IntN(5) - 2
		m.randomizeMask(r, slots)
		x.Reindex(m, true)
	}
	return all
}

// scanFirst finds the first of all whose mask intersects f; if f is nil, the first of all.
func scanFirst(all []*indexItem, f Mask) (found *indexItem) {
	for _, m := range all {
		if (f == nil || m.entry.Mask.Intersects(f)) && (found == nil || compareIndexItems(m, found) < 0) {
			found = m
		}
	}
	return found
}

func TestIndex_EachWithSlotIsOrdered(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	x := Index[*indexItem]{Order: orderOf(Order[*indexItem]{Entry: entryOfItem, Compare: compareIndexItems})}
	var want []int
	for id := range 1000 {
		m := &indexItem{key: id, id: id}
		m.randomizeMask(r, 4)
		if m.entry.Mask.Has(2) {
			want = append(want, id)
		}
		x.Reindex(m, true)
	}
	var got []int
	for m := range x.EachWithSlot(2) {
		got = append(got, m.id)
	}
	assert.DeepEqual(t, got, want)
}

func TestMask_SetLaws(t *testing.T) {
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 2))
		a, b := map[int]bool{}, map[int]bool{}
		var ma, mb Mask
		for range r.IntN(12) {
			slot, in := r.IntN(150), r.IntN(4) > 0
			a[slot] = in
			ma.Set(slot, in)
		}
		for range r.IntN(12) {
			slot := r.IntN(150)
			b[slot] = true
			mb.Set(slot, true)
		}
		var union, both Mask
		union.CopyFrom(ma)
		union.UnionWith(mb)
		both.CopyFrom(ma)
		both.IntersectWith(mb)
		meets, same := false, true
		for slot := range 200 {
			assert.Equal(t, union.Has(slot), a[slot] || b[slot], "seed %d, slot %d", seed, slot)
			assert.Equal(t, both.Has(slot), a[slot] && b[slot], "seed %d, slot %d", seed, slot)
			meets = meets || a[slot] && b[slot]
			same = same && a[slot] == b[slot]
		}
		assert.Equal(t, ma.Intersects(mb), meets, "seed %d", seed)
		assert.Equal(t, ma.Equal(mb), same, "seed %d", seed)
		assert.Equal(t, both.Empty(), !meets, "seed %d", seed)
	}
}

// The comparisons of a move, and the depth of the tree, grow with the logarithm of the number of
// entries.
func TestIndex_MoveComparesLogarithmically(t *testing.T) {
	for _, n := range []int{100, 1000, 10_000, 100_000} {
		r := rand.New(rand.NewPCG(7, uint64(n)))
		compared := 0
		x := Index[*indexItem]{Order: orderOf(Order[*indexItem]{Entry: entryOfItem,
			Compare: func(a, b *indexItem) int { compared++; return compareIndexItems(a, b) }})}
		all := make([]*indexItem, n)
		for i := range all {
			all[i] = &indexItem{key: r.IntN(n), id: i}
			all[i].randomizeMask(r, 100)
			x.Reindex(all[i], true)
		}
		depth := 0
		for b := x.root; b != nil && !b.isLeaf(); b = b.children[0] {
			depth++
		}
		assert.Assert(t, math.Pow(blockSize/2, float64(depth-1)) <= float64(n), "%d members are %d levels deep", n, depth)

		compared = 0
		const moves = 2000
		for range moves {
			m := all[r.IntN(n)]
			m.key = r.IntN(n)
			x.Reindex(m, true)
		}
		most := bits.Len(uint(n)) + 6
		assert.Assert(t, compared/moves <= most, "%d members: %d comparisons a move, at most %d expected",
			n, compared/moves, most)
	}
}

// A node that gets an allocation moves backwards among nodes: the blocks that become empty in front are those that are
// needed behind.
func TestIndex_ItemsThatMoveFromFirstToLastAllocateLittle(t *testing.T) {
	for _, words := range []int{1, 3} {
		const n = 2000
		x := Index[*indexItem]{Order: orderOf(Order[*indexItem]{Entry: entryOfItem, Compare: compareIndexItems})}
		all := make([]*indexItem, n)
		for i := range all {
			all[i] = &indexItem{key: i, id: i}
			all[i].entry.Mask.Set(words*wordBits-1, true)
		}
		x.Fill(slices.Clone(all))
		allocations := testing.AllocsPerRun(3, func() {
			for _, item := range all {
				item.key += n
				x.Reindex(item, true)
			}
		})
		assert.Assert(t, allocations <= n/40, "%d words: %v allocations while %d items moved", words, allocations, n)
		assert.NilError(t, x.Check("items"))
	}
}

// A block whose masks were longer is not the next one that is needed.
func TestIndex_BlocksHaveMasksOfDifferentLengths(t *testing.T) {
	x := Index[*indexItem]{Order: orderOf(Order[*indexItem]{Entry: entryOfItem, Compare: compareIndexItems})}
	all := make([]*indexItem, 5*blockFill)
	for i := range all {
		all[i] = &indexItem{key: i, id: i}
		all[i].entry.Mask.Set(1, true)
		if i < blockFill {
			all[i].entry.Mask.Set(2*wordBits, true)
		}
	}
	x.Fill(slices.Clone(all))
	for _, item := range all[:2*blockFill] {
		item.key += len(all)
		item.entry.Mask = nil
		item.entry.Mask.Set(1, true)
		x.Reindex(item, true)
		assert.NilError(t, x.Check("items"))
	}
}

// Where the abbreviated keys decide, no item is read.
func TestIndex_AbbreviatedKeysSpareComparisons(t *testing.T) {
	const n, moves = 10_000, 2000
	compared := 0
	x := Index[*indexItem]{Order: orderOf(Order[*indexItem]{
		Entry:      entryOfItem,
		Compare:    func(a, b *indexItem) int { compared++; return compareIndexItems(a, b) },
		Abbreviate: abbreviations[2],
	})}
	all := make([]*indexItem, n)
	for i := range all {
		all[i] = &indexItem{key: 2 * i, id: i}
		x.Reindex(all[i], true)
	}
	compared = 0
	r := rand.New(rand.NewPCG(8, 1))
	for range moves {
		m := all[r.IntN(n)]
		m.key = 2*r.IntN(n) + 1
		x.Reindex(m, true)
	}
	assert.Assert(t, compared < moves, "%d comparisons of items in %d moves: only equal keys need one", compared, moves)
	assert.NilError(t, x.Check("items"))
}

func orderOf(o Order[*indexItem]) *Order[*indexItem] {
	o = NewOrder(o)
	return &o
}
