package resources

import "math"

// Vector is Amounts on the decision path: one quantity per Kind. A Vector shorter
// than Names has zeroes in the missing places. Unlike Amounts it changes in place;
// only the book that owns it may do that.
type Vector []Quantity

// At returns the quantity of k.
func (v Vector) At(k Kind) Quantity {
	if int(k) >= len(v) {
		return 0
	}
	return v[k]
}

// Add adds w to v in place.
func (v *Vector) Add(w Vector) {
	if len(w) > len(*v) {
		v.reach(Kind(len(w) - 1))
	}
	for k, q := range w {
		(*v)[k] = addSat((*v)[k], q)
	}
}

// Sub subtracts w from v in place.
func (v *Vector) Sub(w Vector) {
	if len(w) > len(*v) {
		v.reach(Kind(len(w) - 1))
	}
	for k, q := range w {
		(*v)[k] = subSat((*v)[k], q)
	}
}

// Raise makes v the larger of v and w in every place. Requires: nothing is negative.
func (v *Vector) Raise(w Vector) {
	if len(w) > len(*v) {
		v.reach(Kind(len(w) - 1))
	}
	for k, q := range w {
		(*v)[k] = max((*v)[k], q)
	}
}

// Covers is Amounts.Covers.
func (v Vector) Covers(w Vector) bool {
	for k, q := range w {
		if q > 0 && q > v.At(Kind(k)) {
			return false
		}
	}
	return true
}

// CoversBeyond reports whether v, less used, covers w. It is Covers without making
// the difference.
func (v Vector) CoversBeyond(used, w Vector) bool {
	for k, q := range w {
		if q > 0 && q > subSat(v.At(Kind(k)), used.At(Kind(k))) {
			return false
		}
	}
	return true
}

// Overflows reports whether v+w+x would leave the range of a Quantity. Books that
// refuse such postings never saturate, so taking something out again is exact.
func (v Vector) Overflows(w, x Vector) bool {
	for k := range max(len(v), len(w), len(x)) {
		k := Kind(k)
		if s := addSat(addSat(v.At(k), w.At(k)), x.At(k)); s == math.MaxInt64 || s == math.MinInt64 {
			return true
		}
	}
	return false
}

// Difference sets v to w-x-y, in place.
func (v *Vector) Difference(w, x, y Vector) {
	*v = append((*v)[:0], w...)
	v.Sub(x)
	v.Sub(y)
}

// Sum is Amounts.Sum, computed in Kind order.
func (v Vector) Sum() Quantity {
	var s Quantity
	for _, q := range v {
		s = addSat(s, q)
	}
	return s
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

func (v *Vector) reach(k Kind) {
	for len(*v) <= int(k) {
		*v = append(*v, 0)
	}
}

// Bound is a Limit on the decision path: only the limited kinds, in name order.
type Bound []bounded

type bounded struct {
	kind Kind
	n    Quantity
}

// Allows reports whether w more may be used on top of used: Limit.Headroom and
// Limit.Allows in one, without making anything.
func (b Bound) Allows(used, w Vector) bool {
	for _, x := range b {
		if w.At(x.kind) > max(0, subSat(x.n, used.At(x.kind))) {
			return false
		}
	}
	return true
}

// At returns the limit of k; ok is false when it is unlimited.
func (b Bound) At(k Kind) (n Quantity, ok bool) {
	for _, x := range b {
		if x.kind == k {
			return x.n, true
		}
	}
	return 0, false
}

// Left is the i-th limited kind, and what is left of it on top of used, which can be
// negative. i is below len(b).
func (b Bound) Left(i int, used Vector) (Kind, Quantity) {
	return b[i].kind, subSat(b[i].n, used.At(b[i].kind))
}

// Less is a-b, saturated.
func Less(a, b Quantity) Quantity { return subSat(a, b) }

// Exceeded reports whether used is above the bound in any kind.
func (b Bound) Exceeded(used Vector) bool {
	for _, x := range b {
		if used.At(x.kind) > x.n {
			return true
		}
	}
	return false
}

// Denominators say, per Kind, what a use of it is measured against when queues
// share: a quantity, or Unmeasured.
type Denominators []Quantity

// Unmeasured marks a kind that does not count in a share.
const Unmeasured Quantity = -1

// Dominant is the largest fraction used/denominator over the measured kinds.
func (d Denominators) Dominant(used Vector) Share {
	var top Share
	for k, q := range used {
		if q <= 0 || k >= len(d) || d[k] == Unmeasured {
			continue
		}
		if s := Fraction(q, d[k]); s.Compare(top) > 0 {
			top = s
		}
	}
	return top
}
