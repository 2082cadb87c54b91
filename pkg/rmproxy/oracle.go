package rmproxy

import (
	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"

	"github.com/canopy-scheduler/canopy/pkg/objects"
)

// oracle evaluates predicates by calls to the registered shim (NOD-29, NOD-34).
type oracle struct {
	p         *Proxy
	partition string
}

func (p *Proxy) oracleOf(partition string) *objects.Oracle {
	o := oracle{p, partition}
	return &objects.Oracle{Fits: o.fits, FitsEach: o.fitsEach, FitsWithout: o.fitsWithout, FitsWhenFree: o.fitsWhenFree}
}

// fits reports whether the shim accepts the node for the ask. Without a shim every node is
// refused.
func (o oracle) fits(ask objects.AllocationKey, node objects.NodeID) bool {
	s := o.p.current()
	return s != nil && s.shim != nil && s.fits(o.partition, ask, node)
}

// fitsWhenFree reports whether the shim would accept the node for the ask if it had the free resources (RES-4).
func (o oracle) fitsWhenFree(ask objects.AllocationKey, node objects.NodeID) bool {
	s := o.p.current()
	return s != nil && s.shim != nil &&
		s.shim.callback.Predicates(&si.PredicatesArgs{AllocationKey: string(ask), NodeID: string(node)}) == nil
}

// fitsWithout reports whether the ask could run on the node if the victims were gone.
func (o oracle) fitsWithout(ask objects.AllocationKey, node objects.NodeID, victims []objects.AllocationKey) bool {
	s := o.p.current()
	if s == nil || s.shim == nil {
		return false
	}
	if len(victims) == 0 {
		return o.fits(ask, node)
	}
	keys := make([]string, len(victims))
	for i, key := range victims {
		keys[i] = string(key)
	}
	answer := s.shim.callback.PreemptionPredicates(&si.PreemptionPredicatesArgs{
		AllocationKey: string(ask), NodeID: string(node), PreemptAllocationKeys: keys, StartIndex: int32(len(keys) - 1),
	})
	return answer.GetSuccess()
}
