package rmproxy

import (
	"errors"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"

	"github.com/canopy-scheduler/canopy/pkg/objects"
)

// Why a node is no answer although the shim did not refuse it.
var (
	errNobody   = errors.New("no resource manager is registered")
	errNotAsked = errors.New("an earlier node takes it")
)

// oracle asks the predicates of the shim that is registered.
type oracle struct{ p *Proxy }

// Fits asks about one node after the other, until one is accepted: predicates are
// dear, and the shim need not stand being asked from two goroutines. The nodes behind
// that one are not asked about.
func (o oracle) Fits(ask objects.AllocationKey, nodes []objects.NodeID) []error {
	answers := make([]error, len(nodes))
	s, accepted := o.p.current(), false
	for i, n := range nodes {
		switch {
		case s == nil:
			answers[i] = errNobody
		case accepted:
			answers[i] = errNotAsked
		default:
			answers[i] = s.caller.callback.Predicates(&si.PredicatesArgs{
				AllocationKey: string(ask), NodeID: string(n), Allocate: true,
			})
			accepted = answers[i] == nil
		}
	}
	return answers
}
