package resources_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/big"
	"slices"
	"testing"

	"gotest.tools/v3/assert"
	"pgregory.net/rapid"

	"github.com/canopy-scheduler/canopy/pkg/resources"
)

type (
	quantity = resources.Quantity
	amounts  = resources.Amounts
	limit    = resources.Limit
	vector   = resources.Vector
)

const (
	largest  = quantity(math.MaxInt64)
	smallest = quantity(math.MinInt64)
)

// names are few, so that two random amounts often have some names in common and some not.
var names = []string{"gpu", "memory", "pods", "vcore"}

// smallQuantity are quantities that are often equal, may be negative, and never saturate.
var smallQuantity = rapid.Custom(func(t *rapid.T) quantity {
	return quantity(rapid.Int64Range(-3, 9).Draw(t, "small"))
})

// smallNonNegative are small quantities that are not negative.
var smallNonNegative = rapid.Custom(func(t *rapid.T) quantity {
	return quantity(rapid.Int64Range(0, 9).Draw(t, "small"))
})

// anyQuantity are quantities of all sizes, many of them at the ends of the range.
var anyQuantity = rapid.OneOf(
	smallQuantity,
	rapid.SampledFrom([]quantity{smallest, smallest + 1, -1, 0, 1, largest - 1, largest}),
	rapid.Custom(func(t *rapid.T) quantity { return quantity(rapid.Int64().Draw(t, "any")) }),
)

// anyNonNegative are quantities of all sizes that are not negative.
var anyNonNegative = rapid.Custom(func(t *rapid.T) quantity { return max(0, anyQuantity.Draw(t, "nonNegative")) })

func mapOf(t *rapid.T, label string, q *rapid.Generator[quantity]) map[string]quantity {
	return rapid.MapOf(rapid.SampledFrom(names), q).Draw(t, label)
}

func amountsOf(t *rapid.T, label string, q *rapid.Generator[quantity]) amounts {
	return resources.FromMap(mapOf(t, label, q))
}

func limitOf(t *rapid.T, label string, q *rapid.Generator[quantity]) limit {
	return resources.LimitFromMap(mapOf(t, label, q))
}

func assertEqual(t *rapid.T, got, want amounts) {
	t.Helper()
	if !got.Equal(want) {
		t.Fatalf("got %v, want %v", got, want)
	}
}

// property is a statement and its check.
type property struct {
	name  string
	check func(t *rapid.T)
}

func checkProperties(t *testing.T, properties []property) {
	t.Helper()
	for _, p := range properties {
		t.Run(p.name, rapid.MakeCheck(p.check))
	}
}

func TestAmounts_Arithmetic(t *testing.T) {
	checkProperties(t, []property{
		{"subtracting what was added gives the amounts before", func(t *rapid.T) {
			a, b := amountsOf(t, "a", smallQuantity), amountsOf(t, "b", smallQuantity)
			assertEqual(t, a.Add(b).Sub(b), a)
		}},
		{"addition is commutative and associative", func(t *rapid.T) {
			a, b, c := amountsOf(t, "a", smallQuantity), amountsOf(t, "b", smallQuantity), amountsOf(t, "c", smallQuantity)
			assertEqual(t, a.Add(b), b.Add(a))
			assertEqual(t, a.Add(b).Add(c), a.Add(b.Add(c)))
		}},
		{"the zero value is neutral", func(t *rapid.T) {
			a := amountsOf(t, "a", smallQuantity)
			assertEqual(t, a.Add(amounts{}), a)
			assertEqual(t, a.Sub(amounts{}), a)
			assert.Assert(t, a.Sub(a).IsZero())
		}},
		{"a missing name is zero", func(t *rapid.T) {
			m := mapOf(t, "a", smallQuantity)
			a := resources.FromMap(m)
			for _, name := range names {
				assert.Equal(t, a.Get(name), m[name])
			}
			maps.DeleteFunc(m, func(_ string, n quantity) bool { return n == 0 })
			assert.DeepEqual(t, a.Map(), m)
		}},
		{"their JSON is an object of the quantities that are not zero, and is read back", func(t *rapid.T) {
			a := amountsOf(t, "a", smallQuantity)
			text, err := json.Marshal(a)
			assert.NilError(t, err)
			m := map[string]quantity{}
			assert.NilError(t, json.Unmarshal(text, &m))
			assert.DeepEqual(t, m, a.Map())
			read := resources.FromMap(map[string]quantity{"other": 1})
			assert.NilError(t, json.Unmarshal(text, &read))
			assertEqual(t, read, a)
		}},
		{"amounts are immutable", func(t *rapid.T) {
			m := mapOf(t, "a", smallQuantity)
			a, b := resources.FromMap(m), amountsOf(t, "b", smallQuantity)
			before := a.String()
			_, _ = a.Add(b), a.Sub(b)
			m["vcore"]++
			assert.Equal(t, a.String(), before)
		}},
	})
}

// saturated is x, clamped to the range of a Quantity.
func saturated(x *big.Int) quantity {
	switch {
	case x.Cmp(big.NewInt(math.MaxInt64)) > 0:
		return largest
	case x.Cmp(big.NewInt(math.MinInt64)) < 0:
		return smallest
	}
	return quantity(x.Int64())
}

func TestAmounts_Saturation(t *testing.T) {
	wide := func(q quantity) *big.Int { return big.NewInt(int64(q)) }
	checkProperties(t, []property{
		{"arithmetic saturates and never wraps around", func(t *rapid.T) {
			a, b := amountsOf(t, "a", anyQuantity), amountsOf(t, "b", anyQuantity)
			for _, name := range names {
				x, y := wide(a.Get(name)), wide(b.Get(name))
				assert.Equal(t, a.Add(b).Get(name), saturated(new(big.Int).Add(x, y)))
				assert.Equal(t, a.Sub(b).Get(name), saturated(new(big.Int).Sub(x, y)))
			}
		}},
		{"addition is monotone", func(t *rapid.T) {
			a, b, more := amountsOf(t, "a", anyQuantity), amountsOf(t, "b", anyQuantity), amountsOf(t, "more", anyNonNegative)
			for _, name := range names {
				assert.Assert(t, a.Add(b.Add(more)).Get(name) >= a.Add(b).Get(name))
				assert.Assert(t, a.Sub(b.Add(more)).Get(name) <= a.Sub(b).Get(name))
			}
		}},
		{"the sum of quantities that are not negative saturates too", func(t *rapid.T) {
			a, total := amountsOf(t, "a", anyNonNegative), new(big.Int)
			for _, n := range a.All() {
				total.Add(total, wide(n))
			}
			assert.Equal(t, a.Sum(), saturated(total))
		}},
	})
}

func TestAmounts_Covers(t *testing.T) {
	checkProperties(t, []property{
		{"amounts cover themselves and the zero value", func(t *rapid.T) {
			a := amountsOf(t, "a", anyNonNegative)
			assert.Assert(t, a.Covers(a))
			assert.Assert(t, a.Covers(amounts{}))
		}},
		{"covering is transitive", func(t *rapid.T) {
			a, b, c := amountsOf(t, "a", smallQuantity), amountsOf(t, "b", smallQuantity), amountsOf(t, "c", smallQuantity)
			assert.Assert(t, !a.Covers(b) || !b.Covers(c) || a.Covers(c))
		}},
		{"covering is monotone", func(t *rapid.T) {
			a, b, more := amountsOf(t, "a", anyQuantity), amountsOf(t, "b", anyQuantity), amountsOf(t, "more", anyNonNegative)
			assert.Assert(t, !a.Covers(b) || a.Add(more).Covers(b))
		}},
		{"amounts cover what leaves no negative quantity", func(t *rapid.T) {
			a, b := amountsOf(t, "a", anyNonNegative), amountsOf(t, "b", anyNonNegative)
			assert.Equal(t, a.Covers(b), !a.Sub(b).HasNegative())
		}},
		{"a negative quantity counts as zero", func(t *rapid.T) {
			a, b := amountsOf(t, "a", smallQuantity), amountsOf(t, "b", smallQuantity)
			want := true
			for _, name := range names {
				want = want && b.Get(name) <= max(0, a.Get(name))
			}
			assert.Equal(t, a.Covers(b), want)
		}},
	})
}

func TestLimit_Properties(t *testing.T) {
	checkProperties(t, []property{
		{"the zero limit allows everything", func(t *rapid.T) {
			assert.Assert(t, limit{}.Allows(amountsOf(t, "a", anyQuantity)))
			assert.Assert(t, limit{}.IsUnlimited())
		}},
		{"a limit of zero forbids the resource", func(t *rapid.T) {
			none := resources.LimitFromMap(map[string]quantity{"gpu": 0})
			a := amountsOf(t, "a", smallQuantity)
			assert.Equal(t, none.Allows(a), a.Get("gpu") <= 0)
			n, limited := none.Get("gpu")
			assert.Assert(t, limited && n == 0)
		}},
		{"a tightened limit allows what both limits allow", func(t *rapid.T) {
			l, m, a := limitOf(t, "l", smallQuantity), limitOf(t, "m", smallQuantity), amountsOf(t, "a", smallQuantity)
			assert.Equal(t, l.Tighten(m).Allows(a), l.Allows(a) && m.Allows(a))
		}},
		{"tightening is commutative, associative and idempotent", func(t *rapid.T) {
			l, m, n := limitOf(t, "l", anyQuantity), limitOf(t, "m", anyQuantity), limitOf(t, "n", anyQuantity)
			assert.Assert(t, l.Tighten(m).Equal(m.Tighten(l)))
			assert.Assert(t, l.Tighten(m).Tighten(n).Equal(l.Tighten(m.Tighten(n))))
			assert.Assert(t, l.Tighten(l).Equal(l))
			assert.Assert(t, l.Tighten(limit{}).Equal(l) && limit{}.Tighten(l).Equal(l))
		}},
		{"usage within the headroom is within the limit", func(t *rapid.T) {
			l, used, a := limitOf(t, "l", anyNonNegative), amountsOf(t, "used", smallNonNegative),
				amountsOf(t, "a", anyNonNegative)
			if l.Allows(used) && l.Headroom(used).Allows(a) {
				assert.Assert(t, l.Allows(used.Add(a)))
			}
		}},
		{"usage within the limit is within the headroom", func(t *rapid.T) {
			l, used, a := limitOf(t, "l", smallNonNegative), amountsOf(t, "used", smallNonNegative),
				amountsOf(t, "a", smallNonNegative)
			if l.Allows(used.Add(a)) {
				assert.Assert(t, l.Headroom(used).Allows(a))
			}
		}},
		{"the headroom has the names of the limit", func(t *rapid.T) {
			l, used := limitOf(t, "l", anyQuantity), amountsOf(t, "used", anyQuantity)
			got, want := slices.Sorted(maps.Keys(l.Headroom(used).Map())), slices.Sorted(maps.Keys(l.Map()))
			assert.DeepEqual(t, got, want)
		}},
	})
}

// ratio is resources.Fraction with math/big.
func ratio(used, total quantity) *big.Rat {
	switch {
	case used <= 0:
		return new(big.Rat)
	case total <= 0:
		return big.NewRat(1, 1)
	}
	return big.NewRat(int64(used), int64(total))
}

func shareOf(t *rapid.T, label string) (resources.Share, *big.Rat) {
	used, total := anyQuantity.Draw(t, label+" used"), anyQuantity.Draw(t, label+" total")
	return resources.Fraction(used, total), ratio(used, total)
}

func sharesOf(t *rapid.T, label string) (resources.Shares, []*big.Rat) {
	var shares resources.Shares
	var exact []*big.Rat
	for i := range rapid.IntRange(0, 4).Draw(t, label) {
		s, r := shareOf(t, fmt.Sprint(label, i))
		if s.Compare(resources.Share{}) != 0 {
			shares, exact = append(shares, s), append(exact, r)
		}
	}
	shares.Sort()
	slices.SortFunc(exact, func(a, b *big.Rat) int { return b.Cmp(a) })
	return shares, exact
}

func TestShare_Properties(t *testing.T) {
	checkProperties(t, []property{
		{"shares compare as fractions", func(t *rapid.T) {
			s, wantS := shareOf(t, "s")
			u, wantU := shareOf(t, "u")
			assert.Equal(t, s.Compare(u), wantS.Cmp(wantU))
			assert.Equal(t, s.Compare(resources.Share{}), wantS.Sign())
			fixedPoint := new(big.Int).Lsh(wantS.Num(), 40)
			fixedPoint.Div(fixedPoint, wantS.Denom())
			largest := big.NewInt(1<<48 - 1)
			if fixedPoint.Cmp(largest) > 0 {
				fixedPoint = largest
			}
			assert.Equal(t, s.Abbreviate(), fixedPoint.Uint64())
		}},
		{"shares have a total order", func(t *rapid.T) {
			s, _ := shareOf(t, "s")
			u, _ := shareOf(t, "u")
			v, _ := shareOf(t, "v")
			assert.Equal(t, s.Compare(s), 0)
			assert.Equal(t, s.Compare(u), -u.Compare(s))
			assert.Assert(t, s.Compare(u) > 0 || u.Compare(v) > 0 || s.Compare(v) <= 0)
		}},
		{"the zero share is the smallest", func(t *rapid.T) {
			s, _ := shareOf(t, "s")
			assert.Assert(t, resources.Share{}.Compare(s) <= 0)
		}},
		{"raw shares compare as their quantities", func(t *rapid.T) {
			a, b := anyNonNegative.Draw(t, "a"), anyNonNegative.Draw(t, "b")
			assert.Equal(t, resources.RawShare(a).Compare(resources.RawShare(b)), big.NewInt(int64(a)).Cmp(big.NewInt(int64(b))))
		}},
		{"lists of shares compare lexicographically, largest first", func(t *rapid.T) {
			s, wantS := sharesOf(t, "s")
			u, wantU := sharesOf(t, "u")
			assert.Equal(t, s.Compare(u), slices.CompareFunc(wantS, wantU, (*big.Rat).Cmp))
			assert.Equal(t, s.Compare(u), -u.Compare(s))
			assert.Equal(t, append(slices.Clone(s), resources.RawShare(1)).Compare(s), 1) // the longer list is larger
		}},
	})
}

// randomNameTable returns a NameTable with some of the names, in a random order.
func randomNameTable(t *rapid.T) *resources.NameTable {
	n := resources.NewNameTable()
	order := rapid.Permutation(names).Draw(t, "order")
	for _, name := range order[:rapid.IntRange(0, len(order)).Draw(t, "known")] {
		n.Hold(resources.FromMap(map[string]quantity{name: 1}), resources.Cluster)
	}
	return n
}

func TestVector_AgreesWithAmounts(t *testing.T) {
	checkProperties(t, []property{
		{"a vector can be turned back into amounts", func(t *rapid.T) {
			n, a := randomNameTable(t), amountsOf(t, "a", anyQuantity)
			v := n.Hold(a, resources.Cluster)
			assertEqual(t, n.Amounts(v), a)
			assert.Assert(t, len(v) <= n.Len())
			assert.Equal(t, v.IsZero(), a.IsZero())
			for name, want := range a.All() {
				k, known := n.Lookup(name)
				assert.Assert(t, known)
				assert.Equal(t, n.Name(k), name)
				assert.Equal(t, v.At(k), want)
			}
		}},
		{"vectors add and subtract as amounts do", func(t *rapid.T) {
			n, a, b := randomNameTable(t), amountsOf(t, "a", anyQuantity), amountsOf(t, "b", anyQuantity)
			sum, rest, w := n.Hold(a, resources.Cluster), n.Hold(a, resources.Cluster), n.Hold(b, resources.Cluster)
			sum.Add(w)
			rest.Sub(w)
			assertEqual(t, n.Amounts(sum), a.Add(b))
			assertEqual(t, n.Amounts(rest), a.Sub(b))
			assertEqual(t, n.Amounts(w), b)
		}},
		{"AddTimes adds the product", func(t *rapid.T) {
			n, a, b := randomNameTable(t), amountsOf(t, "a", anyQuantity), amountsOf(t, "b", anyQuantity)
			count := rapid.Int64Min(0).Draw(t, "count")
			sum, w := n.Hold(a, resources.Cluster), n.Hold(b, resources.Cluster)
			sum.AddTimes(w, count)
			assertEqual(t, n.Amounts(sum), a.Add(b.Times(count)))
			assertEqual(t, n.Amounts(w), b)
		}},
		{"SetMax takes the larger quantity of each name", func(t *rapid.T) {
			n, a, b := randomNameTable(t), amountsOf(t, "a", smallNonNegative), amountsOf(t, "b", smallNonNegative)
			v, w := n.Hold(a, resources.Cluster), n.Hold(b, resources.Cluster)
			v.SetMax(w)
			for k := range n.Len() {
				name := n.Name(resources.Index(k))
				assert.Equal(t, v.At(resources.Index(k)), max(a.Get(name), b.Get(name)))
			}
			assertEqual(t, n.Amounts(w), b)
		}},
		{"vectors cover as amounts do", func(t *rapid.T) {
			n, a, b := randomNameTable(t), amountsOf(t, "a", smallQuantity), amountsOf(t, "b", smallQuantity)
			assert.Equal(t, n.Hold(a, resources.Cluster).Covers(n.Hold(b, resources.Cluster)), a.Covers(b))
		}},
		{"CoversAfter is Covers of the difference", func(t *rapid.T) {
			n, a, used, b := randomNameTable(t), amountsOf(t, "a", anyQuantity), amountsOf(t, "used", anyQuantity),
				amountsOf(t, "b", anyQuantity)
			got := n.Hold(a, resources.Cluster).CoversAfter(n.Hold(used, resources.Cluster), n.Hold(b, resources.Cluster))
			assert.Equal(t, got, a.Sub(used).Covers(b))
		}},
		{"vectors sum up as amounts do", func(t *rapid.T) {
			n, a, b := randomNameTable(t), amountsOf(t, "a", anyNonNegative), amountsOf(t, "b", smallQuantity)
			assert.Equal(t, n.Hold(a, resources.Cluster).Sum(), a.Sum())
			assert.Equal(t, n.Hold(b, resources.Cluster).Sum(), b.Sum())
		}},
		{"a LimitVector allows what the headroom of its limit allows", func(t *rapid.T) {
			n, l := randomNameTable(t), limitOf(t, "l", anyQuantity)
			used, a := amountsOf(t, "used", anyQuantity), amountsOf(t, "a", anyQuantity)
			assert.Equal(t,
				n.HoldLimit(l, resources.Cluster).Allows(n.Hold(used, resources.Cluster), n.Hold(a, resources.Cluster)),
				l.Headroom(used).Allows(a))
		}},
		{"a LimitVector has the limits of its names", func(t *rapid.T) {
			n, l := randomNameTable(t), limitOf(t, "l", smallQuantity)
			b := n.HoldLimit(l, resources.Cluster)
			for name, maximum := range l.All() {
				k, _ := n.Lookup(name)
				got, limited := b.At(k)
				assert.Assert(t, limited && got == maximum)
			}
		}},
		{"the dominant share is the largest over the measured resources", func(t *rapid.T) {
			used := vector(rapid.SliceOfN(anyQuantity, 0, 5).Draw(t, "used"))
			measure := rapid.OneOf(anyQuantity, rapid.Just(resources.Unmeasured))
			of := resources.Denominators(rapid.SliceOfN(measure, 0, 5).Draw(t, "of"))
			var want resources.Share
			for k := range min(len(used), len(of)) {
				if s := resources.Fraction(used[k], of[k]); of[k] != resources.Unmeasured && s.Compare(want) > 0 {
					want = s
				}
			}
			assert.Equal(t, of.DominantShare(used).Compare(want), 0)
		}},
	})
}

// decisionState has the values that a scheduling decision reads, for tests of heap allocations and benchmarks.
type decisionState struct {
	allocated, ask vector
	max            resources.LimitVector
	of             resources.Denominators
}

func newDecisionState() decisionState {
	n := resources.NewNameTable()
	held := resources.FromMap(map[string]quantity{"gpu": 8, "memory": 64 << 30, "pods": 12, "vcore": 16000})
	asked := resources.FromMap(map[string]quantity{"memory": 1 << 30, "pods": 1, "vcore": 500})
	limit := resources.LimitFromMap(map[string]quantity{"memory": 128 << 30, "vcore": 32000})
	return decisionState{
		allocated: n.Hold(held, resources.Cluster), // held first, so that the indexes are in name order
		ask:       n.Hold(asked, resources.Cluster),
		max:       n.HoldLimit(limit, resources.Cluster),
		of:        resources.Denominators{16, 128 << 30, resources.Unmeasured, 32000},
	}
}

func TestDecisionPath_DoesNotAllocate(t *testing.T) {
	b := newDecisionState()
	half, third := resources.Fraction(1, 2), resources.Fraction(1, 3)
	cases := map[string]func(){
		"LimitVector.Allows":         func() { _ = b.max.Allows(b.allocated, b.ask) },
		"Vector.Covers":              func() { _ = b.allocated.Covers(b.ask) },
		"Vector.CoversAfter":         func() { _ = b.allocated.CoversAfter(b.ask, b.ask) },
		"Vector.Add without growing": func() { b.allocated.Add(b.ask) },
		"Vector.AddTimes":            func() { b.allocated.AddTimes(b.ask, 2) },
		"Vector.Sub":                 func() { b.allocated.Sub(b.ask) },
		"Share.Compare":              func() { _ = half.Compare(third) },
		"Denominators.DominantShare": func() { _ = b.of.DominantShare(b.allocated) },
	}
	for name, f := range cases {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, testing.AllocsPerRun(100, f), 0.0)
		})
	}
}

func BenchmarkAdd(b *testing.B) {
	b.Run("amounts", func(b *testing.B) {
		x := resources.FromMap(map[string]quantity{"memory": 64 << 30, "pods": 12, "vcore": 16000})
		y := resources.FromMap(map[string]quantity{"memory": 1 << 30, "pods": 1, "vcore": 500})
		b.ReportAllocs()
		for b.Loop() {
			_ = x.Add(y)
		}
	})
	b.Run("vector", func(b *testing.B) {
		k := newDecisionState()
		b.ReportAllocs()
		for b.Loop() {
			k.allocated.Add(k.ask)
		}
	})
}

func BenchmarkAllows(b *testing.B) {
	k := newDecisionState()
	b.ReportAllocs()
	for b.Loop() {
		_ = k.max.Allows(k.allocated, k.ask)
	}
}

func BenchmarkCovers(b *testing.B) {
	k := newDecisionState()
	b.ReportAllocs()
	for b.Loop() {
		_ = k.allocated.Covers(k.ask)
	}
}

func BenchmarkDominant(b *testing.B) {
	k := newDecisionState()
	b.ReportAllocs()
	for b.Loop() {
		_ = k.of.DominantShare(k.allocated)
	}
}
