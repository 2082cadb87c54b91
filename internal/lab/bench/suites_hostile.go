package bench

import "github.com/canopy-scheduler/canopy/internal/lab/bench/workload"

// hostilePlan measures the cost of attacks on a canopy serve in a separate process.
func hostilePlan(s Scale) Plan {
	p := Plan{
		Name: "hostile",
		About: "A server that is attacked over gRPC, and a client that asks all the while: the most memory that the server " +
			"had, " +
			"and how long an ask took before and during the attack. Three processes, with priorities as for readers.",
	}
	seconds, streams, large := 10, 10_000, 7<<20
	if s == Quick {
		seconds, streams = 1, 1000
	}
	cell := func(name string, a hostileSpec) {
		a.Seconds = seconds
		spec := baseSpec(100)
		spec.Nodes, spec.Via = 1, workload.ViaGRPC
		p.cells = append(p.cells, plannedCell{name: name, spec: spec, measure: Hostile, hostile: a})
	}
	cell("allocations-8MiB-unregistered",
		hostileSpec{Attack: attackMessages, Method: "UpdateAllocation", Entry: 4, Bytes: 8 << 20, UnregisteredRM: true})
	cell("allocations-large-unregistered",
		hostileSpec{Attack: attackMessages, Method: "UpdateAllocation", Entry: 4, Bytes: large, UnregisteredRM: true})
	cell("releases-large-unregistered",
		hostileSpec{Attack: attackMessages, Method: "UpdateAllocation", Entry: 2, Bytes: large, UnregisteredRM: true})
	cell("nodes-large", hostileSpec{Attack: attackMessages, Method: "UpdateNode", Entry: 1, Bytes: large})
	cell("nodes-64KiB", hostileSpec{Attack: attackMessages, Method: "UpdateNode", Entry: 1, Bytes: 64 << 10})
	cell("applications-large", hostileSpec{Attack: attackMessages, Method: "UpdateApplication", Entry: 1, Bytes: large})
	cell("extra-configuration",
		hostileSpec{Attack: attackMessages, Method: "RegisterResourceManager", Entry: 6, Bytes: large, UnregisteredRM: true})
	cell("unread-answers", hostileSpec{Attack: attackUnread})
	cell("idle-streams", hostileSpec{Attack: attackIdle, Streams: streams})
	cell("stale-streams", hostileSpec{Attack: attackStale, Streams: 100})
	return p
}
