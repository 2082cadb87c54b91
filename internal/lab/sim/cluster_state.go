package sim

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// clusterState is a cluster as plain lists, to find a feasible ask by trying every node.
type clusterState struct {
	capacity resources.Amounts
	queues   map[objects.QueuePath]queueState
	nodes    []nodeSpace // schedulable ones
}

type queueState struct {
	max            resources.Limit // none for root: its max is the capacity of the cluster
	allocated      resources.Amounts
	startsOneByOne bool // StateAware: an ask may be pending although it fits
}

type nodeSpace struct {
	id   objects.NodeID
	free resources.Amounts
}

// pendingAsk is a pending ask.
type pendingAsk struct {
	key     objects.AllocationKey
	queue   objects.QueuePath // the leaf
	amounts resources.Amounts
}

// findPlaceable returns an error for a pending ask that could be placed, with the node; nil: there is none,
// as it must be in an idle scheduler. Equal asks are tried once.
func (r clusterState) findPlaceable(pending []pendingAsk) error {
	nodes, tried := map[string]*nodeSpace{}, map[string]bool{}
	for _, w := range pending {
		what := w.amounts.String()
		where := what + " " + string(w.queue)
		if tried[where] {
			continue
		}
		tried[where] = true
		n, known := nodes[what]
		if !known {
			n = r.nodeFor(w)
			nodes[what] = n
		}
		if n != nil && r.queuesAllow(w, resources.Amounts{}) {
			return fmt.Errorf("ask %s of queue %s is pending, and node %s has space for it: %v of %v",
				w.key, w.queue, n.id, w.amounts, n.free)
		}
	}
	return nil
}

// nodeFor returns the first node on which an ask fits; nil: none.
func (r clusterState) nodeFor(w pendingAsk) *nodeSpace {
	for i, n := range r.nodes {
		if n.free.Covers(w.amounts) {
			return &r.nodes[i]
		}
	}
	return nil
}

// queuesAllow reports whether an ask is within the max of its leaf and of all queues above, after
// preemptable was released from the leaf.
func (r clusterState) queuesAllow(w pendingAsk, preemptable resources.Amounts) bool {
	for path := w.queue; ; path = parentPath(path) {
		q := r.queues[path]
		if q.startsOneByOne {
			return false
		}
		if path == objects.RootPath {
			return r.capacity.Sub(q.allocated).Add(preemptable).Covers(w.amounts)
		}
		if !q.max.Headroom(q.allocated.Sub(preemptable)).Allows(w.amounts) {
			return false
		}
	}
}

// findOverMax returns an error for a queue above its max.
func (r clusterState) findOverMax() error {
	for _, path := range sortedKeys(r.queues) {
		q := r.queues[path]
		switch {
		case path == objects.RootPath && !r.capacity.Covers(q.allocated):
			return fmt.Errorf("the cluster has %v, and %v is allocated", r.capacity, q.allocated)
		case path != objects.RootPath && !q.max.Allows(q.allocated):
			return fmt.Errorf("queue %s may hold %v, and %v is allocated", path, q.max, q.allocated)
		}
	}
	return nil
}

// parentPath returns the path of the queue above.
func parentPath(path objects.QueuePath) objects.QueuePath {
	for i := len(path) - 1; i > 0; i-- {
		if path[i] == '.' {
			return path[:i]
		}
	}
	return objects.RootPath
}

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K {
	keys := make([]K, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
