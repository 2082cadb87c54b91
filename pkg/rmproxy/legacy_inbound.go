package rmproxy

import (
	"errors"
	"fmt"
	"maps"
	"strconv"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/common"
	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"

	"github.com/canopy-scheduler/canopy/internal/server/wire"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// legacyAsk adds the command for an ask of the interface 1.0 to 1.5 (RMI-73). There an ask could be for several
// allocations under one key; a key is one allocation here, as in 1.9.
func (b *commandBatch) legacyAsk(x *wire.Allocation) error {
	if n := x.Legacy.MaxAllocations; n != 1 {
		return fmt.Errorf("maxAllocations of ask %s is %d: an ask is for 1 allocation", truncate(x.Key), n)
	}
	return b.allocation(x)
}

// checkLegacy checks the fields of an allocation that the interface 1.0 to 1.5 has besides, and turns them into
// those of 1.9 (RMI-74).
func checkLegacy(x *wire.Allocation) error {
	if uuid := legacyUUID(x.Legacy); uuid != "" && uuid != x.Key {
		return fmt.Errorf("the UUID of allocation %s is %q: the UUID of an allocation is its key", truncate(x.Key),
			truncate(uuid))
	}
	if class := x.Legacy.PriorityClass; class != "" && x.Tags[priorityClassTag] == "" {
		x.Tags = withTag(x.Tags, priorityClassTag, class)
	}
	return nil
}

// withTag returns the tags with one more. It does not change tags.
func withTag(tags map[string]string, name, value string) map[string]string {
	out := make(map[string]string, len(tags)+1)
	maps.Copy(out, tags)
	out[name] = value
	return out
}

var errOtherUUID = errors.New("the release has the UUID of another allocation than its key")

// legacyRelease turns a release of an allocation by its UUID into one by its key (RMI-74).
func legacyRelease(x *wire.Release) error {
	switch {
	case x.UUID == "" || x.UUID == x.Key:
		return nil
	case x.Key != "":
		return fmt.Errorf("%w: %q", errOtherUUID, truncate(x.UUID))
	}
	x.Key = x.UUID
	return nil
}

// releaseScope returns what a release of an allocation is about: in the interface 1.0 to 1.5, asks have a release of
// their own.
func (s *session) releaseScope() scheduler.ReleaseScope {
	if s.legacy.used.Load() {
		return scheduler.OnlyAllocations
	}
	return scheduler.AsksAndAllocations
}

// nodeElements returns how many nodes and allocations a message has.
func nodeElements(m *si.NodeRequest, legacy []wire.LegacyNode) int {
	n := len(m.GetNodes())
	for i := range legacy {
		n += len(legacy[i].Existing)
	}
	return n
}

// legacyNode adds the commands for what the interface 1.0 to 1.5 says about a node besides: what others use of it,
// and in its registration the allocations that run on it (RMI-75).
func (b *commandBatch) legacyNode(n *si.NodeInfo, legacy *wire.LegacyNode) {
	partition := n.Attributes[common.NodePartition]
	switch n.Action {
	case si.NodeInfo_CREATE, si.NodeInfo_CREATE_DRAIN:
		for i := range legacy.Existing {
			b.step()
			b.existingAllocation(n.NodeID, partition, &legacy.Existing[i])
		}
	case si.NodeInfo_UPDATE:
		b.refuseExisting(n, legacy)
	default:
		b.refuseExisting(n, legacy)
		return
	}
	if legacy.HasOccupied {
		b.occupied(n, partition, legacy)
	}
}

// refuseExisting logs allocations that come with another message about a node than its registration.
func (b *commandBatch) refuseExisting(n *si.NodeInfo, legacy *wire.LegacyNode) {
	if len(legacy.Existing) > 0 {
		b.s.logRefused("existing allocations of node", n.NodeID, errOnlyRegistered)
	}
}

var errOnlyRegistered = errors.New("a node brings its allocations when it is registered")

// existingAllocation reports an allocation that came with its node.
func (b *commandBatch) existingAllocation(node, partition string, x *wire.Allocation) {
	if x.Node == "" {
		x.Node = node
	}
	if x.Partition == "" {
		x.Partition = partition
	}
	x.Tags = withTag(x.Tags, existingTag, strconv.FormatBool(true))
	if err := b.allocation(x); err != nil {
		b.rejectAllocation(x, err)
	}
}

// occupiedKey is the key of the foreign allocation that stands for the occupied resource of a node.
func occupiedKey(node string) objects.AllocationKey { return objects.AllocationKey("occupied@" + node) }

// occupied reports what others use of a node as one foreign allocation, which the next report replaces.
func (b *commandBatch) occupied(n *si.NodeInfo, partition string, legacy *wire.LegacyNode) {
	batch := b.forPartition(partition)
	if batch == nil || checkID("node ID", n.NodeID) != nil {
		return // the node was rejected
	}
	if legacy.OccupiedErr != nil {
		b.s.logRefused("occupied resource of node", n.NodeID, legacy.OccupiedErr)
		return
	}
	if n.Action != si.NodeInfo_UPDATE && legacy.Occupied.Len() == 0 {
		return
	}
	batch.add(scheduler.ReportForeign{Foreign: objects.Foreign{
		Key: occupiedKey(n.NodeID), Node: objects.NodeID(n.NodeID), Amounts: legacy.Occupied, Static: true,
	}})
}
