package objects

import "github.com/canopy-scheduler/canopy/pkg/policies"

// askGroups are the classes of one application: the order in which they take turns, and the
// way to find one. Most applications have one or two, some have as many as asks.
type askGroups struct {
	list  []*AskGroup              // all, in no order
	byID  map[askGroupID]*AskGroup // the same, once they are more than few; nil before
	order index[*AskGroup]         // those with an ask to try, the one with the first of these in front
}

// maxUnindexedAskGroups are found faster by looking at each.
const maxUnindexedAskGroups = 8

func newAskGroups() askGroups {
	return askGroups{order: index[*AskGroup]{compare: func(a, b *AskGroup) int { return policies.CompareAsks(&a.key, &b.key) }}}
}

// find is the class of id; nil: there is none.
func (s *askGroups) find(id askGroupID) *AskGroup {
	if s.byID != nil {
		return s.byID[id]
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
	if s.list = append(s.list, c); s.byID != nil {
		s.byID[c.id] = c
		return
	}
	if len(s.list) > maxUnindexedAskGroups {
		s.byID = make(map[askGroupID]*AskGroup, 2*maxUnindexedAskGroups)
		for _, c := range s.list {
			s.byID[c.id] = c
		}
	}
}

// remove forgets c. Requires: nothing of it is pending.
func (s *askGroups) remove(c *AskGroup) {
	end := len(s.list) - 1
	last := s.list[end]
	last.listIndex = c.listIndex
	s.list[c.listIndex], s.list[end] = last, nil
	if s.list = s.list[:end]; s.byID != nil {
		if delete(s.byID, c.id); end == 0 {
			s.byID = nil
		}
	}
}

// reindex puts c where it belongs among the others, after what it has to try changed.
func (s *askGroups) reindex(c *AskGroup) {
	hasSchedulable := c.hasSchedulable()
	if hasSchedulable {
		c.key = c.asks[c.head].key
	}
	s.order.reindex(&c.entry, hasSchedulable)
}
