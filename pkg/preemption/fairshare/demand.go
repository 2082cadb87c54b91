package fairshare

import (
	"github.com/canopy-scheduler/canopy/pkg/feasibility"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// demand returns what q could use, without its own max (PRE-128). Read-only.
func (s *Shares) demand(q *objects.Queue) resources.Vector {
	if v, known := s.demands[q]; known {
		return v
	}
	var v resources.Vector
	for _, c := range q.Children() {
		v.Add(withinMax(c, s.demand(c)))
	}
	if q.Leaf() {
		for _, a := range s.applications(q) {
			v.Add(s.demandOf(a))
		}
	}
	if len(s.demands) > maxDemands {
		clear(s.demands) // queues may be gone
	}
	s.demands[q] = v
	return v
}

// maxDemands bounds the demands that are kept.
const maxDemands = 100_000

// demandOf returns, as a new vector, what an application could use.
func (s *Shares) demandOf(a *objects.Application) (v resources.Vector) {
	v.Add(a.Allocated())
	v.Add(a.Placeholders())
	if a.Suspended() {
		return v
	}
	for group := range a.EachAskGroup {
		if !group.Held() && s.placeable(a, group.Shape()) {
			v.AddTimes(group.Shape().Vector(), int64(group.PendingCount()))
		}
	}
	if s.extra != nil && s.extra.Application() == a && s.placeable(a, s.extra.Shape()) {
		v.Add(s.extra.Shape().Vector())
	}
	return v
}

// placeable reports whether asks of a shape could ever be placed, whatever is free: alone they exceed no max and no
// limit, and the largest node has as much of each resource.
func (s *Shares) placeable(a *objects.Application, shape *feasibility.Shape) bool {
	if !s.largestNode().Covers(shape.Vector()) {
		return false
	}
	for c := range a.Constraints().Each {
		if c.TooSmall(shape) {
			return false
		}
	}
	return true
}

// largestNode returns the most that any registered node has of each resource. Read-only.
func (s *Shares) largestNode() resources.Vector {
	if !s.largestKnown {
		s.largestKnown, s.largest = true, s.largest[:0]
		for n := range s.part.EachNode {
			s.largest.SetMax(n.Total())
		}
	}
	return s.largest
}
