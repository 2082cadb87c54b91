package rmproxy

import (
	"errors"
	"fmt"
	"maps"

	"go.uber.org/zap"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/common"
	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"

	"github.com/canopy-scheduler/canopy/internal/server/wire"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// handleNodes turns a node message into commands (RMI-49). legacy is what the interface 1.0 to 1.5 says about the
// nodes besides, by index; nil: nothing.
func (s *session) handleNodes(m *si.NodeRequest, legacy []wire.LegacyNode) error {
	batch := s.newBatch(nodeElements(m, legacy))
	defer batch.discard()
	for i, n := range m.GetNodes() {
		batch.step()
		if n == nil {
			s.ignore(ignoredEmpty, zap.String("message", "a node message holds an entry without a node"))
			continue
		}
		if err := batch.node(n); err != nil {
			batch.rejectNode(n, err)
		}
		if legacy != nil {
			batch.legacyNode(n, &legacy[i])
		}
		if s.legacy.used.Load() {
			batch.readiness(n)
		}
	}
	return batch.send()
}

// node adds the command for an action on a node (ASK-45, RMI-54, NOD-1, NOD-3, NOD-15).
func (b *commandBatch) node(n *si.NodeInfo) error {
	if err := checkID("node ID", n.NodeID); err != nil {
		return err
	}
	partition := n.Attributes[common.NodePartition]
	batch := b.forPartition(partition)
	if batch == nil {
		return unknownPartitionForNode(objects.NodeID(n.NodeID), b.s.unknownPartition(partition))
	}
	id := objects.NodeID(n.NodeID)
	switch n.Action {
	case si.NodeInfo_CREATE, si.NodeInfo_CREATE_DRAIN:
		total, err := amountsFromProto(n.SchedulableResource)
		if err != nil {
			return err
		}
		batch.add(scheduler.AddNode{
			Node: id, Total: total, Attributes: b.s.nodeAttributes(n.Attributes, partition),
			Schedulable: n.Action == si.NodeInfo_CREATE,
		})
	case si.NodeInfo_UPDATE:
		total, err := amountsFromProto(n.SchedulableResource)
		if err != nil {
			return err
		}
		legacy := b.s.legacy.used.Load()
		if !legacy && hasAttributes(n.Attributes) {
			batch.add(scheduler.SetAttributes{Node: id, Attributes: b.s.nodeAttributes(n.Attributes, partition)})
		}
		if n.SchedulableResource == nil && legacy {
			return nil // 1.0 to 1.5 may update the other fields only, and send no attribute but whether the node is ready
		}
		batch.add(scheduler.SetCapacity{Node: id, Total: total})
	case si.NodeInfo_DRAIN_NODE:
		batch.add(scheduler.SetSchedulable{Node: id, Schedulable: false})
	case si.NodeInfo_DRAIN_TO_SCHEDULABLE:
		batch.add(scheduler.SetSchedulable{Node: id, Schedulable: true})
	case si.NodeInfo_DECOMISSION:
		batch.add(scheduler.RemoveNode{Node: id})
	default:
		return fmt.Errorf("unknown action %d for node %s: the actions are CREATE, CREATE_DRAIN, UPDATE, DRAIN_NODE, "+
			"DRAIN_TO_SCHEDULABLE and DECOMISSION", n.Action, n.NodeID)
	}
	return nil
}

// hasAttributes reports whether an UPDATE says what the attributes of the node are. The partition says where it is. A
// shim of the interface 1.0 to 1.5 sends whether the node is ready, and may send it before the first field that tells
// its interface (RMI-75).
func hasAttributes(sent map[string]string) bool {
	for name := range sent {
		if name != common.NodePartition && name != readyAttribute {
			return true
		}
	}
	return false
}

// rejectNode rejects a node that cannot be a registered one or has no known action. A malformed update of a
// node that may be registered is logged only: an RM reads a rejection as that of a registration (RMI-54,
// NOD-8, NOD-39).
func (b *commandBatch) rejectNode(n *si.NodeInfo, err error) {
	unknown := checkID("node ID", n.NodeID) != nil || errors.As(err, new(unknownPartitionError))
	if n.Action == si.NodeInfo_UPDATE && !unknown {
		b.s.logRefused(n.Action.String()+" of node", n.NodeID, err)
		return
	}
	b.reject(scheduler.NodeRejected{Node: objects.NodeID(sanitizedID(n.NodeID)), Reason: err.Error()})
}

// nodeAttributes returns a copy of the attributes with the full name of the partition, as YuniKorn
// shows it, whichever form of the name the RM used (RMI-4, NOD-7).
func (s *session) nodeAttributes(sent map[string]string, partition string) map[string]string {
	own := make(map[string]string, len(sent)+1)
	maps.Copy(own, sent)
	own[common.NodePartition] = s.partitionName(s.bareName(partition))
	return own
}
