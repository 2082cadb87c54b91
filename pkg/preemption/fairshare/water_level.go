package fairshare

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// bounds are those of the share of a side, of one resource: floor <= share <= top.
type bounds struct {
	weight     uint64 // millionths, at least 1
	floor, top resources.Quantity
}

// level has the share of a unit of weight: rest / sharing. Without sharing each side has its top.
type level struct{ rest, sharing uint64 }

// share returns the share at a level: its whole part and its rest are rounded once each, so that a share that is whole
// is exact, and no share depends on the order of the sides.
func (b bounds) share(at level) float64 {
	high, low := bits.Mul64(at.rest, b.weight)
	if high >= at.sharing { // more than any top
		return float64(b.top)
	}
	whole, left := bits.Div64(high, low, at.sharing)
	return min(max(float64(whole)+float64(left)/float64(at.sharing), float64(b.floor)), float64(b.top))
}

// waterLevel returns the level at which the shares add up to total (PRE-127): 0 if the floors do already.
func waterLevel(total resources.Quantity, sides []bounds) level {
	// At a level, floors and tops of some sides count (fixed), and the others share by weight. Each side begins to
	// share at floor / weight, and ends at top / weight.
	type turn struct {
		at     resources.Quantity // by weight
		weight uint64
		ends   bool
	}
	turns := make([]turn, 0, 2*len(sides))
	fixed, sharing := resources.Quantity(0), uint64(0)
	for _, b := range sides {
		fixed = resources.AddSaturated(fixed, b.floor)
		if b.top > b.floor {
			turns = append(turns, turn{b.floor, b.weight, false}, turn{b.top, b.weight, true})
		}
	}
	if fixed >= total {
		return level{0, 1}
	}
	slices.SortFunc(turns, func(a, b turn) int { return compareProducts(uint64(a.at), b.weight, uint64(b.at), a.weight) })
	for _, t := range turns {
		// the level of total is below that of t if fixed + sharing x at / weight >= total
		if compareProducts(sharing, uint64(t.at), uint64(total-fixed), t.weight) >= 0 && sharing > 0 {
			break
		}
		if t.ends {
			fixed, sharing = fixed+t.at, sharing-t.weight
		} else {
			fixed, sharing = fixed-t.at, sharing+t.weight
		}
	}
	return level{uint64(total - fixed), sharing}
}

// compareProducts compares a x b with c x d.
func compareProducts(a, b, c, d uint64) int {
	high, low := bits.Mul64(a, b)
	otherHigh, otherLow := bits.Mul64(c, d)
	return cmp.Or(cmp.Compare(high, otherHigh), cmp.Compare(low, otherLow))
}
