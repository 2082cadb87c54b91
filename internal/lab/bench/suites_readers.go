package bench

import "github.com/canopy-scheduler/canopy/internal/lab/bench/workload"

// readersWorkload returns a cluster with many readers: 10,000 leaves, 100,000 allocations on 2,000 nodes.
func readersWorkload(s Scale) workload.Spec {
	spec := baseSpec(s.of(100_000, 1000))
	spec.Depth, spec.Fanout, spec.Nodes, spec.Via = 2, 100, s.of(2000, 20), workload.ViaGRPC
	if s == Quick {
		spec.Asks, spec.Fanout = 1000, 10
	}
	spec.Rate, spec.Saturation = 100, 0.5
	return spec
}

func readersPlan(s Scale) Plan {
	p := Plan{
		Name: "readers",
		About: "100 asks a second on 10,000 leaves with 100,000 allocations, by turns without readers and with them: " +
			"50 that each ask for all paths in turn, one a second; these and 50 open pages, which follow what changes and " +
			"read again what they " +
			"show; 200 that ask for a large list and read nothing; and a process without any, which says how exact the " +
			"figures are. " +
			"Server, client and readers are three processes. The readers get what processors the others leave, and the " +
			"client, if " +
			"that is allowed (to root on Linux), goes before the server: both stand for other machines.",
	}
	cell := func(name string, readers readersSpec) {
		readers.Phases, readers.Seconds = 4, 15
		if s == Quick {
			readers.Phases, readers.Seconds = 1, 2
		}
		spec := readersWorkload(s)
		asks := spec.Rate * float64(2*readers.Phases*readers.Seconds)
		spec.Churn = (asks + 1) / float64(spec.Asks)
		p.cells = append(p.cells, plannedCell{name: name, spec: spec, measure: Readers, readers: readers})
	}
	cell("pollers", readersSpec{Pollers: 50})
	cell("pages", readersSpec{Pollers: 50, Pages: 50})
	cell("stalled", readersSpec{Stalled: 200})
	cell("none", readersSpec{})
	return p
}
