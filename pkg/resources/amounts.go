package resources

import (
	"cmp"
	"encoding/json"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"
)

// Quantity is an amount of one resource in its smallest unit: millicores for vcore, bytes for memory, units for
// other resources.
type Quantity int64

type entry struct {
	name string
	n    Quantity
}

// Amounts holds a quantity of each resource that is requested, used or available. A missing name is zero; the zero
// value has none. Values are immutable.
type Amounts struct {
	e []entry // sorted by name, never holds a zero
}

// FromMap copies m. Zero quantities are dropped. Negative ones are kept: the caller decides whether they are
// valid.
func FromMap(m map[string]Quantity) Amounts {
	return Amounts{slices.DeleteFunc(entries(m), func(x entry) bool { return x.n == 0 })}
}

// Get returns the quantity of name, zero if it is missing.
func (a Amounts) Get(name string) Quantity {
	n, _ := find(a.e, name)
	return n
}

// All yields the quantities that are not zero, in name order.
func (a Amounts) All() iter.Seq2[string, Quantity] { return all(a.e) }

// Entry returns the i-th quantity of All. i must be below Len.
func (a Amounts) Entry(i int) (name string, n Quantity) { return a.e[i].name, a.e[i].n }

// Len returns how many quantities are not zero.
func (a Amounts) Len() int { return len(a.e) }

// Add returns a+b.
func (a Amounts) Add(b Amounts) Amounts { return a.zip(b, addSat) }

// Sub returns a-b, which may be negative.
func (a Amounts) Sub(b Amounts) Amounts { return a.zip(b, subSat) }

// Shortage returns, for each resource whose quantity is below zero, by how much it is below.
func (a Amounts) Shortage() (s Amounts) {
	for _, x := range a.e {
		if x.n < 0 {
			s.e = append(s.e, entry{x.name, subSat(0, x.n)})
		}
	}
	return s
}

// Times returns a multiplied by n. n must not be negative.
func (a Amounts) Times(n int64) Amounts {
	out := make([]entry, 0, len(a.e))
	for _, x := range a.e {
		if p := mulSat(x.n, Quantity(n)); p != 0 {
			out = append(out, entry{x.name, p})
		}
	}
	return Amounts{out}
}

// IsZero reports whether every quantity is zero.
func (a Amounts) IsZero() bool { return len(a.e) == 0 }

// Equal reports whether a and b have the same quantities.
func (a Amounts) Equal(b Amounts) bool { return slices.Equal(a.e, b.e) }

// HasNegative reports whether any quantity is below zero.
func (a Amounts) HasNegative() bool {
	return slices.ContainsFunc(a.e, func(x entry) bool { return x.n < 0 })
}

// Covers reports whether b fits into a: each quantity of b is at most that of a, where a negative quantity of a
// counts as zero.
func (a Amounts) Covers(b Amounts) bool {
	return !slices.ContainsFunc(b.e, func(x entry) bool { return x.n > max(0, a.Get(x.name)) })
}

// Sum adds up all quantities, whatever their units. It is for a total order of pending resources only (ORD-22).
func (a Amounts) Sum() Quantity {
	var s Quantity
	for _, x := range a.e {
		s = addSat(s, x.n)
	}
	return s
}

// Map copies a into a map, without zeroes. It is never nil.
func (a Amounts) Map() map[string]Quantity { return toMap(a.e) }

// MarshalJSON writes an object of the quantities that are not zero, by name.
func (a Amounts) MarshalJSON() ([]byte, error) { return json.Marshal(a.Map()) }

// UnmarshalJSON reads the output of MarshalJSON.
func (a *Amounts) UnmarshalJSON(text []byte) error {
	var m map[string]Quantity
	err := json.Unmarshal(text, &m)
	*a = FromMap(m)
	return err
}

// String returns "{memory=1024 vcore=500}".
func (a Amounts) String() string { return "{" + format(a.e) + "}" }

func (a Amounts) zip(b Amounts, op func(x, y Quantity) Quantity) Amounts {
	out := make([]entry, 0, len(a.e)+len(b.e))
	put := func(name string, n Quantity) {
		if n != 0 {
			out = append(out, entry{name, n})
		}
	}
	i, j := 0, 0
	for i < len(a.e) || j < len(b.e) {
		switch {
		case j == len(b.e) || i < len(a.e) && a.e[i].name < b.e[j].name:
			put(a.e[i].name, op(a.e[i].n, 0))
			i++
		case i == len(a.e) || b.e[j].name < a.e[i].name:
			put(b.e[j].name, op(0, b.e[j].n))
			j++
		default:
			put(a.e[i].name, op(a.e[i].n, b.e[j].n))
			i, j = i+1, j+1
		}
	}
	return Amounts{out}
}

func entries(m map[string]Quantity) []entry {
	e := make([]entry, 0, len(m))
	for name, n := range m {
		e = append(e, entry{name, n})
	}
	slices.SortFunc(e, func(a, b entry) int { return cmp.Compare(a.name, b.name) })
	return e
}

func all(e []entry) iter.Seq2[string, Quantity] {
	return func(yield func(string, Quantity) bool) {
		for _, x := range e {
			if !yield(x.name, x.n) {
				return
			}
		}
	}
}

func toMap(e []entry) map[string]Quantity {
	m := make(map[string]Quantity, len(e))
	for _, x := range e {
		m[x.name] = x.n
	}
	return m
}

func find(e []entry, name string) (Quantity, bool) {
	i, ok := slices.BinarySearchFunc(e, name, func(x entry, s string) int { return cmp.Compare(x.name, s) })
	if !ok {
		return 0, false
	}
	return e[i].n, true
}

func format(e []entry) string {
	parts := make([]string, len(e))
	for i, x := range e {
		parts[i] = fmt.Sprintf("%s=%d", x.name, x.n)
	}
	return strings.Join(parts, " ")
}

func addSat(x, y Quantity) Quantity {
	s := x + y
	if (x^s)&(y^s) < 0 { // the sign of s differs from that of both
		return saturated(x)
	}
	return s
}

func subSat(x, y Quantity) Quantity {
	d := x - y
	if (x^y)&(x^d) < 0 {
		return saturated(x)
	}
	return d
}

// saturated returns the end of the range of a Quantity that has the sign of x.
func saturated(x Quantity) Quantity {
	if x < 0 {
		return math.MinInt64
	}
	return math.MaxInt64
}

// mulSat returns x*n, saturated. Requires: n is not negative.
func mulSat(x, n Quantity) Quantity {
	p := x * n
	switch {
	case x == 0 || p/x == n:
		return p
	case x > 0:
		return math.MaxInt64
	}
	return math.MinInt64
}
