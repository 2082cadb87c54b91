package resources

import (
	"math/bits"
	"slices"
)

// Share is usage divided by entitlement as an exact fraction; larger means better served. Fractions are compared
// by 128-bit cross products, so that the order is the same on every machine, unlike with floats (ORD-21). The
// zero value is 0.
type Share struct{ num, den uint64 } // den 0 stands for 1

// Fraction returns used divided by total (ORD-17, ORD-18): 0 if used is zero or less, 1 if total is zero or less and
// used is above zero.
func Fraction(used, total Quantity) Share {
	switch {
	case used <= 0:
		return Share{}
	case total <= 0:
		return Share{1, 1}
	}
	return Share{uint64(used), uint64(total)}
}

// RawShare returns the share without an entitlement: the plain quantity (ORD-30).
func RawShare(used Quantity) Share { return Fraction(used, 1) }

// Compare orders shares by value.
func (s Share) Compare(t Share) int {
	ah, al := bits.Mul64(s.num, max(t.den, 1))
	bh, bl := bits.Mul64(t.num, max(s.den, 1))
	switch {
	case ah < bh || ah == bh && al < bl:
		return -1
	case ah == bh && al == bl:
		return 0
	}
	return 1
}

// Abbreviate returns a number of 48 bits. If the numbers of two shares differ, they order like the shares. It is s in
// units of 2^-40, rounded down, and the largest such number for shares beyond that range.
func (s Share) Abbreviate() uint64 {
	const bitsAfterPoint, largest = 40, 1<<48 - 1
	high, low := s.num>>(64-bitsAfterPoint), s.num<<bitsAfterPoint
	if den := max(s.den, 1); high < den {
		quotient, _ := bits.Div64(high, low, den)
		return min(quotient, largest)
	}
	return largest
}

// Float returns s rounded, for display; no decision uses it.
func (s Share) Float() float64 { return float64(s.num) / float64(max(s.den, 1)) }

// Shares are the shares of several resources, largest first, without zeroes.
type Shares []Share

// Sort sorts s, largest first, as Compare requires.
func (s Shares) Sort() { slices.SortFunc(s, func(a, b Share) int { return b.Compare(a) }) }

// Compare compares the largest shares, then the next largest; if one list ends, the longer one is larger
// (ORD-29). Requires: both are sorted.
func (s Shares) Compare(t Shares) int {
	return slices.CompareFunc(s, t, Share.Compare)
}
