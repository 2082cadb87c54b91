package resources

import "math"

// Vector is Amounts in scheduling decisions: one quantity per Index of a NameTable. A Vector may be shorter than
// the table; missing places are zero. Unlike Amounts it changes in place; only its owner may change it.
type Vector []Quantity

// At returns the quantity of k.
func (v Vector) At(k Index) Quantity {
	if int(k) >= len(v) {
		return 0
	}
	return v[k]
}

// Add adds w to v in place.
func (v *Vector) Add(w Vector) {
	if len(w) > len(*v) {
		v.grow(Index(len(w) - 1))
	}
	total := (*v)[:len(w)]
	for k, q := range w {
		total[k] = addSat(total[k], q)
	}
}

// AddTimes adds w to v n times, in place.
func (v *Vector) AddTimes(w Vector, n int64) {
	if len(w) > len(*v) {
		v.grow(Index(len(w) - 1))
	}
	for k, q := range w {
		(*v)[k] = addSat((*v)[k], mulSat(q, Quantity(n)))
	}
}

// Sub subtracts w from v in place.
func (v *Vector) Sub(w Vector) {
	if len(w) > len(*v) {
		v.grow(Index(len(w) - 1))
	}
	total := (*v)[:len(w)]
	for k, q := range w {
		total[k] = subSat(total[k], q)
	}
}

// Move takes w out of v and adds it to another vector, both in place.
func (v *Vector) Move(w Vector, to *Vector) {
	if len(w) > len(*v) {
		v.grow(Index(len(w) - 1))
	}
	if len(w) > len(*to) {
		to.grow(Index(len(w) - 1))
	}
	left, total := (*v)[:len(w)], (*to)[:len(w)]
	for k, q := range w {
		left[k], total[k] = subSat(left[k], q), addSat(total[k], q)
	}
}

// SetMax sets v to the larger of v and w in each place. Requires: no quantity is negative.
func (v *Vector) SetMax(w Vector) {
	if len(w) > len(*v) {
		v.grow(Index(len(w) - 1))
	}
	for k, q := range w {
		(*v)[k] = max((*v)[k], q)
	}
}

// Covers reports whether w fits into v, as Amounts.Covers.
func (v Vector) Covers(w Vector) bool {
	for k, q := range w {
		if q > 0 && q > v.At(Index(k)) {
			return false
		}
	}
	return true
}

// CoversAfter reports whether v less used covers w, without a temporary Vector.
func (v Vector) CoversAfter(used, w Vector) bool {
	for k, q := range w {
		if q > 0 && q > subSat(v.At(Index(k)), used.At(Index(k))) {
			return false
		}
	}
	return true
}

// Overflows reports whether v+w+x would leave the range of a Quantity. An account that refuses such changes never
// saturates, so subtracting is exact.
func (v Vector) Overflows(w, x Vector) bool {
	for k := range max(len(v), len(w), len(x)) {
		k := Index(k)
		if Overflow(v.At(k), w.At(k), x.At(k)) {
			return true
		}
	}
	return false
}

// Overflow reports whether a+b+c would leave the range of a Quantity.
func Overflow(a, b, c Quantity) bool {
	s := addSat(addSat(a, b), c)
	return s == math.MaxInt64 || s == math.MinInt64
}

// Difference sets v to w-x-y, in place.
func (v *Vector) Difference(w, x, y Vector) {
	*v = append((*v)[:0], w...)
	v.Sub(x)
	if len(y) > 0 {
		v.Sub(y)
	}
}

// Sum returns Amounts.Sum, computed in the order of the indexes.
func (v Vector) Sum() Quantity {
	var s Quantity
	for _, q := range v {
		s = addSat(s, q)
	}
	return s
}

// HasNegative reports whether a quantity is below zero.
func (v Vector) HasNegative() bool {
	for _, q := range v {
		if q < 0 {
			return true
		}
	}
	return false
}

// IsZero reports whether every quantity is zero.
func (v Vector) IsZero() bool {
	for _, q := range v {
		if q != 0 {
			return false
		}
	}
	return true
}

func (v *Vector) grow(k Index) {
	for len(*v) <= int(k) {
		*v = append(*v, 0)
	}
}

// LimitVector is a Limit in scheduling decisions: the limited resources only, in name order.
type LimitVector []limitEntry

type limitEntry struct {
	index Index
	n     Quantity
}

// Allows reports whether w may be used on top of used: Limit.Headroom and Limit.Allows in one, without
// allocating.
func (b LimitVector) Allows(used, w Vector) bool {
	for _, x := range b {
		if w.At(x.index) > max(0, subSat(x.n, used.At(x.index))) {
			return false
		}
	}
	return true
}

// At returns the limit of k; ok is false if it is unlimited.
func (b LimitVector) At(k Index) (n Quantity, ok bool) {
	for _, x := range b {
		if x.index == k {
			return x.n, true
		}
	}
	return 0, false
}

// Remaining returns the index of the i-th limited resource, and its limit less used, which may be negative. i must be
// below len(b).
func (b LimitVector) Remaining(i int, used Vector) (Index, Quantity) {
	return b[i].index, subSat(b[i].n, used.At(b[i].index))
}

// AddSaturated returns a+b, saturated at the ends of int64.
func AddSaturated(a, b Quantity) Quantity { return addSat(a, b) }

// SubSaturated returns a-b, saturated at the ends of int64.
func SubSaturated(a, b Quantity) Quantity { return subSat(a, b) }

// Denominators are, per Index, the quantity by which usage is divided for the fair share, or Unmeasured.
type Denominators []Quantity

// Unmeasured marks a resource that does not count in a share.
const Unmeasured Quantity = -1

// DominantShare returns the largest fraction of usage and denominator over the measured resources (ORD-17).
func (d Denominators) DominantShare(used Vector) Share {
	var top Share
	for k, q := range used {
		if q <= 0 || k >= len(d) || d[k] == Unmeasured {
			continue
		}
		if s := Fraction(q, d[k]); top.num == 0 || s.Compare(top) > 0 {
			top = s
		}
	}
	return top
}
