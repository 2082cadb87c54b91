package victim

// SearchStats counts the work of a Search since it was created. It is for tests and benchmarks: no decision
// depends on it.
type SearchStats struct {
	Searches    uint64 // calls of Find
	NodesTried  uint64 // nodes on which victims were selected
	NodesRanked uint64 // ranks that were computed
	NodesListed uint64 // entries read from the node lists of leaves in scope (PRE-100)
}

// Stats returns the counts until now.
func (s *Search) Stats() SearchStats {
	e := s.stats
	e.NodesRanked = s.cache.ranked
	return e
}
