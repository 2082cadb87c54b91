package bench

import (
	"fmt"

	"github.com/canopy-scheduler/canopy/internal/lab/bench/workload"
	"github.com/canopy-scheduler/canopy/pkg/gangs"
)

// The topology of gangs, and the labels of nodes that it is about (workload.Topologies).

const (
	rackLabel    = "example.com/rack"
	nodesPerRack = 40
	nodesPerZone = 1000
)

// topologyLabels returns the labels of the i-th node.
func topologyLabels(i int) map[string]string {
	return map[string]string{zoneLabel: fmt.Sprint("zone-", i/nodesPerZone),
		rackLabel: fmt.Sprint("rack-", i/nodesPerRack)}
}

// topology returns the topology of all gangs; the zero value: none.
func (s *stream) topology() gangs.Topology {
	switch s.spec.Topology {
	case workload.RequiredRack:
		return gangs.Topology{Levels: []string{rackLabel}, Required: 0, Preferred: gangs.NoLevel}
	case workload.PreferredRack:
		return gangs.Topology{Levels: []string{zoneLabel, rackLabel}, Required: 0, Preferred: 1}
	}
	return gangs.Topology{}
}
