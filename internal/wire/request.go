package wire

import (
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// AllocationRequest is a message as it was sent: it is well formed, and that is all.
type AllocationRequest struct {
	RM          string
	Allocations []Allocation
	Releases    []Release
	Unknown     bool // it has fields that the interface does not know (any more)
}

// Allocation is an ask, or an allocation when it names a node.
type Allocation struct {
	Key, App, Node       string
	Partition, TaskGroup string

	Amounts    resources.Amounts
	AmountsErr error // why Amounts could not be read; Amounts is then empty

	Tags                    map[string]string // nil: none; never changed
	Priority                int32
	Placeholder, Originator bool
	Policy                  objects.PreemptionPolicy
}

// Release asks for an allocation, or all of an application, to be given back.
type Release struct {
	Partition, App, Key string
	Type                int32 // any number, not only those that have a name
}

// Reset forgets the message. The room for the next one is kept, unless the message was
// so large that the next is hardly like it.
func (m *AllocationRequest) Reset() {
	clear(m.Allocations) // the texts and tags belong to whoever took them
	clear(m.Releases)
	*m = AllocationRequest{Allocations: reuse(m.Allocations), Releases: reuse(m.Releases)}
}

func reuse[E any](s []E) []E {
	const most = 4096
	if cap(s) > most {
		return nil
	}
	return s[:0]
}
