package metrics

// HA is the part of a member of a group (docs/HA.md).
type HA struct {
	Leader bool
	Epoch  int64 // of the leader, as far as the member knows; 0: not known
}

// SetHASource sets the source of HA. It must be called before the first scrape. Without it the process is in no group.
func (m *Metrics) SetHASource(source func() HA) { m.ha = source }

var (
	haLeader = gauge("canopy_ha_leader", "1 if this member of the group leads, and decides; 0: it stands by.")
	haEpoch  = gauge("canopy_ha_epoch", "Epoch of the leader that this member knows; 0: it knows none.")
)

// writeHA writes the families of a group (HA-10).
func (s *scrape) writeHA(to *gathering) {
	if s.m.ha == nil {
		return
	}
	x := s.m.ha()
	to.flag(haLeader, x.Leader)
	to.value(haEpoch, float64(x.Epoch))
}
