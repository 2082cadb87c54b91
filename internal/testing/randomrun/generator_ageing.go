package randomrun

import (
	"fmt"
	"slices"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/policies"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// One run in ageingRuns has applications that age.
const ageingRuns = 3

// addAgeing has the applications of some queues age, in some runs. All depends on the names alone: the rest of the run
// stays the same.
func (s *Run) addAgeing() {
	if !independentGenerator(fmt.Sprint("ageing ", len(s.Steps), describePartition(s.Partition))).OneIn(ageingRuns) {
		return
	}
	templates := agedTemplates{templateCopies[policies.Ageing]{}}
	templates.ageQueues(&s.Partition.Root, "", 0)
	for i := range s.Steps {
		if c, ok := s.Steps[i].Command.(scheduler.UseConfig); ok {
			c.Prepared = nil
			templates.ageQueues(&c.Partition.Root, "", i)
			s.Steps[i].Command = c
		}
	}
}

// templateCopies are copies of child templates with other settings: configurations with the same template and the same
// settings share the copy.
type templateCopies[K comparable] map[templateCopy[K]]*configs.ChildTemplate

type templateCopy[K comparable] struct {
	of *configs.ChildTemplate
	by K
}

// copyOf returns the copy of a template, which may be nil, that set has given its settings.
func (t templateCopies[K]) copyOf(of *configs.ChildTemplate, by K,
	set func(*configs.ChildTemplate)) *configs.ChildTemplate {
	key := templateCopy[K]{of, by}
	if of != nil && t[key] == nil {
		c := *of
		set(&c)
		t[key] = &c
	}
	return t[key]
}

// agedTemplates are the copies with ageing.
type agedTemplates struct {
	templateCopies[policies.Ageing]
}

// ageQueues sets the ageing of q, of its child template, and of the queues below it, whose list it copies.
func (t agedTemplates) ageQueues(q *configs.Queue, path string, version int) {
	path += "." + q.Name
	g := independentGenerator(fmt.Sprint("ageing of ", path, " ", version))
	q.Ageing = Pick(g, policies.Ageing{}, policies.Ageing{By: 1, Every: time.Second, UpTo: 3},
		policies.Ageing{By: 7, Every: 10 * time.Second, UpTo: 100}, policies.Ageing{By: 1 << 30, Every: 3 * time.Second,
			UpTo: 1<<31 - 1})
	q.ChildTemplate = t.copyOf(q.ChildTemplate, q.Ageing, func(c *configs.ChildTemplate) { c.Ageing = q.Ageing })
	q.Children = slices.Clone(q.Children)
	for i := range q.Children {
		t.ageQueues(&q.Children[i], path, version)
	}
}
