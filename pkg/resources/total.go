package resources

import (
	"cmp"
	"slices"
)

// Total adds up Amounts in place: a long sum does not allocate memory for each step. The zero value is zero, and ready
// for use.
type Total struct {
	e []entry // sorted by name; zeroes are kept
}

// Reset makes the total zero, and keeps its memory.
func (t *Total) Reset() { t.e = t.e[:0] }

// Add adds a, like Amounts.Add.
func (t *Total) Add(a Amounts) { t.apply(a, addSat) }

// AddTimes adds a.Times(n). n must not be negative.
func (t *Total) AddTimes(a Amounts, n int64) {
	t.apply(a, func(x, y Quantity) Quantity { return addSat(x, mulSat(y, Quantity(n))) })
}

// Sub subtracts a, like Amounts.Sub.
func (t *Total) Sub(a Amounts) { t.apply(a, subSat) }

func (t *Total) apply(a Amounts, op func(x, y Quantity) Quantity) {
	for _, x := range a.e {
		i, found := slices.BinarySearchFunc(t.e, x.name, func(y entry, name string) int { return cmp.Compare(y.name, name) })
		if !found {
			t.e = slices.Insert(t.e, i, entry{name: x.name})
		}
		t.e[i].n = op(t.e[i].n, x.n)
	}
}

// Equal reports whether the total is a.
func (t *Total) Equal(a Amounts) bool {
	next := 0
	for _, x := range t.e {
		if x.n == 0 {
			continue
		}
		if next == len(a.e) || a.e[next] != x {
			return false
		}
		next++
	}
	return next == len(a.e)
}

// Amounts returns a copy of the total.
func (t *Total) Amounts() Amounts {
	zeroes := 0
	for _, x := range t.e {
		if x.n == 0 {
			zeroes++
		}
	}
	if zeroes == len(t.e) {
		return Amounts{}
	}
	out := make([]entry, 0, len(t.e)-zeroes)
	for _, x := range t.e {
		if x.n != 0 {
			out = append(out, x)
		}
	}
	return Amounts{out}
}
