package rmproxy

import (
	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"

	"github.com/canopy-scheduler/canopy/pkg/objects"
)

// oracle asks the predicates of the shim that is registered.
type oracle struct{ p *Proxy }

// Fits asks about one node. Without a shim no node is an answer.
func (o oracle) Fits(ask objects.AllocationKey, node objects.NodeID) bool {
	s := o.p.current()
	return s != nil && s.caller.callback.Predicates(&si.PredicatesArgs{
		AllocationKey: string(ask), NodeID: string(node), Allocate: true,
	}) == nil
}
