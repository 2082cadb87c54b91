package resources

import (
	"math/bits"
	"slices"
)

// Share is used over entitled as an exact fraction; larger means better served.
// Fractions are compared by 128-bit cross products, so the order of queues is the
// same on every machine, which floats would not promise. The zero value is 0.
type Share struct{ num, den uint64 } // den 0 stands for 1

// Fraction is the share of somebody who uses used of what entitles them to total
// (behaviour.md 3.10): nothing used is 0; a total of zero or less is full (1) as
// soon as anything is used.
func Fraction(used, total Quantity) Share {
	switch {
	case used <= 0:
		return Share{}
	case total <= 0:
		return Share{1, 1}
	}
	return Share{uint64(used), uint64(total)}
}

// RawShare is the share of somebody with no entitlement to measure against: the plain
// quantity (behaviour.md 3.11).
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

// IsZero reports whether nothing is used.
func (s Share) IsZero() bool { return s.num == 0 }

// Float is s rounded, for people to read. Nothing is decided by it.
func (s Share) Float() float64 { return float64(s.num) / float64(max(s.den, 1)) }

// Shares are the shares of several resources, largest first, without zeroes.
type Shares []Share

// Sort puts s in the order Compare needs: largest first.
func (s Shares) Sort() { slices.SortFunc(s, func(a, b Share) int { return b.Compare(a) }) }

// Compare orders by the largest share, then the next largest; whoever has more
// shares left at the end is larger (behaviour.md 3.11). Requires: both are sorted.
func (s Shares) Compare(t Shares) int {
	return slices.CompareFunc(s, t, Share.Compare)
}
