package twin

import (
	"math"
	"math/big"
	"slices"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/policies"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// Fair shares (PRE-126 to PRE-131). Levels are found in exact fractions, by trying each level at which a side begins or
// ceases to get more.

// fairSide is a child, or an application or a user of a leaf, directly below a queue that shares fairly.
type fairSide struct {
	weight int64             // millionths
	held   resources.Amounts // without expected releases, and with nominated asks
	shares []fairShare       // of all resources of the cluster
}

// fairShare is the share of a side of one resource.
type fairShare struct {
	resource  string
	share     float64
	contested bool // some side cannot have all that it can use
}

// claim has the bounds of a share of a resource: the guarantee of the side, and what it can use.
type claim struct{ weight, least, most int64 }

// fairShares divides a total by water-filling (PRE-127). The whole part of a share and its rest are rounded once each.
func fairShares(total int64, claims []claim) (shares []float64, contested bool) {
	level, contested := fairLevel(total, claims)
	for _, x := range claims {
		share := float64(x.most)
		if contested {
			exact := new(big.Rat).Mul(level, new(big.Rat).SetInt64(x.weight))
			whole, left := new(big.Int).QuoRem(exact.Num(), exact.Denom(), new(big.Int))
			part, _ := new(big.Rat).SetFrac(left, exact.Denom()).Float64()
			share, _ = new(big.Float).SetInt(whole).Float64()
			share += part
		}
		shares = append(shares, min(max(share, float64(x.least)), float64(x.most)))
	}
	return shares, contested
}

// fairLevel returns the least level at which the shares add up to a total, or to more if the guarantees do. contested:
// the sides can use more than that.
func fairLevel(total int64, claims []claim) (level *big.Rat, contested bool) {
	want := new(big.Rat).SetInt64(total)
	sumAt := func(level *big.Rat) *big.Rat {
		sum := new(big.Rat)
		for _, x := range claims {
			share := new(big.Rat).Mul(level, new(big.Rat).SetInt64(x.weight))
			if least := new(big.Rat).SetInt64(x.least); share.Cmp(least) < 0 {
				share = least
			}
			if most := new(big.Rat).SetInt64(x.most); share.Cmp(most) > 0 {
				share = most
			}
			sum.Add(sum, share)
		}
		return sum
	}
	levels := []*big.Rat{new(big.Rat)}
	for _, x := range claims {
		levels = append(levels, big.NewRat(x.least, x.weight), big.NewRat(x.most, x.weight))
	}
	slices.SortFunc(levels, (*big.Rat).Cmp)
	if sumAt(levels[len(levels)-1]).Cmp(want) <= 0 {
		return nil, false
	}
	i := slices.IndexFunc(levels, func(l *big.Rat) bool { return sumAt(l).Cmp(want) >= 0 })
	if i == 0 { // the guarantees are all, or more
		return new(big.Rat), true
	}
	below, above := levels[i-1], levels[i] // in between the sum rises evenly
	part := new(big.Rat).Sub(want, sumAt(below))
	part.Quo(part, new(big.Rat).Sub(sumAt(above), sumAt(below)))
	part.Mul(part, new(big.Rat).Sub(above, below))
	return part.Add(part, below), true
}

// excess returns how far a side is above its fair share if it holds something (PRE-129).
func (s *fairSide) excess(capacity, held resources.Amounts) float64 {
	most := math.Inf(-1)
	for _, x := range s.shares {
		if x.contested {
			all := float64(s.weight) * float64(capacity.Get(x.resource))
			most = max(most, (float64(held.Get(x.resource))-x.share)/all)
		}
	}
	return most
}

// sideName returns the side of q that has an application.
func sideName(q *queue, a *app) string {
	switch {
	case q.conf.Parent:
		return a.leaf.Parts()[len(q.path.Parts())]
	case q.conf.Fairness.By == policies.FairByUser:
		return a.user.Name
	}
	return string(a.id)
}

// fairSides returns the sides of q by name.
func (t *Twin) fairSides(c *totals, q *queue) map[string]*fairSide {
	if known := c.sides[q.path]; known != nil {
		return known
	}
	sides := map[string]*fairSide{}
	most, least := map[string]resources.Amounts{}, map[string]resources.Guarantee{}
	for _, child := range q.children {
		name := child.path.Parts()[len(q.path.Parts())]
		sides[name] = &fairSide{weight: t.fairWeight(c, child)}
		most[name], least[name] = t.demandWithinMax(c, child), child.guaranteed()
	}
	for _, a := range t.apps {
		if !q.contains(a.leaf) {
			continue
		}
		name := sideName(q, a)
		if !q.conf.Parent {
			if sides[name] == nil {
				sides[name] = &fairSide{weight: 1_000_000}
			}
			most[name] = most[name].Add(t.demandOf(c, a))
		}
		sides[name].held = sides[name].held.Add(t.heldBy(a))
	}
	total := t.fairTotal(c, q)
	for resource, n := range c.capacity.All() {
		if n <= 0 {
			continue
		}
		var of []*fairSide
		var claims []claim
		for name, s := range sides {
			guaranteed, _ := least[name].Get(resource)
			x := claim{weight: s.weight, most: int64(most[name].Get(resource))}
			x.least = min(int64(guaranteed), x.most)
			of, claims = append(of, s), append(claims, x)
		}
		shares, contested := fairShares(int64(total.Get(resource)), claims)
		for i, share := range shares {
			of[i].shares = append(of[i].shares, fairShare{resource, share, contested})
		}
	}
	c.sides[q.path] = sides
	return sides
}

// fairWeight returns the weight of a queue in millionths (FAI-5), by the capacity and the weights of now.
func (t *Twin) fairWeight(c *totals, q *queue) int64 {
	if w, ok := q.conf.Fairness.Weight.Thousandths(); ok {
		return int64(w) * 1000
	}
	guaranteed := resources.FromMap(q.guaranteed().Map())
	return int64(max(costOf(guaranteed, c.capacity, t.configuredWeights), 1<<32/1000) * 1_000_000 >> 32)
}

// fairTotal returns what the sides of q share (PRE-127).
func (t *Twin) fairTotal(c *totals, q *queue) resources.Amounts {
	if q == t.root {
		return c.capacity
	}
	path := t.pathQueues(q.path)
	total := map[string]resources.Quantity{}
	for name, all := range c.capacity.All() {
		left := all - t.projectedUsage(c, t.root, nil).Get(name)
		for _, above := range path[1:] {
			if most, ok := above.max().Get(name); ok {
				left = min(left, most-t.projectedUsage(c, above, nil).Get(name))
			}
		}
		total[name] = t.projectedUsage(c, q, nil).Get(name) + max(0, left)
	}
	parent := path[len(path)-2]
	if !parent.conf.FairShare {
		return resources.FromMap(total)
	}
	for _, x := range t.fairSides(c, parent)[q.path.Parts()[len(path)-1]].shares {
		share := resources.Quantity(math.MaxInt64)
		if x.share < 1<<63 {
			share = resources.Quantity(x.share)
		}
		total[x.resource] = max(total[x.resource], share)
	}
	return resources.FromMap(total)
}

// heldBy returns what an application holds (PRE-129).
func (t *Twin) heldBy(a *app) (held resources.Amounts) {
	for _, w := range t.allocationsOf(a.id) {
		if w.node != "" && (!w.preempting || w.overdue) || slices.Contains(t.nominees, w) {
			held = held.Add(w.ask.Amounts)
		}
	}
	return held
}

// demandOf returns what an application can use (PRE-128).
func (t *Twin) demandOf(c *totals, a *app) (demand resources.Amounts) {
	for _, w := range t.allocationsOf(a.id) {
		if w.node != "" || t.placeable(c, w) {
			demand = demand.Add(w.ask.Amounts)
		}
	}
	return demand
}

// demandWithinMax returns what a queue can use (PRE-128).
func (t *Twin) demandWithinMax(c *totals, q *queue) resources.Amounts {
	var sum resources.Amounts
	for _, child := range q.children {
		sum = sum.Add(t.demandWithinMax(c, child))
	}
	for _, a := range t.apps {
		if a.leaf == q.path {
			sum = sum.Add(t.demandOf(c, a))
		}
	}
	demand := sum.Map()
	for name, n := range demand {
		if most, ok := q.max().Get(name); ok {
			demand[name] = min(n, most)
		}
	}
	return resources.FromMap(demand)
}

// placeable reports whether a pending ask could ever be placed (PRE-128).
func (t *Twin) placeable(c *totals, w *allocation) bool {
	a := t.app(w.ask.App)
	if t.heldBack(w) || t.switchedOff(a) {
		return false
	}
	for _, b := range c.apps[a.id].limits {
		if !b.MaxResources.Allows(w.ask.Amounts) {
			return false
		}
	}
	for _, q := range t.pathQueues(a.leaf)[1:] {
		for name, most := range q.max().All() {
			_, percent := q.conf.Max.Percent(name)
			if w.ask.Amounts.Get(name) > most && !percent {
				return false
			}
		}
	}
	for name, n := range w.ask.Amounts.All() {
		if n > 0 && find(t.nodes, func(x *node) bool { return x.total.Get(name) >= n }) == nil {
			return false
		}
	}
	return true
}

// fairSideOf returns the side of q that has an ask, and what it holds beside the ask.
func (t *Twin) fairSideOf(c *totals, q *queue, w *allocation) (side *fairSide, held resources.Amounts) {
	side = t.fairSides(c, q)[sideName(q, t.app(w.ask.App))]
	held = side.held
	if w.nominated != "" {
		held = held.Sub(w.ask.Amounts)
	}
	return side, held
}

// belowFairShare returns the queues at which w is entitled to a fair share (PRE-126).
func (t *Twin) belowFairShare(c *totals, w *allocation) (entitled []*queue) {
	for _, q := range slices.Backward(t.pathQueues(t.app(w.ask.App).leaf)) {
		if q.conf.FairShare {
			side, held := t.fairSideOf(c, q, w)
			below := slices.ContainsFunc(side.shares, func(x fairShare) bool {
				return x.contested && w.ask.Amounts.Get(x.resource) > 0 && float64(held.Get(x.resource)) < x.share
			})
			if below && side.excess(c.capacity, held) <= 0 {
				entitled = append(entitled, q)
			}
		}
		if q.conf.PreemptionPolicy == policies.PreemptFence {
			break
		}
	}
	return entitled
}

// aboveFairShare reports whether w is entitled at the queue that it has in common with y, and y is of another side,
// which is above its fair share (PRE-126, PRE-130).
func (t *Twin) aboveFairShare(c *totals, w, y *allocation, common *queue) bool {
	if !slices.Contains(t.belowFairShare(c, w), common) ||
		sideName(common, t.app(w.ask.App)) == sideName(common, t.app(y.ask.App)) {
		return false
	}
	side := t.fairSides(c, common)[sideName(common, t.app(y.ask.App))]
	return side.excess(c.capacity, side.held) > 0
}

// fairSharesProtect reports whether the preemption of a unit for w, after other victims, would leave the side of the
// unit behind that of w (PRE-130), or cost a queue that has both its share or its guarantee (PRE-131).
func (t *Twin) fairSharesProtect(c *totals, w *allocation, unit, before []*allocation) bool {
	own, other := t.app(w.ask.App), t.app(unit[0].ask.App)
	victims := slices.Concat(before, unit)
	path := filter(t.pathQueues(own.leaf), func(q *queue) bool { return q.contains(other.leaf) })
	common := path[len(path)-1]
	side, held := t.fairSideOf(c, common, w)
	after := side.excess(c.capacity, held.Add(w.ask.Amounts))
	theirs := t.fairSides(c, common)[sideName(common, other)]
	left := theirs.excess(c.capacity, theirs.held.Sub(t.amountsIn(common, sideName(common, other), victims)))
	if after > left || after == left && after <= side.excess(c.capacity, held) {
		t.protectedBySide++
		return true
	}
	for _, q := range path {
		if q == common || !q.conf.FairShare {
			continue
		}
		side, held := t.fairSideOf(c, q, w)
		after := held.Add(w.ask.Amounts).Sub(t.amountsIn(q, sideName(q, own), victims))
		for _, x := range side.shares {
			n := after.Get(x.resource)
			if x.contested && n < held.Get(x.resource) && float64(n) < x.share {
				t.protectedByShareAbove++
				return true
			}
		}
	}
	for _, q := range path {
		held, after := t.projectedUsage(c, q, nil), t.projectedUsage(c, q, victims).Add(w.ask.Amounts)
		for name, least := range q.guaranteed().All() {
			if n := after.Get(name); n < held.Get(name) && n < least {
				t.protectedByGuaranteeAbove++
				return true
			}
		}
	}
	return false
}

// amountsIn returns what allocations of one side of q hold.
func (t *Twin) amountsIn(q *queue, name string, of []*allocation) (sum resources.Amounts) {
	for _, y := range of {
		if a := t.app(y.ask.App); q.contains(a.leaf) && sideName(q, a) == name {
			sum = sum.Add(y.ask.Amounts)
		}
	}
	return sum
}

// Shares by hand.
func TestFairShares_WaterFilling(t *testing.T) {
	const m = 1_000_000
	for name, x := range map[string]struct {
		total     int64
		claims    []claim
		shares    []float64
		contested bool
	}{
		"equal sides":                   {12, []claim{{m, 0, 20}, {m, 0, 9}}, []float64{6, 6}, true},
		"weights":                       {12, []claim{{m, 0, 20}, {3 * m, 0, 20}}, []float64{3, 9}, true},
		"a part":                        {10, []claim{{m, 0, 20}, {m, 0, 20}, {2 * m, 0, 20}}, []float64{2.5, 2.5, 5}, true},
		"a guarantee above the level":   {12, []claim{{m, 8, 20}, {m, 0, 20}, {m, 1, 20}}, []float64{8, 2, 2}, true},
		"one can use less":              {12, []claim{{m, 0, 2}, {m, 0, 20}, {m, 0, 20}}, []float64{2, 5, 5}, true},
		"all can use less":              {12, []claim{{m, 0, 2}, {3 * m, 1, 3}}, []float64{2, 3}, false},
		"all can use just as much":      {15, []claim{{m * 2 / 5, 0, 7}, {m, 6, 8}}, []float64{7, 8}, false},
		"the guarantees are more":       {6, []claim{{m, 5, 9}, {m, 4, 9}, {m, 0, 9}}, []float64{5, 4, 0}, true},
		"the guarantees are all":        {9, []claim{{m, 5, 9}, {m, 4, 9}, {m, 0, 9}}, []float64{5, 4, 0}, true},
		"a guarantee and one uses less": {9, []claim{{m, 6, 10}, {m, 0, 3}}, []float64{6, 3}, true},
		"a guarantee of the lightest":   {30, []claim{{m, 9, 20}, {2 * m, 3, 20}, {4 * m, 0, 20}}, []float64{9, 7, 14}, true},
		"a whole share":                 {42, []claim{{m * 2 / 5, 0, 20}, {2 * m, 0, 99}}, []float64{7, 35}, true},
		"nothing is there":              {0, []claim{{m, 0, 4}, {m, 0, 4}}, []float64{0, 0}, true},
		"nothing is wanted":             {4, []claim{{m, 0, 0}, {m, 0, 0}}, []float64{0, 0}, false},
		"there are no sides":            {4, nil, nil, false},
		"large numbers": {1 << 62, []claim{{m, 0, math.MaxInt64}, {m, 0, math.MaxInt64}},
			[]float64{1 << 61, 1 << 61}, true},
	} {
		t.Run(name, func(t *testing.T) {
			shares, contested := fairShares(x.total, x.claims)
			assert.DeepEqual(t, shares, x.shares)
			assert.Equal(t, contested, x.contested)
		})
	}
}
