package bench

import "github.com/canopy-scheduler/canopy/internal/lab/bench/workload"

// recoveryPlan measures recoveries of a canopy serve in a separate process.
func recoveryPlan(s Scale) Plan {
	p := Plan{
		Name: "recovery",
		About: "A resource manager registers, reports 10,000 nodes and 100,000 allocations, and asks for 100,000 more, " +
			"over gRPC: how long it takes until the first " +
			"of these is placed. Server and client are two processes.",
	}
	spec := baseSpec(s.of(200_000, 2000))
	spec.Depth, spec.Fanout, spec.AppsPerLeaf, spec.Nodes, spec.Tags, spec.Saturation, spec.Via = 2, 10, 10,
		s.of(10_000, 100), 4, 1.2, workload.ViaGRPC
	p.cells = append(p.cells, plannedCell{name: "100,000 and 100,000", spec: spec, measure: Recovery})
	return p
}
