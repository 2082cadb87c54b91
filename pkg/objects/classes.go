package objects

import "github.com/canopy-scheduler/canopy/pkg/policies"

// classes are the classes of one application: the order in which they take turns, and the
// way to find one. Most applications have one or two, some have as many as asks.
type classes struct {
	list  []*Class           // all, in no order
	byID  map[classID]*Class // the same, once they are more than few; nil before
	turns index[*Class]      // those with an ask to try, the one with the first of these in front
}

// fewClasses are found faster by looking at each.
const fewClasses = 8

func newClasses() classes {
	return classes{turns: index[*Class]{compare: func(a, b *Class) int { return policies.CompareAsks(&a.key, &b.key) }}}
}

// of is the class of id; nil: there is none.
func (s *classes) of(id classID) *Class {
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

func (s *classes) add(c *Class) {
	c.place = int32(len(s.list))
	if s.list = append(s.list, c); s.byID != nil {
		s.byID[c.id] = c
		return
	}
	if len(s.list) > fewClasses {
		s.byID = make(map[classID]*Class, 2*fewClasses)
		for _, c := range s.list {
			s.byID[c.id] = c
		}
	}
}

// remove forgets c. Requires: nothing of it is pending.
func (s *classes) remove(c *Class) {
	end := len(s.list) - 1
	last := s.list[end]
	last.place = c.place
	s.list[c.place], s.list[end] = last, nil
	if s.list = s.list[:end]; s.byID != nil {
		if delete(s.byID, c.id); end == 0 {
			s.byID = nil
		}
	}
}

// stand puts c where it belongs among the others, after what it has to try changed.
func (s *classes) stand(c *Class) {
	hopeful := c.hopeful()
	if hopeful {
		c.key = c.asks[c.head].key
	}
	s.turns.stand(&c.turn, hopeful)
}
