package webservice

import (
	"cmp"
	"net/http"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// The attributes of a node that have a field of their own (NOD-7).
const (
	hostNameAttribute = "si/hostname"
	rackNameAttribute = "si/rackname"
)

// nodes lists the nodes of a partition.
func (s *service) nodes(r *http.Request) (any, error) {
	return s.encodedList(r, &s.nodeLists, nodeList)
}

// nodeList is the list of all nodes.
var nodeList = &listSource{
	each: func(snap *scheduler.Snapshot, yield func(view any, where string) bool) {
		for n := range snap.Nodes.All() {
			if !yield(n, "") {
				return
			}
		}
	},
	compare: func(a any, _ string, b any, _ string) int {
		x, _ := a.(*scheduler.NodeView)
		y, _ := b.(*scheduler.NodeView)
		return cmp.Compare(x.ID, y.ID)
	},
	pieces: func(e *encoder, _ *scheduler.Snapshot, view any, _ string) (pieces, bool) {
		n, _ := view.(*scheduler.NodeView)
		return nodePieces(e, n)
	},
}

// nodePieces is the JSON of a node. long: it has too many allocations for its text to be kept.
func nodePieces(e *encoder, n *scheduler.NodeView) (all pieces, long bool) {
	return spliceAllocations(e, viewNode(n), n.Allocations), n.Allocations.Len() > longListLength
}

// viewNode shows n with a placeholder for its allocations.
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
	if n.Allocations.Len() > 0 {
		v.Allocations = listPlaceholder{}
	}
	for _, f := range n.Foreign {
		v.ForeignAllocations = append(v.ForeignAllocations, viewForeign(f))
	}
	return v
}

// available is the free resources of a node. A resource that is used up is shown as zero: without
// it the node would seem to have none at all.
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
