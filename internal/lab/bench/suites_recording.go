package bench

import "github.com/canopy-scheduler/canopy/internal/lab/bench/workload"

// recordingPlan measures what recording costs a canopy serve in a separate process.
func recordingPlan(s Scale) Plan {
	p := Plan{
		Name: "recording",
		About: "60,000 asks with five tags are placed and released over gRPC as fast as it goes, by turns on a server that " +
			"records and on one that does not: " +
			"the CPU time of each. Server and client are two processes.",
	}
	spec := baseSpec(s.of(60_000, 2000))
	spec.Depth, spec.Fanout, spec.AppsPerLeaf, spec.Tags, spec.Via = 2, 10, 10, 5, workload.ViaGRPC
	p.cells = append(p.cells, plannedCell{name: "tags-5", spec: spec, measure: Recording})
	return p
}
