package bench

import (
	"fmt"

	"github.com/canopy-scheduler/canopy/internal/lab/bench/workload"
)

// baseSpec returns the default of cells: two leaves with one application each, and all asks fit.
func baseSpec(asks int) workload.Spec {
	return workload.Spec{
		Depth: 1, Fanout: 2, AppsPerLeaf: 1, Asks: asks, Nodes: 1000, Shapes: 20, Types: 2, Priorities: 1,
		Sort: "fifo", NodeSort: "fair", Saturation: 0.8, Via: workload.ViaCore,
	}
}

func fillCell(name, line string, size int, spec workload.Spec) plannedCell {
	return plannedCell{name: name, line: line, size: float64(size), spec: spec, measure: Fill}
}

func flatPlan(s Scale) Plan {
	p := Plan{Name: "flat",
		About: "Two leaves, 10,000 asks, 1,000 nodes: the smallest tree, by each way to the scheduler."}
	for _, via := range []string{workload.ViaCore, workload.ViaInProcess, workload.ViaGRPC} {
		spec := baseSpec(s.of(10_000, 1000))
		spec.Via = via
		p.cells = append(p.cells, fillCell(via, "", 0, spec))
	}
	return p
}

func fanoutPlan(s Scale) Plan {
	p := Plan{Name: "fanout", About: "Increasing numbers of leaves below one parent.", Axis: "leaves"}
	for leaves := 16; leaves <= 4096; leaves *= 4 {
		spec := baseSpec(s.of(40_000, 8192))
		spec.Fanout = leaves
		p.cells = append(p.cells, fillCell(fmt.Sprint("leaves-", leaves), "", leaves, spec))
	}
	return p
}

func depthPlan(s Scale) Plan {
	p := Plan{
		Name: "depth", About: "1,024 leaves as 1024^1, 32^2, 4^5 and 2^10; chains of 1 to 50 queues; and a large 4^5.",
		Axis: "levels",
	}
	tree := func(depth, fanout int) workload.Spec {
		spec := baseSpec(s.of(40_960, 4096))
		spec.Depth, spec.Fanout = depth, fanout
		return spec
	}
	for _, t := range [][2]int{{1, 1024}, {2, 32}, {5, 4}, {10, 2}} {
		p.cells = append(p.cells, fillCell(fmt.Sprintf("%d^%d", t[1], t[0]), "1,024 leaves", t[0], tree(t[0], t[1])))
	}
	for _, depth := range []int{1, 2, 5, 10, 20, 50} {
		p.cells = append(p.cells, fillCell(fmt.Sprint("chain-", depth), "chain", depth, tree(depth, 1)))
	}
	large := tree(5, 4)
	large.Asks, large.Nodes = s.of(100_000, 10_000), s.of(10_000, 1000)
	p.cells = append(p.cells, fillCell("4^5-large", "", 0, large))
	return p
}

func appsPlan(s Scale) Plan {
	p := Plan{Name: "apps", About: "Increasing numbers of applications in each of two leaves, fifo and fair.",
		Axis: "applications"}
	for _, sort := range []string{"fifo", "fair"} {
		for _, apps := range []int{10, 50, 200, 1000, 3000, 10_000} {
			spec := baseSpec(s.of(40_000, 20_000))
			spec.AppsPerLeaf, spec.Sort = apps, sort
			p.cells = append(p.cells, fillCell(fmt.Sprint(sort, "-", apps), sort, apps, spec))
		}
	}
	return p
}

func bigAppPlan(s Scale) Plan {
	p := Plan{Name: "bigapp", About: "Increasing numbers of asks in one application.", Axis: "asks"}
	for _, asks := range []int{1000, 3200, 10_000, 32_000, 100_000, 320_000} {
		spec := baseSpec(s.of(asks, 100))
		spec.Fanout = 1
		p.cells = append(p.cells, fillCell(fmt.Sprint("asks-", spec.Asks), "", spec.Asks, spec))
	}
	return p
}

func nodesPlan(s Scale) Plan {
	p := Plan{Name: "nodes", About: "Increasing numbers of nodes, in both orders.", Axis: "nodes"}
	for _, order := range []string{"fair", "binpacking"} {
		for _, nodes := range []int{100, 1000, 5000, 20_000, 100_000} {
			spec := baseSpec(s.of(40_000, 4000))
			spec.Nodes, spec.NodeSort = nodes, order
			p.cells = append(p.cells, fillCell(fmt.Sprint(order, "-", nodes), order, nodes, spec))
		}
	}
	return p
}

// constraintsPlan plans the asks of scheduler_perf, the benchmark of kube-scheduler. In node order fair the last nodes
// that got an ask come last, in binpacking first: there an ask is refused by all that went before.
func constraintsPlan(s Scale) Plan {
	p := Plan{Name: "constraints",
		About: "Constraints on nodes and on allocations around an ask, after scheduler_perf of kube-scheduler.",
		Axis:  "nodes"}
	for _, order := range []string{"fair", "binpacking"} {
		for _, constraint := range workload.Constraints() {
			for _, nodes := range []int{500, 5000, 20_000} {
				spec := baseSpec(min(s.of(10_000, 1000), nodes/2))
				spec.Fanout, spec.Nodes, spec.NodeSort, spec.Constraint = 1, nodes, order, constraint
				p.cells = append(p.cells,
					fillCell(fmt.Sprint(constraint, "-", order, "-", nodes), constraint+" "+order, nodes, spec))
			}
		}
	}
	for _, constraint := range []string{workload.AntiAffinity, workload.Spread, workload.SpreadNodes} {
		p.cells = append(p.cells, kindsCells(s, constraint, "binpacking", []int{100, 500})...)
	}
	return p
}

// preferencesPlan plans asks of many kinds in turn, as those of many applications are, each of which prefers nodes by
// the allocations of its own kind.
func preferencesPlan(s Scale) Plan {
	p := Plan{Name: "preferences",
		About: "Preferred spread, affinity and anti-affinity on 5,000 nodes, with label selectors of many kinds in turn.",
		Axis:  "kinds"}
	for _, constraint := range []string{
		workload.PreferredSpread, workload.PreferredSpreadNodes, workload.PreferredAffinity, workload.PreferredAntiAffinity,
		workload.PreferredMix,
	} {
		for _, order := range []string{"fair", "binpacking"} {
			p.cells = append(p.cells, kindsCells(s, constraint, order, []int{1, 10, 100, 500, 2000})...)
		}
	}
	return p
}

// kindsCells returns cells with 5,000 nodes and numbers of kinds of asks with a constraint.
func kindsCells(s Scale, constraint, order string, kinds []int) (cells []plannedCell) {
	for _, n := range kinds {
		spec := baseSpec(s.of(5000, 2500))
		spec.Fanout, spec.Nodes, spec.NodeSort, spec.Constraint, spec.Kinds = 1, 5000, order, constraint, n
		cells = append(cells,
			fillCell(fmt.Sprint(constraint, "-", order, "-kinds-", n), constraint+" "+order+" kinds", n, spec))
	}
	return cells
}

func shapesPlan(s Scale) Plan {
	p := Plan{Name: "shapes", About: "Increasing numbers of sizes of asks, in 32 x 32 leaves.", Axis: "shapes"}
	for _, shapes := range []int{1, 10, 50, 200, 1000, 4000} {
		spec := baseSpec(s.of(40_960, 8192))
		spec.Depth, spec.Fanout, spec.Shapes = 2, 32, shapes
		p.cells = append(p.cells, fillCell(fmt.Sprint("shapes-", shapes), "", shapes, spec))
	}
	return p
}

func boundPlan(s Scale) Plan {
	p := Plan{Name: "quota-bound", About: "Half or nearly all of 1,024 leaves are held at their max, with pending asks."}
	for _, bound := range []float64{0.5, 0.9, 0.99} {
		spec := baseSpec(s.of(40_960, 8192))
		spec.Depth, spec.Fanout, spec.Bound = 5, 4, bound
		p.cells = append(p.cells, fillCell(fmt.Sprintf("bound-%g", bound), "", 0, spec))
	}
	return p
}

func prioritiesPlan(s Scale) Plan {
	p := Plan{Name: "priorities", About: "Increasing numbers of priorities of asks, in 32 x 32 leaves.",
		Axis: "priorities"}
	for _, n := range []int{1, 3, 10, 100, 1000} {
		spec := baseSpec(s.of(40_960, 8192))
		spec.Depth, spec.Fanout, spec.Priorities = 2, 32, n
		p.cells = append(p.cells, fillCell(fmt.Sprint("priorities-", n), "", n, spec))
	}
	return p
}

func adversarialPlan(s Scale) Plan {
	p := Plan{Name: "adversarial",
		About: "No two asks are alike: all asks fit, and in a full cluster where allocations end."}
	unlike := func(asks int) workload.Spec {
		spec := baseSpec(asks)
		spec.Depth, spec.Fanout, spec.Shapes = 2, 32, asks
		return spec
	}
	p.cells = append(p.cells, fillCell("room", "", 0, unlike(s.of(20_000, 4096))))
	full := unlike(s.of(10_000, 2048))
	full.Nodes, full.Saturation, full.Churn = 200, 2, 0.5
	p.cells = append(p.cells, plannedCell{name: "full", spec: full, measure: Churn})
	return p
}

// churnWorkload returns a full cluster in which 10,000 applications of 100 shapes are pending.
func churnWorkload(s Scale) workload.Spec {
	spec := baseSpec(s.of(40_960, 4096))
	spec.Depth, spec.Fanout, spec.AppsPerLeaf, spec.Shapes = 5, 4, s.of(20, 2), 100
	spec.Nodes, spec.Saturation, spec.Churn = s.of(1000, 100), 2, 2
	return spec
}

func churnPlan(s Scale) Plan {
	p := Plan{
		Name: "churn",
		About: "A full cluster in which allocations end at random times, and pending asks are placed: 20,480 applications, " +
			"100 shapes.",
	}
	for _, sort := range []string{"fifo", "fair"} {
		spec := churnWorkload(s)
		spec.Sort = sort
		p.cells = append(p.cells, plannedCell{name: workload.ViaCore + "-" + sort, line: sort, spec: spec, measure: Churn})
	}
	for _, via := range []string{workload.ViaInProcess, workload.ViaGRPC} {
		spec := churnWorkload(s)
		spec.Via, spec.Rate, spec.Churn = via, 2000, 0.25
		p.cells = append(p.cells, plannedCell{name: via, spec: spec, measure: Churn})
	}
	return p
}

func latencyPlan(s Scale) Plan {
	p := Plan{Name: "latency",
		About: "10,000 asks a second at random times, all of which fit: the time from ask to allocation."}
	for _, via := range []string{workload.ViaInProcess, workload.ViaGRPC} {
		spec := baseSpec(s.of(50_000, 5000))
		spec.Depth, spec.Fanout, spec.Via, spec.Rate = 5, 4, via, 10_000
		p.cells = append(p.cells, plannedCell{name: via, spec: spec, measure: Steady})
	}
	return p
}

func reloadPlan(s Scale) Plan {
	p := Plan{Name: "reload",
		About: "How long scheduling pauses for a new configuration, with a full cluster and pending asks.", Axis: "leaves"}
	for _, leaves := range []int{64, 256, 1024} {
		spec := churnWorkload(s)
		spec.Depth, spec.Fanout, spec.Churn = 1, leaves, 0
		spec.AppsPerLeaf = 4
		p.cells = append(p.cells, plannedCell{
			name: fmt.Sprint("leaves-", leaves), size: float64(leaves), spec: spec, measure: Reload,
		})
	}
	return p
}

func tracePlan(t Trace) Plan {
	p := Plan{Name: "trace", About: "A cluster is filled with the tasks of an openb trace, which --trace names."}
	if !t.given() {
		return p
	}
	for _, via := range []string{workload.ViaCore, workload.ViaGRPC} {
		spec := workload.Spec{Depth: 1, Fanout: 1, AppsPerLeaf: 1, Types: 4, Priorities: 1, Sort: "fifo", NodeSort: "fair",
			Saturation: 1, Via: via}
		p.cells = append(p.cells, plannedCell{name: "openb-" + via, spec: spec, measure: Fill, trace: t})
	}
	return p
}

func soakPlan(s Scale) Plan {
	p := Plan{Name: "soak",
		About: "The churn of many hours in a row, on the core, and of half a minute over gRPC; then the accounting is " +
			"audited."}
	core := churnWorkload(s)
	core.Churn = 20
	viaGRPC := churnWorkload(s)
	viaGRPC.Via, viaGRPC.Rate, viaGRPC.Churn = workload.ViaGRPC, 5000, 4
	p.cells = append(p.cells,
		plannedCell{name: workload.ViaCore, spec: core, measure: Churn},
		plannedCell{name: workload.ViaGRPC, spec: viaGRPC, measure: Churn})
	return p
}

func memoryPlan(s Scale) Plan {
	p := Plan{Name: "memory",
		About: "What an ask, an application, a leaf and a node hold: 100 asks in each application, spread to 5 in each, " +
			"with 4 tags, and a million."}
	cell := func(name string, asks, appsPerLeaf, tags int) {
		spec := baseSpec(asks)
		spec.Depth, spec.Fanout, spec.Nodes, spec.AppsPerLeaf, spec.Tags = 1, 1000, s.of(10_000, 1000), appsPerLeaf, tags
		p.cells = append(p.cells, plannedCell{name: name, spec: spec, measure: Memory})
	}
	cell("asks", s.of(100_000, 20_000), 1, 0)
	cell("spread", s.of(100_000, 20_000), 20, 0)
	cell("tags-4", s.of(100_000, 20_000), 1, 4)
	cell("million", s.of(1_000_000, 100_000), 10, 0)
	return p
}
