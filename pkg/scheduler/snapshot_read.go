package scheduler

import (
	"cmp"
	"strings"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// Queue is the queue with a path; nil: there is none.
func (s *Snapshot) Queue(path objects.QueuePath) *QueueView {
	q := s.Root
	if path != q.Path && !strings.HasPrefix(string(path), string(q.Path)+".") {
		return nil
	}
	for q != nil && q.Path != path {
		q = q.childTowards(path)
	}
	return q
}

// Headroom returns how much more a queue may allocate: the least of max minus allocated over the queue and the
// queues above it, root included. To compute that of all queues, see HeadroomBelow.
func (s *Snapshot) Headroom(path objects.QueuePath) resources.Limit {
	q := s.Root
	left := q.HeadroomBelow(resources.Limit{})
	for q.Path != path {
		q = q.childTowards(path)
		if q == nil {
			break
		}
		left = q.HeadroomBelow(left)
	}
	return left
}

// HeadroomBelow is the headroom of q, where parentHeadroom is that of its parent; for root it is the zero
// Limit.
func (q *QueueView) HeadroomBelow(parentHeadroom resources.Limit) resources.Limit {
	return parentHeadroom.Tighten(q.Max.Headroom(q.Allocated.Sub(q.Deficit)))
}

// childTowards is the child of q that is path or an ancestor of it; nil: there is none.
func (q *QueueView) childTowards(path objects.QueuePath) *QueueView {
	below := string(path[len(q.Path)+1:])
	name, _, _ := strings.Cut(below, ".")
	child := path[:len(q.Path)+1+len(name)]
	return q.Children.Find(func(x *QueueView) int { return cmp.Compare(x.Path, child) })
}

// Node is the node with an ID; nil: there is none.
func (s *Snapshot) Node(id objects.NodeID) *NodeView {
	return s.Nodes.Find(func(n *NodeView) int { return cmp.Compare(n.ID, id) })
}

// Application is the application with an ID in a leaf; nil: there is none.
func (q *QueueView) Application(id objects.AppID) *ApplicationView {
	return q.Applications.Find(func(a *ApplicationView) int { return cmp.Compare(a.ID, id) })
}
