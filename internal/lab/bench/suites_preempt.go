package bench

import (
	"fmt"

	"github.com/canopy-scheduler/canopy/internal/lab/bench/workload"
)

// preemptWorkload returns a cluster full of allocations of one kind, in which asks preempt.
func preemptWorkload(s Scale, nodes, perNode int) workload.Spec {
	nodes = s.of(nodes, 20)
	spec := baseSpec(nodes * perNode)
	spec.Depth, spec.Fanout, spec.Nodes, spec.Shapes, spec.Saturation = 2, 10, nodes, 1, 1
	spec.PreemptBy, spec.Victims, spec.PreemptorSizes, spec.AtOnce = workload.ByFence, 1, 1, 1
	spec.Preemptors = min(s.of(1000, 100), spec.Asks/2)
	return spec
}

func preemptPlan(s Scale) Plan {
	p := Plan{
		Name: "preempt",
		About: "1,000 asks preempt in a full cluster: for each reason, on increasing numbers of nodes, of one or of 1,000 " +
			"sizes; together; on nodes with many allocations.",
		Axis: "nodes",
	}
	add := func(name, line string, size int, spec workload.Spec) {
		p.cells = append(p.cells, plannedCell{name: name, line: line, size: float64(size), spec: spec, measure: Preempt})
	}
	for _, right := range []string{workload.ByLeaf, workload.ByFence, workload.ByGuarantee} {
		for _, unlike := range []bool{false, true} {
			for _, nodes := range []int{100, 1000, 10_000} {
				spec, line := preemptWorkload(s, nodes, 10), right
				spec.PreemptBy = right
				if unlike {
					spec.PreemptorSizes, line = spec.Preemptors, right+"-unlike"
				}
				add(fmt.Sprint(line, "-", spec.Nodes), line, spec.Nodes, spec)
			}
		}
	}
	alone := func(name string, spec workload.Spec, change func(*workload.Spec)) {
		change(&spec)
		add(name, name, 0, spec)
	}
	alone("fence-priorities-10", preemptWorkload(s, 10_000, 10), func(c *workload.Spec) { c.Priorities = 10 })
	for _, right := range []string{workload.ByFence, workload.ByGuarantee} {
		alone(right+"-together", preemptWorkload(s, 10_000, 10),
			func(c *workload.Spec) { c.PreemptBy, c.AtOnce = right, c.Preemptors/5 })
		for _, victims := range []int{1, 10, 100} {
			alone(fmt.Sprint(right, "-dense-", victims), preemptWorkload(s, 1000, 100), func(c *workload.Spec) {
				c.PreemptBy, c.Victims = right, victims
				c.Preemptors = min(c.Preemptors, c.Asks/2/victims)
			})
		}
	}
	return p
}
