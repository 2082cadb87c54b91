package fairshare

import (
	"math"
	"testing"

	"gotest.tools/v3/assert"
	"pgregory.net/rapid"

	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// The shares add up to the total, each within its bounds, and those within their bounds are by weight.
func TestWaterLevel_SharesAddUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sides := rapid.SliceOfN(rapid.Custom(drawBounds), 0, 8).Draw(t, "sides")
		total := resources.Quantity(rapid.Int64Range(0, 200).Draw(t, "total"))
		at := waterLevel(total, sides)
		sum, floors, tops := 0.0, 0.0, 0.0
		for _, b := range sides {
			share := b.share(at)
			assert.Assert(t, float64(b.floor) <= share && share <= float64(b.top))
			sum, floors, tops = sum+share, floors+float64(b.floor), tops+float64(b.top)
			if share > float64(b.floor) && share < float64(b.top) {
				byWeight := float64(b.weight) * float64(at.rest) / float64(at.sharing)
				assert.Assert(t, math.Abs(share-byWeight) < 1e-9)
			}
		}
		assert.Assert(t, math.Abs(sum-min(max(float64(total), floors), tops)) < 1e-9, "%v of %v", sum, total)
		order := rapid.Permutation(sides).Draw(t, "order")
		again := waterLevel(total, order)
		for _, b := range order {
			assert.Equal(t, b.share(again), b.share(at), "shares do not depend on the order")
		}
	})
}

func drawBounds(t *rapid.T) bounds {
	floor := rapid.Int64Range(0, 40).Draw(t, "floor")
	return bounds{
		weight: rapid.SampledFrom([]uint64{999, 500_000, 1_000_000, 3_000_000, 1e12}).Draw(t, "weight"),
		floor:  resources.Quantity(floor), top: resources.Quantity(floor + rapid.Int64Range(0, 60).Draw(t, "more")),
	}
}

// A share that is whole is exact: else a side that has just its share would be above it, or below.
func TestWaterLevel_WholeSharesAreExact(t *testing.T) {
	sides := []bounds{{400_000, 0, 20}, {1_000_000, 0, 20}, {3_100_000, 9, 9}}
	at := waterLevel(9+7+15, []bounds{{400_000, 0, 20}, {857_143, 15, 15}, {3_100_000, 9, 9}})
	assert.Equal(t, sides[0].share(at), 7.0)
	at = waterLevel(7+35, []bounds{{400_000, 0, 20}, {2_000_000, 0, 99}})
	assert.Equal(t, sides[0].share(at), 7.0)
}

// Quantities of memory are large, and weights may be a million times as large as others.
func TestWaterLevel_LargeQuantities(t *testing.T) {
	const petabyte = 1 << 50
	sides := []bounds{{1e12, 0, 9 * petabyte}, {1000, petabyte / 2, 9 * petabyte}, {1e6, 0, math.MaxInt64}}
	at := waterLevel(4*petabyte, sides)
	sum := 0.0
	for _, b := range sides {
		sum += b.share(at)
	}
	assert.Assert(t, math.Abs(sum/(4*petabyte)-1) < 1e-12)
	most := bounds{1e6, math.MaxInt64, math.MaxInt64}
	assert.Equal(t, most.share(waterLevel(10, []bounds{most, most})), float64(math.MaxInt64))
	assert.Equal(t, bounds{1e6, 0, 5}.share(waterLevel(math.MaxInt64, []bounds{{1e6, 0, 5}})), 5.0)
	assert.Equal(t, waterLevel(3, nil), level{3, 0})
}
