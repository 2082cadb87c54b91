package preemption

// SearchStats counts what a Search has done since it was made. It is for whoever measures:
// nothing is decided by it.
type SearchStats struct {
	Searches    uint64 // calls of Find
	NodesTried  uint64 // nodes on which all who may be taken were taken off in thought
	NodesRanked uint64 // nodes of which the rank for a kind of ask was found out
	NodesListed uint64 // nodes with work in reach that were listed, because they are few
}

// Stats is what s has done until now.
func (s *Search) Stats() SearchStats {
	e := s.stats
	e.NodesRanked = s.cache.ranked
	return e
}
