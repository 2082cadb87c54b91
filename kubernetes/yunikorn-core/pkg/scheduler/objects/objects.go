// Package objects has applications, nodes and allocations as a program in the scheduler's process reads them.
//
// The package owns the Go names that the shim's tests use. It leaves reading to pkg/scheduler: a value is what REST
// said at one time, and has to be read again to see a change.
//
// Invariant: values do not change.
package objects

import (
	"github.com/apache/yunikorn-core/pkg/common/resources"
	"github.com/apache/yunikorn-core/pkg/webservice/dao"
)

// Application is an application.
type Application struct {
	ApplicationID string

	state                 string
	requests, allocations []*Allocation
}

// NewApplication is the application that an answer describes.
func NewApplication(d *dao.ApplicationDAOInfo) *Application {
	a := &Application{ApplicationID: d.ApplicationID, state: d.State}
	for _, r := range d.Requests {
		a.requests = append(a.requests, &Allocation{key: r.AllocationKey, resource: r.ResourcePerAlloc})
	}
	a.allocations = allocationsOf(d.Allocations)
	return a
}

// CurrentState is the name of the state.
func (a *Application) CurrentState() string { return a.state }

// GetAllRequests are the pending asks.
func (a *Application) GetAllRequests() []*Allocation { return a.requests }

// GetAllAllocations are the allocations, placeholders included.
func (a *Application) GetAllAllocations() []*Allocation { return a.allocations }

// Node is a node.
type Node struct {
	NodeID string

	allocations, foreign []*Allocation
}

// NewNode is the node that an answer describes.
func NewNode(d *dao.NodeDAOInfo) *Node {
	n := &Node{NodeID: d.NodeID, allocations: allocationsOf(d.Allocations)}
	for _, f := range d.ForeignAllocations {
		n.foreign = append(n.foreign, &Allocation{key: f.AllocationKey, node: f.NodeID, resource: f.ResourcePerAlloc})
	}
	return n
}

// GetForeignAllocations are the foreign allocations.
func (n *Node) GetForeignAllocations() []*Allocation { return n.foreign }

// GetYunikornAllocations are the allocations of applications.
func (n *Node) GetYunikornAllocations() []*Allocation { return n.allocations }

// Allocation is an allocation, or a pending ask.
type Allocation struct {
	key, node string
	resource  map[string]int64
}

func allocationsOf(all []*dao.AllocationDAOInfo) (out []*Allocation) {
	for _, a := range all {
		out = append(out, &Allocation{key: a.AllocationKey, node: a.NodeID, resource: a.ResourcePerAlloc})
	}
	return out
}

// GetAllocationKey is the name of the allocation: for the shim, the UID of the pod.
func (a *Allocation) GetAllocationKey() string { return a.key }

// GetNodeID is the node of the allocation; empty for an ask.
func (a *Allocation) GetNodeID() string { return a.node }

// GetAllocatedResource returns what the allocation uses, or the ask would use.
func (a *Allocation) GetAllocatedResource() *resources.Resource {
	return resources.NewResourceFromMap(a.resource)
}
