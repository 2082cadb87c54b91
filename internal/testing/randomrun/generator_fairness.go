package randomrun

import (
	"fmt"
	"slices"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/policies"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// One run in fairnessRuns has queues that order by usage over time.
const fairnessRuns = 3

// addFairness has some queues order what is below them by usage over time, in some runs. All depends on the names
// alone: the rest of the run stays the same.
func (s *Run) addFairness() {
	if !independentGenerator(fmt.Sprint("fairness ", len(s.Steps), describePartition(s.Partition))).OneIn(fairnessRuns) {
		return
	}
	templates := fairTemplates{templateCopies[policies.Fairness]{}}
	templates.order(&s.Partition, 0)
	for i := range s.Steps {
		if c, ok := s.Steps[i].Command.(scheduler.UseConfig); ok {
			c.Prepared = nil
			templates.order(&c.Partition, i)
			s.Steps[i].Command = c
		}
	}
}

// fairTemplates are the copies of child templates with usage over time.
type fairTemplates struct {
	templateCopies[policies.Fairness]
}

// order sets the weights of a configuration, and the properties of its queues. Some configurations have those of the
// first one.
func (t fairTemplates) order(p *configs.Partition, version int) {
	g := independentGenerator(fmt.Sprint("fairness of ", version))
	if g.OneIn(2) {
		version = 0
	}
	p.FairnessWeights = Pick(g, nil, []policies.Weight{{Resource: "memory", Weight: 0.5}, {Resource: "vcore", Weight: 2}},
		[]policies.Weight{{Resource: "gpu", Weight: 10}})
	t.orderQueues(&p.Root, "", version)
}

// orderQueues sets the properties of q, of its child template, and of the queues below it, whose list it copies.
func (t fairTemplates) orderQueues(q *configs.Queue, path string, version int) {
	path += "." + q.Name
	g := independentGenerator(fmt.Sprint("fairness of ", path, " ", version))
	q.Fairness = policies.Fairness{
		HalfLife: Pick(g, 0, 5*time.Minute, 7*time.Minute, 24*time.Hour),
		By:       Pick(g, policies.FairByApplication, policies.FairByUser),
		Weight:   Pick(g, 0, 2500, 1, policies.ByGuarantee),
	}
	q.ChildTemplate = t.copyOf(q.ChildTemplate, q.Fairness, func(c *configs.ChildTemplate) { c.Fairness = q.Fairness })
	q.Children = slices.Clone(q.Children)
	for i := range q.Children {
		t.orderQueues(&q.Children[i], path, version)
	}
}

// WithoutFairness returns the run without usage over time, which outlives what has used it.
func (s Run) WithoutFairness() Run {
	s.Steps = slices.Clone(s.Steps)
	withoutFairness(&s.Partition.Root)
	for i := range s.Steps {
		if c, ok := s.Steps[i].Command.(scheduler.UseConfig); ok {
			withoutFairness(&c.Partition.Root)
			s.Steps[i].Command = c
		}
	}
	return s
}

func withoutFairness(q *configs.Queue) {
	q.Fairness = policies.Fairness{}
	if q.ChildTemplate != nil {
		q.ChildTemplate.Fairness = policies.Fairness{}
	}
	for i := range q.Children {
		withoutFairness(&q.Children[i])
	}
}
