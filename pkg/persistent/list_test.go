package persistent_test

import (
	"cmp"
	"slices"
	"testing"

	"gotest.tools/v3/assert"
	"pgregory.net/rapid"

	"github.com/canopy-scheduler/canopy/pkg/persistent"
)

type item struct{ key, value int }

func compare(a, b *item) int { return cmp.Compare(a.key, b.key) }

func collect(l persistent.List[item]) []item {
	out := []item{}
	for x := range l.All() {
		out = append(out, *x)
	}
	return out
}

// A Builder behaves as a sorted slice, and its published Lists never change.
func TestBuilder_PublishedListsNeverChange(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := persistent.Builder[item]{Compare: compare}
		model := []item{}
		type published struct {
			list persistent.List[item]
			want []item
		}
		var all []published
		keys := rapid.IntRange(0, rapid.SampledFrom([]int{5, 100, 5000}).Draw(t, "keys"))
		changes := rapid.Custom(func(t *rapid.T) []int { return rapid.SliceOfN(keys, 0, 800).Draw(t, "changed keys") })
		for step := range rapid.IntRange(1, 12).Draw(t, "steps") {
			put := rapid.Bool().Draw(t, "put")
			for n, k := range changes.Draw(t, "changes") {
				at, found := slices.BinarySearchFunc(model, k, func(x item, k int) int { return cmp.Compare(x.key, k) })
				x := item{k, step<<20 + n}
				var was *item
				switch {
				case put && found:
					was = b.Put(&x)
					assert.Equal(t, *was, model[at])
					model[at] = x
				case put:
					was = b.Put(&x)
					assert.Assert(t, was == nil)
					model = slices.Insert(model, at, x)
				case found:
					was = b.Remove(&x)
					assert.Equal(t, *was, model[at])
					model = slices.Delete(model, at, at+1)
				default:
					was = b.Remove(&x)
					assert.Assert(t, was == nil)
				}
			}
			if rapid.Bool().Draw(t, "publish") {
				all = append(all, published{b.List(), slices.Clone(model)})
			}
		}
		all = append(all, published{b.List(), model})
		for _, p := range all {
			got := collect(p.list)
			assert.Assert(t, slices.Equal(got, p.want))
			assert.Equal(t, p.list.Len(), len(p.want))
			slices.Reverse(got)
			i := 0
			for x := range p.list.Backward() {
				assert.Equal(t, *x, got[i])
				i++
			}
			assert.Equal(t, i, len(got))
		}
		k := keys.Draw(t, "key to find")
		at, found := slices.BinarySearchFunc(model, k, func(x item, k int) int { return cmp.Compare(x.key, k) })
		seek := func(x *item) int { return cmp.Compare(x.key, k) }
		if x := b.List().Find(seek); found {
			assert.Equal(t, *x, model[at])
			assert.Equal(t, *b.Find(&item{key: k}), model[at])
			assert.Equal(t, *b.List().At(at), model[at])
		} else {
			assert.Assert(t, x == nil)
		}
		for x := range b.List().From(seek) {
			assert.Equal(t, *x, model[at])
			at++
		}
		assert.Equal(t, at, len(model))
	})
}

func TestBuilder_UnchangedPagesAreShared(t *testing.T) {
	b := persistent.Builder[item]{Compare: compare}
	for k := range 10_000 {
		b.Put(&item{key: k})
	}
	first := b.List()
	assert.Assert(t, first.SameAs(b.List()), "the list differs without a change")
	b.Put(&item{5000, 1})
	second := b.List()
	assert.Assert(t, !first.SameAs(second))
	assert.Equal(t, first.At(5000).value, 0)
	assert.Equal(t, second.At(5000).value, 1)
	for _, k := range []int{0, 4999, 5001, 9999} {
		assert.Assert(t, first.At(k) == second.At(k))
	}
	allocs := testing.AllocsPerRun(100, func() {
		b.Put(&item{7, 7})
		b.List()
	})
	assert.Assert(t, allocs <= 4, "%v heap allocations for one change of 10,000 items", allocs)
}

func TestListOf_KeepsTheOrderGiven(t *testing.T) {
	items := make([]*item, 1000)
	for i := range items {
		items[i] = &item{key: -i}
	}
	l := persistent.ListOf(items...)
	i := 0
	for x := range l.All() {
		assert.Assert(t, x == items[i])
		i++
	}
	assert.Equal(t, i, 1000)
	assert.Equal(t, persistent.List[item]{}.Len(), 0)
	assert.Assert(t, persistent.List[item]{}.Find(func(*item) int { return 0 }) == nil)
}
