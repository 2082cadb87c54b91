package objects

import (
	"cmp"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"gotest.tools/v3/assert"
)

// thing is a member of an index in these tests.
type thing struct {
	turn    entry[*thing]
	key, id int
}

func compareThings(a, b *thing) int {
	return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.id, b.id))
}

// reshape gives t a few slots below slots, or none.
func (t *thing) reshape(r *rand.Rand, slots int) {
	t.turn.can = t.turn.can[:0]
	for range r.IntN(3) {
		t.turn.can.put(r.IntN(slots), true)
	}
}

// TestAnIndexAgreesWithLookingAtEverybody puts in, takes out, moves and asks at random, and
// compares each answer with that of a look at all members.
func TestAnIndexAgreesWithLookingAtEverybody(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 1))
		x := index[*thing]{compare: compareThings}
		slots, size := []int{3, 64, 200}[r.IntN(3)], []int{5, 100, 2000}[r.IntN(3)]
		var all []*thing
		for step := range 5000 {
			all = shuffle(r, &x, all, step, slots, size)
			f := Mask{}
			for range r.IntN(3) {
				f.put(r.IntN(slots), true)
			}
			got, _ := x.first(f)
			assert.Assert(t, got == look(all, f), "seed %d, step %d", seed, step)
			if step%97 == 0 {
				assert.NilError(t, x.check("things"), "seed %d, step %d", seed, step)
				assert.Equal(t, x.n, len(all), "seed %d, step %d", seed, step)
				assert.Assert(t, x.lowest() == look(all, nil), "seed %d, step %d", seed, step)
			}
		}
	}
}

// shuffle does one thing to an index and to the list of its members.
func shuffle(r *rand.Rand, x *index[*thing], all []*thing, step, slots, size int) []*thing {
	op := r.IntN(20)
	if len(all) == 0 || op < 6 && len(all) < size {
		m := &thing{key: r.IntN(50), id: step}
		m.turn.who = m
		m.reshape(r, slots)
		x.stand(&m.turn, true)
		return append(all, m)
	}
	i := r.IntN(len(all))
	switch m := all[i]; {
	case op < 8 || op < 14 && step > 3500:
		x.stand(&m.turn, false)
		return slices.Delete(all, i, i+1)
	case op == 19:
		for _, m := range all {
			m.key = r.IntN(50)
		}
		x.rebuild()
	default:
		m.key += r.IntN(5) - 2
		m.reshape(r, slots)
		x.stand(&m.turn, true)
	}
	return all
}

// look finds the first of all whose mask meets f; with no f the first of all.
func look(all []*thing, f Mask) (found *thing) {
	for _, m := range all {
		if (f == nil || m.turn.can.meets(f)) && (found == nil || compareThings(m, found) < 0) {
			found = m
		}
	}
	return found
}

func TestHavingFollowsTheOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	x := index[*thing]{compare: compareThings}
	var want []int
	for id := range 1000 {
		m := &thing{key: id, id: id}
		m.turn.who = m
		if m.reshape(r, 4); m.turn.can.has(2) {
			want = append(want, id)
		}
		x.stand(&m.turn, true)
	}
	var got []int
	for m := range x.having(2) {
		got = append(got, m.who.id)
	}
	assert.DeepEqual(t, got, want)
}

func TestMaskLaws(t *testing.T) {
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 2))
		a, b := map[int]bool{}, map[int]bool{}
		var ma, mb Mask
		for range r.IntN(12) {
			slot, in := r.IntN(150), r.IntN(4) > 0
			a[slot] = in
			ma.put(slot, in)
		}
		for range r.IntN(12) {
			slot := r.IntN(150)
			b[slot] = true
			mb.put(slot, true)
		}
		var union, both Mask
		union.copyFrom(ma)
		union.join(mb)
		both.copyFrom(ma)
		both.narrow(mb)
		meets, same := false, true
		for slot := range 200 {
			assert.Equal(t, union.has(slot), a[slot] || b[slot], "seed %d, slot %d", seed, slot)
			assert.Equal(t, both.has(slot), a[slot] && b[slot], "seed %d, slot %d", seed, slot)
			meets = meets || a[slot] && b[slot]
			same = same && a[slot] == b[slot]
		}
		assert.Equal(t, ma.meets(mb), meets, "seed %d", seed)
		assert.Equal(t, ma.same(mb), same, "seed %d", seed)
		assert.Equal(t, both.empty(), !meets, "seed %d", seed)
	}
}

// TestAMoveComparesALogarithm keeps scans out: what a move compares, and how deep a
// search goes, must not grow with the number of members but by its logarithm.
func TestAMoveComparesALogarithm(t *testing.T) {
	for _, n := range []int{100, 1000, 10_000, 100_000} {
		r := rand.New(rand.NewPCG(7, uint64(n)))
		compared := 0
		x := index[*thing]{compare: func(a, b *thing) int { compared++; return compareThings(a, b) }}
		all := make([]*thing, n)
		for i := range all {
			all[i] = &thing{key: r.IntN(n), id: i}
			all[i].turn.who = all[i]
			all[i].reshape(r, 100)
			x.stand(&all[i].turn, true)
		}
		depth := 0
		for b := x.root; b != nil && !b.leaf(); b = b.below[0] {
			depth++
		}
		assert.Assert(t, math.Pow(blockSize/2, float64(depth-1)) <= float64(n), "%d members are %d levels deep", n, depth)

		compared = 0
		const moves = 2000
		for range moves {
			m := all[r.IntN(n)]
			m.key = r.IntN(n)
			x.stand(&m.turn, true)
		}
		most := bits.Len(uint(n)) + 6
		assert.Assert(t, compared/moves <= most, "%d members: %d comparisons a move, at most %d are fine",
			n, compared/moves, most)
	}
}
