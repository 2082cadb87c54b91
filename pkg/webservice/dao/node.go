package dao

import (
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// The attributes of a node that have a field of their own (NOD-7).
const (
	hostNameAttribute = "si/hostname"
	rackNameAttribute = "si/rackname"
)

// Foreign is an allocation of another scheduler, or an orphaned one of this scheduler.
type Foreign struct {
	AllocationKey string `json:"allocationKey"`
	// of an orphaned allocation: the application that has not taken it
	ApplicationID  string            `json:"applicationID,omitempty"`
	AllocationTags map[string]string `json:"allocationTags,omitempty"`
	Resource       Quantities        `json:"resource,omitempty"`
	NodeID         string            `json:"nodeId,omitempty"`
	Preemptable    bool              `json:"preemptable,omitempty"`
}

// Node is a node with its allocations.
type Node struct {
	NodeID     string            `json:"nodeID"`
	HostName   string            `json:"hostName,omitempty"`
	RackName   string            `json:"rackName,omitempty"`
	Attributes map[string]string `json:"attributes,omitempty"`
	Capacity   Quantities        `json:"capacity,omitempty"`
	Allocated  Quantities        `json:"allocated,omitempty"`
	Occupied   Quantities        `json:"occupied,omitempty"`
	Available  Quantities        `json:"available,omitempty"`
	// what the allocations and foreign ones exceed the capacity by; missing: nothing
	Overcommitted      Quantities       `json:"overcommitted,omitempty"`
	Utilized           Quantities       `json:"utilized,omitempty"`   // percent
	Allocations        List[Allocation] `json:"allocations,omitzero"` // what runs on it
	ForeignAllocations []Foreign        `json:"foreignAllocations,omitempty"`
	Schedulable        bool             `json:"schedulable"`
	Cordoned           bool             `json:"cordoned,omitempty"` // by an operator
	// by an operator: draining, or drained when nothing is left
	Drain string `json:"drain,omitempty"`
	// allocations that the drain ends, and that have not ended
	LeftToDrain  int      `json:"leftToDrain,omitempty"`
	IsReserved   bool     `json:"isReserved"`
	Reservations []string `json:"reservations,omitempty"` // keys of asks, the oldest reservation first
}

// NewNode shows n.
func NewNode(n *scheduler.NodeView) Node {
	v := Node{
		NodeID:        string(n.ID),
		HostName:      n.Attributes[hostNameAttribute],
		RackName:      n.Attributes[rackNameAttribute],
		Attributes:    n.Attributes,
		Capacity:      QuantitiesOf(n.Total.All()),
		Allocated:     QuantitiesOf(n.Allocated.All()),
		Occupied:      QuantitiesOf(n.Occupied.All()),
		Available:     available(n),
		Utilized:      Percentages(n.Allocated, n.Total.All()),
		Overcommitted: QuantitiesOf(n.Available.Shortage().All()),
		Schedulable:   n.Schedulable,
		Cordoned:      n.Cordoned,

		IsReserved:   len(n.ReservedFor) > 0,
		Reservations: keyTexts(n.ReservedFor),
	}
	v.Allocations = listOf(n.Allocations, false, NewAllocation)
	v.LeftToDrain = n.LeftToDrain
	if n.Draining {
		v.Drain = map[bool]string{true: "draining", false: "drained"}[n.LeftToDrain > 0]
	}
	for _, f := range n.Foreign {
		v.ForeignAllocations = append(v.ForeignAllocations, viewForeign(f))
	}
	return v
}

// available is the free resources of a node. A resource that is used up is shown as zero: without
// it the node would seem to have none at all.
func available(n *scheduler.NodeView) Quantities {
	left := QuantitiesOf(n.Available.All())
	for name := range n.Total.All() {
		left[name] = int64(n.Available.Get(name))
	}
	return left
}

func viewForeign(f *objects.Foreign) Foreign {
	v := Foreign{
		AllocationKey:  string(f.Key),
		AllocationTags: f.Tags,
		Resource:       QuantitiesOf(f.Amounts.All()),
		NodeID:         string(f.Node),
		Preemptable:    !f.Static && f.Orphan == nil,
	}
	if f.Orphan != nil {
		v.ApplicationID = string(f.Orphan.Ask.App)
	}
	return v
}
