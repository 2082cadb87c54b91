package wire

import (
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// The UUID of an allocation is its key: it is unique among all allocations of a partition, and the key is found
// again without a table. It is sent in both fields that it has had, UUID up to 1.4 and allocationID in 1.5: a
// client skips the one that it does not know (ADR 58).

// LegacyAllocated is Allocated with the UUID of the allocation.
func (m *Response) LegacyAllocated(ask *objects.Ask, on objects.NodeID) {
	x := m.open(1)
	m.allocation(ask, on)
	m.text(legacyUUID, string(ask.Key))
	m.text(legacyAllocationID, string(ask.Key))
	m.close(x)
}

// LegacyReleased is Released with the UUID of the allocation.
func (m *Response) LegacyReleased(e scheduler.Released, partition, message string) {
	x := m.open(2)
	m.release(e, partition, message)
	m.text(legacyUUID, string(e.Key))
	m.text(legacyReleaseID, string(e.Key))
	m.close(x)
}

// LegacyAskReleased adds the release of a pending ask, which has a list and fields of its own.
func (m *Response) LegacyAskReleased(e scheduler.Released, partition, message string) {
	const releasedAsks = 3
	x := m.open(releasedAsks)
	m.text(1, partition)
	m.text(2, string(e.App))
	m.text(3, string(e.Key))
	m.number(4, int64(e.Type))
	m.text(5, message)
	m.close(x)
}

// LegacyAskRejected adds a rejection of an ask to the list that asks had.
func (m *Response) LegacyAskRejected(e scheduler.AskRejected, reason string) {
	const rejected = 4
	m.rejection(rejected, e, reason)
}
