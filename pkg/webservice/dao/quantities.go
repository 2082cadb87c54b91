package dao

import (
	"iter"
	"math"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// Quantities are amounts by resource name, in the smallest unit.
type Quantities map[string]int64

// QuantitiesOf has every quantity of a sequence, zeroes included. It is never nil.
func QuantitiesOf(all iter.Seq2[string, resources.Quantity]) Quantities {
	m := Quantities{}
	for name, n := range all {
		m[name] = int64(n)
	}
	return m
}

// Percentages is the used share of each total in whole percent, at most 2147483647, for the
// resources that have a total and are used (OBS-18).
func Percentages(used resources.Amounts, totals iter.Seq2[string, resources.Quantity]) Quantities {
	m := Quantities{}
	for name, total := range totals {
		n := used.Get(name)
		switch {
		case n == 0:
		case n < 0:
			m[name] = 0
		case total <= 0:
			m[name] = 100
		default:
			m[name] = int64(min(float64(n)*100/float64(total), math.MaxInt32))
		}
	}
	return m
}

// amountsOf are amounts in the smallest units.
func amountsOf(a resources.Amounts) Quantities { return QuantitiesOf(a.All()) }

// Nanos is a time in nanoseconds since 1970; 0, which is left out, if it is not known.
func Nanos(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}

// TimeText is a time as RFC 3339.
func TimeText(t time.Time) string { return t.UTC().Format(time.RFC3339) }
