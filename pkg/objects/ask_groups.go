package objects

import (
	"github.com/canopy-scheduler/canopy/pkg/feasibility"
)

// askGroups are the ask groups of one application: their order, and an index. Most applications
// have one or two groups, some as many as asks.
type askGroups struct {
	order feasibility.Index[*AskGroup] // with schedulable asks and not held back, by the first of these
	list  []*AskGroup                  // in no order
	byID  *askGroupIndex               // nil: list has not been longer than maxUnindexedAskGroups
}

// maxUnindexedAskGroups bounds the groups that are searched without a map.
const maxUnindexedAskGroups = 8

// askGroupIndex finds groups by their IDs. Groups without a task group and affinity, which are nearly all, have a
// map of their own, whose keys are half as large.
type askGroupIndex struct {
	plain  map[plainGroupID]*AskGroup
	others map[askGroupID]*AskGroup // nil: there never was one
}

// plainGroupID is the ID of a group without a task group and affinity.
type plainGroupID struct {
	shape    *feasibility.Shape
	priority int32
	preempts bool
}

func (id askGroupID) isPlain() bool { return id.taskGroup == "" && id.affinity == nil }

func (id askGroupID) plain() plainGroupID { return plainGroupID{id.shape, id.priority, id.preempts} }

func (x *askGroupIndex) find(id askGroupID) *AskGroup {
	if id.isPlain() {
		return x.plain[id.plain()]
	}
	return x.others[id]
}

func (x *askGroupIndex) add(c *AskGroup) {
	if c.id.isPlain() {
		x.plain[c.id.plain()] = c
		return
	}
	if x.others == nil {
		x.others = map[askGroupID]*AskGroup{}
	}
	x.others[c.id] = c
}

func (x *askGroupIndex) remove(c *AskGroup) {
	if c.id.isPlain() {
		delete(x.plain, c.id.plain())
		return
	}
	delete(x.others, c.id)
}

func newAskGroups() askGroups {
	return askGroups{order: feasibility.Index[*AskGroup]{Order: &askGroupOrder}}
}

// find is the group of id; nil: there is none.
func (s *askGroups) find(id askGroupID) *AskGroup {
	if s.byID != nil {
		return s.byID.find(id)
	}
	for _, c := range s.list {
		if c.id == id {
			return c
		}
	}
	return nil
}

func (s *askGroups) add(c *AskGroup) {
	c.listIndex = int32(len(s.list))
	s.list = append(s.list, c)
	if s.byID != nil {
		s.byID.add(c)
		return
	}
	if len(s.list) > maxUnindexedAskGroups {
		s.byID = &askGroupIndex{plain: make(map[plainGroupID]*AskGroup, 2*maxUnindexedAskGroups)}
		for _, c := range s.list {
			s.byID.add(c)
		}
	}
}

// remove removes c. Requires: it is empty.
func (s *askGroups) remove(c *AskGroup) {
	end := len(s.list) - 1
	last := s.list[end]
	last.listIndex = c.listIndex
	s.list[c.listIndex], s.list[end] = last, nil
	s.list = s.list[:end]
	if s.byID != nil {
		s.byID.remove(c)
		if end == 0 {
			s.byID = nil
		}
	}
}

// reindex updates the position of c after its schedulable asks changed.
func (s *askGroups) reindex(c *AskGroup) {
	mayBePlaced := c.mayBePlaced()
	if mayBePlaced {
		c.key = c.asks[c.head].key
	}
	s.order.Reindex(c, mayBePlaced)
}
