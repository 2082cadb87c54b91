package randomrun

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/limits"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// addPriorityClasses adds priority classes to a third of the runs. It draws after everything else, so
// that the other runs do not depend on it.
func (s *Run) addPriorityClasses(source rand.Source) {
	a := &Generator{Rand: rand.New(source)}
	if !a.OneIn(3) {
		return
	}
	s.Partition = a.withClassQuotas(s.Partition)
	var asks []*objects.Ask
	var steps []Step
	for _, step := range s.Steps {
		switch c := step.Command.(type) {
		case scheduler.UseConfig:
			if !a.OneIn(6) {
				c.Partition = a.withClassQuotas(c.Partition)
			}
			step.Command = c
		case scheduler.SubmitAsk:
			asks = append(asks, c.Ask)
			step.Command = a.withClass(c.Ask)
			if a.OneIn(4) {
				steps = append(steps, Step{Command: a.withClass(a.withOtherAmounts(Pick(a, asks[max(0, len(asks)-10):]...)))})
			}
		case scheduler.SubmitAskWithClass:
			c.Class = a.className()
			step.Command = c
		case scheduler.ReportAllocation:
			c.Class = a.className()
			step.Command = c
		}
		steps = append(steps, step)
	}
	s.Steps = steps
}

// withClass returns an ask with a priority class, or with none.
func (a *Generator) withClass(ask *objects.Ask) scheduler.Command {
	if a.OneIn(3) {
		return scheduler.SubmitAsk{Ask: ask}
	}
	m := scheduler.SubmitAskWithClass{Ask: ask, Class: a.className()}
	if ask.Priority%2 == 0 { // the others have the default class
		m.NamedClass = m.Class
	}
	return m
}

func (a *Generator) className() string { return Pick(a, "", "high", "high", "low", "odd") }

// withOtherAmounts returns an ask, perhaps a known one, with other amounts.
func (a *Generator) withOtherAmounts(ask *objects.Ask) *objects.Ask {
	other := *ask
	other.Amounts = a.amounts()
	return &other
}

// withClassQuotas returns a configuration with other class quotas. The old one is unchanged.
func (a *Generator) withClassQuotas(p configs.Partition) configs.Partition {
	p.ClassesNeedingQuota = nil
	for a.OneIn(3) && len(p.ClassesNeedingQuota) < 2 {
		p.ClassesNeedingQuota = append(p.ClassesNeedingQuota, a.classSelector())
	}
	p.Root = a.withQueueClassQuotas(p.Root)
	return p
}

func (a *Generator) withQueueClassQuotas(q configs.Queue) configs.Queue {
	q.ClassQuotas = nil
	var taken []string
	for _, name := range []string{"first", "second", "third"} {
		if !a.OneIn(4) {
			continue
		}
		x := limits.ClassQuota{Name: name, Match: a.classSelector()}
		switch a.IntN(4) {
		case 0:
			x.Users = []string{Pick(a, Pick(a, users...).Name, limits.Wildcard)}
		case 1:
			x.Groups = []string{Pick(a, "dev", "ops", limits.Wildcard)}
		}
		hard := a.quotaMap(0, 8, 16, 16, 30, 30)
		if a.OneIn(2) {
			hard[limits.Pods] = resources.Quantity(Pick(a, 0, 3, 8, 8))
		}
		x.Hard = resources.LimitFromMap(hard)
		if selectorKey := fmt.Sprint(x.Match, x.Users, x.Groups); !slices.Contains(taken, selectorKey) {
			taken = append(taken, selectorKey)
			q.ClassQuotas = append(q.ClassQuotas, x)
		}
	}
	q.Children = slices.Clone(q.Children)
	for i := range q.Children {
		q.Children[i] = a.withQueueClassQuotas(q.Children[i])
	}
	return q
}

func (a *Generator) classSelector() limits.Selector {
	s := limits.Selector{Operator: Pick(a, limits.In, limits.In, limits.NotIn, limits.Exists, limits.DoesNotExist)}
	if s.Operator.NeedsClasses() {
		s.Classes = Pick(a, []string{"high"}, []string{"high", "low"}, []string{"none"})
	}
	return s
}
