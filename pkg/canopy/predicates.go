package canopy

import (
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/webservice/dao"
)

// NodePredicates is an optional part of the callback of a resource manager: after a refusal it is asked about the next
// nodes in one call, instead of one after the other (NOD-40).
type NodePredicates interface {
	// PredicatesOnNodes answers about an ask, for each of the nodes, what Predicates would: nil accepts the node. It must
	// have as many answers as there are nodes.
	PredicatesOnNodes(allocationKey string, nodeIDs []string) []error
}

// ConcurrentPredicates is an optional part of the callback of a resource manager whose Predicates may be called several
// times at once (NOD-40). It does not matter to a callback that is NodePredicates.
type ConcurrentPredicates interface {
	// PredicatesAtOnce returns the number of calls that may run at the same time; one or less: a call ends before the next
	// begins.
	PredicatesAtOnce() int
}

// PredicateClassTag is the tag of an ask with its predicate class: asks of the same class and the same resources have
// the same answers of Predicates about a node until something about the node changes, so that they are remembered
// (NOD-41).
const PredicateClassTag = scheduler.PredicateClassTag

// refusals are the reasons for which the resource manager has refused nodes for a pending ask (NOD-42).
func (s *Server) refusals(partition string, ask objects.AllocationKey) (out []dao.AskLog) {
	for _, r := range s.proxy.Refusals(partition, ask) {
		out = append(out, dao.AskLog{Message: r.Text, LastOccurrence: dao.Nanos(r.Last), Count: r.Count})
	}
	return out
}
