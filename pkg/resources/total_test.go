package resources_test

import (
	"testing"

	"gotest.tools/v3/assert"
	"pgregory.net/rapid"

	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// A Total is the sum by Amounts.Add, saturated at the same places.
func TestTotal_AddsLikeAmounts(t *testing.T) {
	var total resources.Total
	rapid.Check(t, func(t *rapid.T) {
		total.Reset()
		var want amounts
		for range rapid.IntRange(0, 6).Draw(t, "n") {
			a := amountsOf(t, "a", anyQuantity)
			switch rapid.IntRange(0, 2).Draw(t, "operation") {
			case 0:
				total.Add(a)
				want = want.Add(a)
			case 1:
				total.Sub(a)
				want = want.Sub(a)
			default:
				n := rapid.Int64Min(0).Draw(t, "n")
				total.AddTimes(a, n)
				want = want.Add(a.Times(n))
			}
		}
		other := amountsOf(t, "other", anyQuantity)
		assert.Equal(t, total.Equal(other), want.Equal(other))
		assert.Assert(t, total.Equal(want))
		assert.Assert(t, total.Amounts().Equal(want), "%v, want %v", total.Amounts(), want)
	})
}
