package webservice

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/webservice/dao"
)

// nodes lists the nodes of a partition, or the part of them that the query asks for.
func (s *service) nodes(r *http.Request) (any, error) {
	p, err := readPage(r, dao.Node{})
	if err != nil {
		return nil, err
	}
	schedulable, err := boolOf(p.query, "schedulable")
	if err != nil {
		return nil, err
	}
	list, err := s.encodedList(r, &s.nodeLists, nodeList)
	if err != nil || !p.has("schedulable") {
		return list, err
	}
	nodeOf := func(x *listElement) *scheduler.NodeView {
		n, _ := x.view.(*scheduler.NodeView)
		return n
	}
	selected, more := selectPage(p, slices.Values(list.elements),
		func(x *listElement) bool { return string(nodeOf(x).ID) > p.after },
		func(x *listElement) bool { return schedulable == nil || nodeOf(x).Schedulable == *schedulable })
	return pagedListOf(p, selected, more, func(x *listElement) string { return string(nodeOf(x).ID) }, list.textOf()), nil
}

// boolOf is the value of a parameter that is true or false; nil: the query does not have it.
func boolOf(query url.Values, name string) (*bool, error) {
	text, err := filterOf(query, name)
	if err != nil || text == "" {
		return nil, err
	}
	value := text == "true"
	if !value && text != "false" {
		return nil, badRequest(fmt.Sprintf("%s %q: it is true or false", name, truncated(text)))
	}
	return &value, nil
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
