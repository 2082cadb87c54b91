package wire

import (
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// AllocationRequest is a decoded message. Its content is not validated.
type AllocationRequest struct {
	RM          string
	Allocations []Allocation
	Releases    []Release
	Unknown     bool // it has fields that no interface from 1.0 to 1.9 has

	Asks        []Allocation // of the interfaces 1.0 to 1.5, and so are AskReleases
	AskReleases []Release
	Legacy      bool // it has a field that 1.9 does not have
}

// Allocation is an ask, or an allocation if it has a node.
type Allocation struct {
	Key, App, Node       string
	Partition, TaskGroup string

	Amounts    resources.Amounts
	AmountsErr error // the error of ReadAmounts; Amounts is then empty

	Tags                    map[string]string // nil: none; must not be changed
	Priority                int32
	Placeholder, Originator bool
	Policy                  objects.PreemptionPolicy

	Legacy *LegacyFields // nil: it has none
}

// Release is a release of an allocation, or without a key of all allocations of an application.
type Release struct {
	Partition, App, Key string
	Type                int32  // may be unknown
	UUID                string // of the allocation, in the interfaces 1.0 to 1.5: UUID or allocationID
	Message             string // only if it begins with NodeRefused
}

// NodeRefused begins the message of a release that says that the node refused the allocation (NOD-44).
const NodeRefused = "canopy: node refused"

// Reset removes the content. The capacity is kept for the next message, unless it is large.
func (m *AllocationRequest) Reset() {
	clear(m.Allocations) // strings and tags belong to the receiver of the message
	clear(m.Releases)
	clear(m.Asks)
	clear(m.AskReleases)
	*m = AllocationRequest{
		Allocations: reuse(m.Allocations), Releases: reuse(m.Releases), Asks: reuse(m.Asks),
		AskReleases: reuse(m.AskReleases),
	}
}

func reuse[E any](s []E) []E {
	const maxCapacity = 4096
	if cap(s) > maxCapacity {
		return nil
	}
	return s[:0]
}
