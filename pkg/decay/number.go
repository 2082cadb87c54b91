// Package decay computes usage that halves with time, in whole numbers, so that every processor has the same bits.
//
// It owns the numbers, the powers of two by which they grow and fall, and the history of one amount. What is measured,
// and who is compared by it, is left to package fairness.
//
// The rule that must hold: a value depends on what was held and when, and not on when it was asked for.
package decay

import (
	"cmp"
	"math"
	"math/big"
	"math/bits"
)

// Number is a positive number with a precision of 63 bits or better and a wide range: mantissa x 2^exponent. The zero
// value is 0. Operations round down. Two equal numbers have equal fields.
type Number struct {
	Mantissa uint64 // its highest bit is set, unless the number is 0
	Exponent int32
}

// Of returns n.
func Of(n uint64) Number { return normalized(n, 0, 0) }

// normalized returns hi x 2^(64+exponent) + lo x 2^exponent.
func normalized(lo, hi uint64, exponent int32) Number {
	switch {
	case hi != 0:
		shift := bits.LeadingZeros64(hi)
		return Number{hi<<shift | lo>>(64-shift), exponent + 64 - int32(shift)}
	case lo != 0:
		shift := bits.LeadingZeros64(lo)
		return Number{lo << shift, exponent - int32(shift)}
	}
	return Number{}
}

// IsZero reports whether n is 0.
func (n Number) IsZero() bool { return n.Mantissa == 0 }

// Valid reports whether n is a number that operations return: what was read from a file may be none.
func (n Number) Valid() bool {
	return n == Number{} || n.Mantissa>>63 == 1 && n.Exponent < 1<<28 && n.Exponent > -1<<28
}

// Compare orders numbers.
func (n Number) Compare(m Number) int {
	switch {
	case n.Mantissa == 0 || m.Mantissa == 0:
		return cmp.Compare(n.Mantissa, m.Mantissa)
	case n.Exponent != m.Exponent:
		return cmp.Compare(n.Exponent, m.Exponent)
	}
	return cmp.Compare(n.Mantissa, m.Mantissa)
}

// Plus returns n + m.
func (n Number) Plus(m Number) Number {
	if n.Compare(m) < 0 {
		n, m = m, n
	}
	shift := n.Exponent - m.Exponent
	if m.Mantissa == 0 || shift > 63 {
		return n
	}
	lo, carry := bits.Add64(n.Mantissa, m.Mantissa>>shift, 0)
	return normalized(lo, carry, n.Exponent)
}

// Times returns n x m.
func (n Number) Times(m Number) Number {
	hi, lo := bits.Mul64(n.Mantissa, m.Mantissa)
	return normalized(lo, hi, n.Exponent+m.Exponent)
}

// Over returns n / m. Requires: m is not 0.
func (n Number) Over(m Number) Number {
	if n.Mantissa == 0 {
		return n
	}
	quotient, _ := bits.Div64(n.Mantissa>>1, n.Mantissa<<63, m.Mantissa) // the first is smaller than the divisor
	return normalized(quotient, 0, n.Exponent-m.Exponent-63)
}

// Float returns n for people: rounded, and out of range 0 or +Inf.
func (n Number) Float() float64 { return math.Ldexp(float64(n.Mantissa), int(n.Exponent)) }

// Abbreviate returns a number of 48 bits that orders like n, but for numbers that share one (policies.QueueKey).
// Numbers with an exponent of more than 26 bits share the first or the last.
func (n Number) Abbreviate() uint64 {
	const mantissaBits, most = 21, 1<<27 - 1
	e := int64(n.Exponent) + 1<<26
	switch {
	case n.Mantissa == 0 || e <= 0:
		return 0
	case e > most:
		return 1<<48 - 1
	}
	return uint64(e)<<mantissaBits | n.Mantissa<<1>>(64-mantissaBits)
}

// PerHalfLife is the number of ticks in a half-life.
const PerHalfLife = 256

// roots has 2^(i/PerHalfLife).
var roots = func() (table [PerHalfLife]Number) {
	for i := range table {
		// 2^(64 + i/256) is the 256th root of 2^(64 x 256 + i): eight square roots, of a number that is long enough.
		const extra = 64
		x := new(big.Int).Lsh(big.NewInt(1), uint((63+extra)*PerHalfLife+i))
		for range 8 {
			x.Sqrt(x)
		}
		table[i] = Number{x.Rsh(x, extra).Uint64(), -63}
	}
	return table
}()

// Growth returns 2^(ticks/PerHalfLife): what was used so many ticks later counts for so much more.
func Growth(ticks int64) Number {
	whole := ticks >> 8 // rounded down
	n := roots[ticks&(PerHalfLife-1)]
	n.Exponent += int32(whole)
	return n
}
