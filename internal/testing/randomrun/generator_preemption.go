package randomrun

import (
	"fmt"
	"slices"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/policies"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// preemptionRuns is of how many runs one has queues with further settings of preemption.
const preemptionRuns = 3

// addPreemption gives the queues further settings of preemption, in some runs. All depends on names alone: the rest of
// the run stays the same.
func (s *Run) addPreemption() {
	g := independentGenerator(fmt.Sprint("preemption ", len(s.Steps), describePartition(s.Partition)))
	if g.OneIn(preemptionRuns) {
		s.AddPreemption()
	}
}

// AddPreemption gives the queues of every configuration further settings of preemption.
func (s *Run) AddPreemption() {
	setPreemption(&s.Partition.Root, "", 0)
	for i := range s.Steps {
		if c, ok := s.Steps[i].Command.(scheduler.UseConfig); ok {
			c.Prepared = nil
			setPreemption(&c.Partition.Root, "", i)
			s.Steps[i].Command = c
		}
	}
}

// setPreemption sets what q and the queues below it, whose list it copies, say of preemption in one configuration.
func setPreemption(q *configs.Queue, path string, version int) {
	path += "." + q.Name
	g := independentGenerator(fmt.Sprint("preemption of ", path, " ", version))
	q.PreemptionGuarantee = Pick(g, policies.PreemptionGuaranteeAll, policies.PreemptionGuaranteeLacking,
		policies.PreemptionGuaranteeLacking)
	q.MinRuntime = Pick(g, 0, 3*time.Second, 20*time.Second, 2*time.Minute)
	q.MinRuntimeStrict = g.OneIn(2)
	if !q.Guaranteed.IsEmpty() && g.OneIn(2) { // of a second resource
		guaranteed := q.Guaranteed.Map()
		guaranteed["memory"] = Pick[resources.Quantity](g, 0, 1, 2, 4)
		q.Guaranteed = resources.GuaranteeFromMap(guaranteed)
	}
	if q.ChildTemplate != nil {
		template := *q.ChildTemplate
		template.PreemptionGuarantee = q.PreemptionGuarantee
		template.MinRuntime, template.MinRuntimeStrict = q.MinRuntime, q.MinRuntimeStrict
		q.ChildTemplate = &template
	}
	q.Children = slices.Clone(q.Children)
	for i := range q.Children {
		setPreemption(&q.Children[i], path, version)
	}
}
