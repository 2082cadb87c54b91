package randomrun

import (
	"maps"
	"math/rand/v2"
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/gangs"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// AddTopology gives the nodes of a run labels for zones and racks, and the task groups whose members are placed
// together a topology. What else the run does stays the same.
func (s *Run) AddTopology() {
	a := &Generator{Rand: rand.New(rand.NewPCG(s.Seed, 69))}
	steps := s.Steps
	s.Steps = nil
	for _, step := range steps {
		switch m := step.Command.(type) {
		case scheduler.AddNode:
			m.Attributes = a.rackLabels(m.Attributes)
			step.Command = m
		case scheduler.AddApplication:
			m.Gang.Virtual = slices.Clone(m.Gang.Virtual)
			for i := range m.Gang.Virtual {
				m.Gang.Virtual[i].Topology = a.topology()
			}
			step.Command = m
		case scheduler.SetSchedulable:
			if a.OneIn(2) {
				step.Command = scheduler.SetAttributes{Node: m.Node, Attributes: a.rackLabels(nil)}
			}
		}
		s.Steps = append(s.Steps, step)
	}
}

// rackLabels adds a zone and a rack to the attributes of a node; a few lack one.
func (a *Generator) rackLabels(attributes map[string]string) map[string]string {
	labels := map[string]string{}
	maps.Copy(labels, attributes)
	labels["zone"], labels["rack"] = Pick(a, "a", "a", "b"), Pick(a, "1", "1", "2", "3")
	if a.OneIn(6) {
		delete(labels, Pick(a, "zone", "rack"))
	}
	return labels
}

// topology returns the topology of a task group, sometimes none.
func (a *Generator) topology() gangs.Topology {
	levels := Pick(a, []string{"zone", "rack"}, []string{"zone", "rack"}, []string{"rack"}, []string{"zone"},
		[]string{"zone", "rack", "host"})
	t := gangs.Topology{Levels: levels, Required: gangs.NoLevel, Preferred: gangs.NoLevel}
	switch first := a.IntN(len(levels)); a.IntN(5) {
	case 0:
		return gangs.Topology{}
	case 1, 2:
		t.Preferred = first
	case 3:
		t.Required = first
		if first+1 < len(levels) {
			t.Preferred = first + 1
		}
	default:
		t.Required = first
	}
	return t
}
