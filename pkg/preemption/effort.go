package preemption

// Effort counts what a Search has done since it was made. It is for whoever measures:
// nothing is decided by it.
type Effort struct {
	Looks  uint64 // calls of Find
	Tried  uint64 // nodes on which all who may be taken were taken off in thought
	Ranked uint64 // nodes of which the rank for a kind of ask was found out
	Listed uint64 // nodes with work in reach that were listed, because they are few
}

// Effort is what s has done until now.
func (s *Search) Effort() Effort {
	e := s.effort
	e.Ranked = s.roll.ranked
	return e
}
