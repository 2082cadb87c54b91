package randomrun

import (
	"fmt"
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/policies"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// One run in fairShareRuns has queues that preempt for their fair shares.
const fairShareRuns = 3

// addFairShares has some queues share fairly, in some runs. All depends on the names alone: the rest of the run stays
// the same.
func (s *Run) addFairShares() {
	g := independentGenerator(fmt.Sprint("fair shares ", len(s.Steps), describePartition(s.Partition)))
	if g.OneIn(fairShareRuns) {
		s.AddFairShares()
	}
}

// AddFairShares has some queues of every configuration share fairly.
func (s *Run) AddFairShares() {
	shareFairly(&s.Partition.Root, "", 0)
	for i := range s.Steps {
		if c, ok := s.Steps[i].Command.(scheduler.UseConfig); ok {
			c.Prepared = nil
			shareFairly(&c.Partition.Root, "", i)
			s.Steps[i].Command = c
		}
	}
}

// shareFairly sets whether q and the queues below it, whose list it copies, share fairly in one configuration, and by
// which weights. Those of a queue with a half-life stay.
func shareFairly(q *configs.Queue, path string, version int) {
	path += "." + q.Name
	g := independentGenerator(fmt.Sprint("fair shares of ", path, " ", version))
	q.FairShare = !g.OneIn(3)
	by, weight := Pick(g, policies.FairByApplication, policies.FairByUser),
		Pick(g, 0, 0, 2500, 300, 1, policies.ByGuarantee)
	if q.Fairness.HalfLife == 0 {
		q.Fairness.By, q.Fairness.Weight = by, weight
	}
	if q.ChildTemplate != nil {
		template := *q.ChildTemplate
		template.FairShare, template.Fairness = q.FairShare, q.Fairness
		q.ChildTemplate = &template
	}
	q.Children = slices.Clone(q.Children)
	for i := range q.Children {
		shareFairly(&q.Children[i], path, version)
	}
}
