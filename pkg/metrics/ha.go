package metrics

// HA is the part of a member of a group (docs/HA.md).
type HA struct {
	Leader     bool          // or coordinates the group, if its partitions are spread over the members
	Epoch      int64         // of the leader, as far as the member knows; 0: not known
	Partitions []HAPartition // that are spread over the members; nil: the leader has all
}

// HAPartition is a partition of a group whose partitions are spread over its members (docs/SCALE.md).
type HAPartition struct {
	Name   string
	Leader bool  // this member leads it
	Epoch  int64 // of its leader; 0: not known
}

// SetHASource sets the source of HA. It must be called before the first scrape. Without it the process is in no group.
func (m *Metrics) SetHASource(source func() HA) { m.ha = source }

var (
	haLeader          = gauge("canopy_ha_leader", "1 if this member of the group leads, and decides; 0: it stands by.")
	haEpoch           = gauge("canopy_ha_epoch", "Epoch of the leader that this member knows; 0: it knows none.")
	haPartitionLeader = gauge("canopy_ha_partition_leader", "1 if this member of the group leads the partition; 0: another one does, or none.", "partition")
	haPartitionEpoch  = gauge("canopy_ha_partition_epoch", "Epoch of the leader of the partition that this member knows; 0: it knows none.", "partition")
)

// writeHA writes the families of a group (HA-10).
func (s *scrape) writeHA(to *exposition) {
	if s.m.ha == nil {
		return
	}
	x := s.m.ha()
	to.flag(haLeader, x.Leader)
	to.value(haEpoch, float64(x.Epoch))
	for _, p := range x.Partitions {
		leader := 0.0
		if p.Leader {
			leader = 1
		}
		to.value(haPartitionLeader, leader, p.Name)
		to.value(haPartitionEpoch, float64(p.Epoch), p.Name)
	}
}
