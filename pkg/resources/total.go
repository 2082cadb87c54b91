package resources

import (
	"cmp"
	"slices"
)

// Total adds up Amounts in place. The zero value is zero, and ready for use.
type Total struct {
	e []entry // sorted by name; zeroes are kept
}

// Reset makes the total zero, and keeps its memory.
func (t *Total) Reset() { t.e = t.e[:0] }

// Add adds a, like Amounts.Add.
func (t *Total) Add(a Amounts) {
	for _, x := range a.e {
		i, found := slices.BinarySearchFunc(t.e, x.name, func(y entry, name string) int { return cmp.Compare(y.name, name) })
		if found {
			t.e[i].n = addSat(t.e[i].n, x.n)
		} else {
			t.e = slices.Insert(t.e, i, x)
		}
	}
}

// Amounts is a copy of the total.
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
