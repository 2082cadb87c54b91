package fairness

import (
	"math/bits"

	"github.com/canopy-scheduler/canopy/pkg/decay"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/policies"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// whole is the cost of all that the cluster has.
const whole = 1 << 32

// prices says what an amount costs: its part of the cluster, over all resources by weight, or the dominant share.
type prices struct {
	capacity resources.Vector
	weights  []uint64 // in thousandths, by resource; a missing one is 0. nil: the dominant share counts
	sum      uint64   // of all weights, also of resources without an index
}

// pricesOf returns the prices in a partition as it is (FAI-2).
func pricesOf(p *objects.Partition) prices {
	x := prices{capacity: append(resources.Vector(nil), p.Capacity()...)}
	for _, w := range p.Config().FairnessWeights {
		n := thousandths(w)
		x.sum += n
		if k, known := objects.ResourceIndex(p, w.Resource); known {
			for int(k) >= len(x.weights) {
				x.weights = append(x.weights, 0)
			}
			x.weights[k] = n
		}
	}
	return x
}

// thousandths returns a weight, which is from 0.001 to 1000. The conversion keeps compilers from fusing the operations.
func thousandths(w policies.Weight) uint64 { return uint64(float64(w.Weight*1000) + 0.5) }

// of returns the cost of v. What no node has costs nothing.
func (x *prices) of(v resources.Vector) (cost uint64) {
	for k, n := range v {
		all := x.capacity.At(resources.Index(k))
		if n <= 0 || all <= 0 {
			continue
		}
		part := uint64(decay.MaxHeld)
		if hi, lo := bits.Mul64(uint64(n), whole); hi < uint64(all) {
			quotient, _ := bits.Div64(hi, lo, uint64(all))
			part = min(part, quotient)
		}
		switch {
		case x.sum == 0:
			cost = max(cost, part)
		case k < len(x.weights):
			cost += part * x.weights[k] / x.sum
		}
	}
	return min(cost, decay.MaxHeld)
}
