package webservice

import (
	"net/http"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// The attributes that have a field of their own (behaviour.md 10.6).
const (
	hostNameAttribute = "si/hostname"
	rackNameAttribute = "si/rackname"
)

// nodes lists the nodes of a partition.
func (s *service) nodes(r *http.Request) (any, error) {
	snap, err := s.snapshot(r)
	if err != nil {
		return nil, err
	}
	out := []nodeBody{}
	for n := range snap.Nodes.All() {
		out = append(out, viewNode(n))
	}
	return out, nil
}

func viewNode(n *scheduler.NodeView) nodeBody {
	v := nodeBody{
		NodeID:      string(n.ID),
		HostName:    n.Attributes[hostNameAttribute],
		RackName:    n.Attributes[rackNameAttribute],
		Attributes:  n.Attributes,
		Capacity:    quantitiesOf(n.Total.All()),
		Allocated:   quantitiesOf(n.Allocated.All()),
		Occupied:    quantitiesOf(n.Occupied.All()),
		Available:   available(n),
		Utilized:    percentages(n.Allocated, n.Total.All()),
		Schedulable: n.Schedulable,
	}
	for w := range n.Work.All() {
		v.Allocations = append(v.Allocations, viewAllocation(w))
	}
	for _, f := range n.Foreign {
		v.ForeignAllocations = append(v.ForeignAllocations, viewForeign(f))
	}
	return v
}

// available is what is left of the node. A resource that is used up is shown as zero:
// left out, it would look as if the node had none.
func available(n *scheduler.NodeView) quantities {
	left := quantitiesOf(n.Available.All())
	for name := range n.Total.All() {
		left[name] = int64(n.Available.Get(name))
	}
	return left
}

func viewForeign(f *objects.Foreign) foreignBody {
	return foreignBody{
		AllocationKey:  string(f.Key),
		AllocationTags: f.Tags,
		Resource:       quantitiesOf(f.Amounts.All()),
		NodeID:         string(f.Node),
		Preemptable:    !f.Static,
	}
}
