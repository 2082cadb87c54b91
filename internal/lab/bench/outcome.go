package bench

import (
	"cmp"
	"math"
	"slices"

	"github.com/canopy-scheduler/canopy/internal/lab/bench/report"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// enterOutcome puts the quality of the decisions into a sample: utilisation, and the distance of leaves
// from their fair share.
func (s *stream) enterOutcome(p placements, to report.Sample) {
	var used, capacity resources.Amounts
	for _, n := range s.nodes {
		capacity = capacity.Add(n.Capacity)
	}
	perLeaf := map[objects.QueuePath]resources.Amounts{}
	for _, x := range p {
		used = used.Add(x.Amounts)
		leaf := s.appOf(numberOf(x.Key)).Queue
		perLeaf[leaf] = perLeaf[leaf].Add(x.Amounts)
	}
	scarce, utilisation := "", 0.0
	for name, n := range capacity.All() {
		if u := float64(used.Get(name)) / float64(n); u > utilisation {
			scarce, utilisation = name, u
		}
	}
	to["allocations"] = float64(len(p))
	to["utilisation"] = utilisation
	// Where all asks fit, all are placed. Where priorities or quotas decide, there is no fair share.
	if s.spec.Saturation > 1 && s.spec.Priorities == 1 && s.spec.Bound == 0 && scarce != "" {
		to["fairShareError"] = s.fairShareError(perLeaf, used, scarce)
	}
}

// fairShareError returns the largest distance of a leaf from its fair share, relative to that share. The
// fair share is max-min fair: at each level queues get equal amounts, but not more than is requested
// below them.
func (s *stream) fairShareError(got map[objects.QueuePath]resources.Amounts, used resources.Amounts,
	of string) float64 {
	demand := make([]float64, len(s.leaves))
	index := make(map[objects.QueuePath]int, len(s.leaves))
	for i, leaf := range s.leaves {
		index[leaf] = i
	}
	for i := range s.spec.Asks {
		demand[index[s.appOf(i).Queue]] += float64(s.amounts(i).Get(of))
	}
	fair := fairShares(float64(used.Get(of)), demand, s.spec.Fanout)
	worst := 0.0
	for i, leaf := range s.leaves {
		if fair[i] > 0 {
			worst = max(worst, math.Abs(float64(got[leaf].Get(of))-fair[i])/fair[i])
		}
	}
	return worst
}

// fairShares distributes an amount to the leaves of a tree with a constant fanout. demand is what the
// leaves request, in tree order.
func fairShares(amount float64, demand []float64, fanout int) []float64 {
	if len(demand) == 1 {
		return []float64{min(amount, demand[0])}
	}
	below := len(demand) / fanout
	wants := make([]float64, fanout)
	for i := range wants {
		for _, d := range demand[i*below : (i+1)*below] {
			wants[i] += d
		}
	}
	var fair []float64
	for i, has := range maxMinFair(amount, wants) {
		fair = append(fair, fairShares(has, demand[i*below:(i+1)*below], fanout)...)
	}
	return fair
}

// maxMinFair returns the max-min fair distribution of an amount.
func maxMinFair(amount float64, wants []float64) []float64 {
	order := make([]int, len(wants))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(wants[a], wants[b]) })
	has := make([]float64, len(wants))
	for done, i := range order {
		has[i] = min(wants[i], amount/float64(len(wants)-done))
		amount -= has[i]
	}
	return has
}
