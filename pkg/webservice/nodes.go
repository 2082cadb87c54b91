package webservice

import (
	"cmp"
	"net/http"

	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/webservice/dao"
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
	return spliceAllocations(e, dao.NewNode(n), n.Allocations), n.Allocations.Len() > longListLength
}
