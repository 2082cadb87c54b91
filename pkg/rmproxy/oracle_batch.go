package rmproxy

import (
	"sync"
	"sync/atomic"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"go.uber.org/zap"

	"github.com/canopy-scheduler/canopy/pkg/objects"
)

// fitsEach reports which of the nodes the shim accepts for the ask (NOD-40): in one call if its callback is a
// canopy.NodePredicates, in several at the same time if it is a canopy.ConcurrentPredicates, else one after the other.
// The core waits for it, and nothing is delivered meanwhile, so all answers are about the same state.
func (o oracle) fitsEach(ask objects.AllocationKey, nodes []objects.NodeID) (fits []bool) {
	s := o.p.current()
	if s == nil || s.shim == nil {
		return make([]bool, len(nodes))
	}
	if batch, ok := s.shim.callback.(interface {
		PredicatesOnNodes(key string, nodes []string) []error
	}); ok {
		return s.fitsInOneCall(batch.PredicatesOnNodes, o.partition, ask, nodes)
	}
	if concurrent, ok := s.shim.callback.(interface{ PredicatesAtOnce() int }); ok {
		if n := min(concurrent.PredicatesAtOnce(), len(nodes)); n > 1 {
			return s.fitsAtOnce(n, o.partition, ask, nodes)
		}
	}
	for _, node := range nodes {
		accepted := s.fits(o.partition, ask, node)
		fits = append(fits, accepted)
		if accepted {
			break // nothing is gained by further calls
		}
	}
	return fits
}

// fits reports whether the shim accepts the node for the ask.
func (s *session) fits(partition string, ask objects.AllocationKey, node objects.NodeID) bool {
	err := s.shim.callback.Predicates(&si.PredicatesArgs{AllocationKey: string(ask), NodeID: string(node), Allocate: true})
	return s.accepted(partition, ask, err)
}

func (s *session) fitsInOneCall(predicates func(string, []string) []error, partition string, ask objects.AllocationKey,
	nodes []objects.NodeID) []bool {
	ids, fits := make([]string, len(nodes)), make([]bool, len(nodes))
	for i, node := range nodes {
		ids[i] = string(node)
	}
	answers := predicates(string(ask), ids)
	if len(answers) != len(nodes) {
		s.log.Error("the shim answered predicates about another number of nodes: all are refused",
			zap.Int("nodes", len(nodes)), zap.Int("answers", len(answers)))
		return fits
	}
	for i, err := range answers {
		fits[i] = s.accepted(partition, ask, err)
	}
	return fits
}

// fitsAtOnce makes n calls at the same time.
func (s *session) fitsAtOnce(n int, partition string, ask objects.AllocationKey, nodes []objects.NodeID) []bool {
	fits := make([]bool, len(nodes))
	var next atomic.Int64
	var calls sync.WaitGroup
	for range n {
		calls.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(nodes)); i = next.Add(1) - 1 {
				fits[i] = s.fits(partition, ask, nodes[i])
			}
		})
	}
	calls.Wait()
	return fits
}
