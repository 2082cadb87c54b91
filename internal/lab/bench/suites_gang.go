package bench

import (
	"fmt"

	"github.com/canopy-scheduler/canopy/internal/lab/bench/workload"
)

func gangPlan(s Scale) Plan {
	p := Plan{
		Name: "gang",
		About: "Gangs with virtual placeholders are placed together: of 10 to 1,000 members, of one or of 20 shapes, on " +
			"1,000 and 10,000 nodes; also in racks and zones.",
		Axis: "members",
	}
	for _, nodes := range []int{1000, 10_000} {
		for _, shapes := range []int{1, 20} {
			for _, members := range []int{10, 100, 1000} {
				if s == Quick {
					members = members/10 + 5
				}
				spec := baseSpec(s.of(20_000, 2000))
				spec.Nodes, spec.Shapes, spec.Saturation = s.of(nodes, 100), shapes, 0.7
				spec.AppsPerLeaf = max(1, spec.Asks/members/spec.Fanout)
				line := fmt.Sprintf("nodes-%d-shapes-%d", nodes, shapes)
				p.cells = append(p.cells, plannedCell{
					name: fmt.Sprint(line, "-members-", members), line: line, size: float64(members), spec: spec, measure: Gang,
				})
			}
		}
	}
	p.addTopologyCells(s)
	return p
}

// addTopologyCells adds gangs that ask for topology domains: of 100 members in one rack, and of 10 to 1,000 in one zone
// and preferably one rack.
func (p *Plan) addTopologyCells(s Scale) {
	for _, nodes := range []int{1000, 10_000} {
		for _, c := range []struct {
			topology string
			members  int
		}{{workload.RequiredRack, 100}, {workload.PreferredRack, 10}, {workload.PreferredRack, 100},
			{workload.PreferredRack, 1000}} {
			if s == Quick {
				c.members = c.members/10 + 5
			}
			spec := baseSpec(s.of(20_000, 2000))
			spec.Nodes, spec.Shapes, spec.Saturation, spec.Topology = s.of(nodes, 100), 1, 0.7, c.topology
			spec.AppsPerLeaf = max(1, spec.Asks/c.members/spec.Fanout)
			line := fmt.Sprintf("nodes-%d-%s", nodes, c.topology)
			p.cells = append(p.cells, plannedCell{
				name: fmt.Sprint(line, "-members-", c.members), line: line, size: float64(c.members), spec: spec, measure: Gang,
			})
		}
	}
}
