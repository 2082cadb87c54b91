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

// prices says what an amount costs: its part of the cluster, over all resources by weight, or the dominant share. The
// capacity and the weights are kept by name, because the index of a resource may be given to another one.
type prices struct {
	amounts    resources.Amounts // the capacity
	configured []policies.Weight

	capacity resources.Vector // amounts, by index
	weights  resources.Vector // in thousandths; a missing one is 0
	sum      uint64           // of all weights, also of resources without an index; 0: the dominant share counts
}

// pricesOf returns the prices in a partition as it is (FAI-2).
func pricesOf(p *objects.Partition) prices {
	x := prices{amounts: p.Amounts(p.Capacity()), configured: p.Config().FairnessWeights}
	x.index(p)
	return x
}

// index finds the indexes that resources have now.
func (x *prices) index(p *objects.Partition) {
	x.capacity, x.weights, x.sum = make(resources.Vector, p.ResourceCount()), make(resources.Vector, p.ResourceCount()), 0
	for name, n := range x.amounts.All() {
		if k, known := objects.ResourceIndex(p, name); known {
			x.capacity[k] = n
		}
	}
	for _, w := range x.configured {
		n := thousandths(w)
		x.sum += n
		if k, known := objects.ResourceIndex(p, w.Resource); known && x.capacity[k] > 0 {
			x.weights[k] = resources.Quantity(n)
		}
	}
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
		default:
			cost += part * uint64(x.weights.At(resources.Index(k))) / x.sum
		}
	}
	return min(cost, decay.MaxHeld)
}

// Weights are the weights of the queues of a partition as it is (FAI-5).
type Weights struct {
	prices prices
	buffer resources.Vector
}

// WeightsOf returns the weights in p. They are valid until nodes or weights of resources change.
func WeightsOf(p *objects.Partition) Weights { return Weights{prices: pricesOf(p)} }

// Millionths returns the weight of q, relative to the default: at least 999.
func (w *Weights) Millionths(q *objects.Queue) uint64 {
	if thousandths, ok := q.Fairness().Weight.Thousandths(); ok {
		return thousandths * 1000
	}
	return w.prices.guaranteed(q, &w.buffer) * 1_000_000 / whole
}

// guaranteed returns the cost of what q is guaranteed, and at least a thousandth of the cluster (FAI-5). buffer is the
// memory that it uses.
func (x *prices) guaranteed(q *objects.Queue, buffer *resources.Vector) uint64 {
	*buffer = (*buffer)[:0]
	for k := range x.capacity {
		n, _ := q.Quota().Guaranteed().At(resources.Index(k))
		*buffer = append(*buffer, n)
	}
	return max(x.of(*buffer), whole/1000)
}
