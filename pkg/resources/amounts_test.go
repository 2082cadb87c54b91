package resources

import (
	"math"
	"testing"

	"gotest.tools/v3/assert"
)

func TestAmounts_Times(t *testing.T) {
	a := FromMap(map[string]Quantity{"a": 3, "b": math.MaxInt64 / 2, "c": -4, "d": math.MinInt64 / 2})
	for n, want := range map[int64]map[string]Quantity{
		0: {},
		1: a.Map(),
		2: {"a": 6, "b": math.MaxInt64 - 1, "c": -8, "d": math.MinInt64},
		3: {"a": 9, "b": math.MaxInt64, "c": -12, "d": math.MinInt64},
		// A product outside of the range saturates.
		math.MaxInt64: {"a": math.MaxInt64, "b": math.MaxInt64, "c": math.MinInt64, "d": math.MinInt64},
	} {
		assert.DeepEqual(t, a.Times(n).Map(), want)
	}
}
