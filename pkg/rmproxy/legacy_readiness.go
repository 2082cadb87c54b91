package rmproxy

import (
	"strconv"
	"sync"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/common"
	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// readyAttribute is the attribute of a node that says, in the interface 1.0 to 1.5, whether the node is ready: one
// that is not gets no allocation. 1.9 has only draining (RMI-75).
const readyAttribute = "ready"

// nodeReadiness keeps why nodes are not schedulable, because a node that is ready again may still be draining, and
// the core has one flag for both. It has the nodes that are not schedulable only.
type nodeReadiness struct {
	mu    sync.Mutex // a stream that is replaced may still be handling a message
	nodes map[string]unschedulable
}

// unschedulable says why a node is not schedulable.
type unschedulable struct{ draining, unready bool }

// update notes what a message says about a node, and returns whether the node is schedulable. changed is false if
// the action alone has the right effect.
func (r *nodeReadiness) update(n *si.NodeInfo) (schedulable, changed bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	was := r.nodes[n.NodeID]
	now := was
	switch n.Action {
	case si.NodeInfo_CREATE:
		now = unschedulable{unready: isUnready(n)}
	case si.NodeInfo_CREATE_DRAIN:
		now = unschedulable{draining: true, unready: isUnready(n)}
	case si.NodeInfo_UPDATE:
		now.unready = isUnready(n)
	case si.NodeInfo_DRAIN_NODE:
		now.draining = true
	case si.NodeInfo_DRAIN_TO_SCHEDULABLE:
		now.draining = false
	case si.NodeInfo_DECOMISSION:
		now = unschedulable{}
	}
	if now == (unschedulable{}) {
		delete(r.nodes, n.NodeID)
	} else {
		if r.nodes == nil {
			r.nodes = map[string]unschedulable{}
		}
		r.nodes[n.NodeID] = now
	}
	switch n.Action {
	case si.NodeInfo_CREATE, si.NodeInfo_DRAIN_TO_SCHEDULABLE: // which make it schedulable
		return false, now.unready
	case si.NodeInfo_UPDATE:
		return now == unschedulable{}, now.unready != was.unready && !now.draining
	}
	return false, false
}

// isUnready reports whether a message says that a node is not ready; a missing or another text says that it is.
func isUnready(n *si.NodeInfo) bool {
	ready, err := strconv.ParseBool(n.Attributes[readyAttribute])
	return err == nil && !ready
}

// readiness adds the command for a node that is not ready, or is ready again.
func (b *commandBatch) readiness(n *si.NodeInfo) {
	batch := b.forPartition(n.Attributes[common.NodePartition])
	if batch == nil || checkID("node ID", n.NodeID) != nil {
		return // the node was rejected
	}
	if schedulable, changed := b.s.legacy.readiness.update(n); changed {
		batch.add(scheduler.SetSchedulable{Node: objects.NodeID(n.NodeID), Schedulable: schedulable})
	}
}
